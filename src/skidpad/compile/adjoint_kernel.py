"""The loop of the discrete adjoint: backwards over the recorded states of a rollout, in lanes.

For each step from the last to the first it reads the state and the input of the step, calls the
adjoint Program and carries λ, the derivative of everything later with respect to the state.
"""

from __future__ import annotations

from llvmlite import ir

from .counters import Watch, counter, strips
from .kernels import begin_kernel, number_from_bits
from .llvm import Body
from .many_fields import Sums, loaded_fields
from .memory import SLOTS, Group, View, word
from .program import Program
from .rounding import entered

ADJOINT_VIEWS = ("x", "u", "w", "p", "r", "lam", "seed", "grad_x", "grad_u", "grad_p", "value")
"""Arrays of `adjoint`: the states at the start of every step, inputs, disturbances, parameters,
references, λ after the last step, what is added to λ at the start of every step, and the results.
`grad_u` is added to, so that an input held over all steps collects the sum."""
ADJOINT_COUNTS = ("steps", "dt")
"""After the arrays and `counters.WATCH_WORDS`: steps to go back, and the bits of dt."""
ADJOINT_PORTS = ("x", "u", "w", "p", "dt", "r", "lam")
"""Input ports of an adjoint Program; its outputs are `x`, `u`, `p` and `value`."""


def adjoint_module(program: Program, lanes: int) -> ir.Module:
    """A module with `adjoint(block)` for an adjoint Program."""
    module, target, b, block = begin_kernel("adjoint", program, lanes)
    views = {name: View(target, b, block, len(SLOTS) * k) for k, name in enumerate(ADJOINT_VIEWS)}
    watch = Watch(b, block, len(SLOTS) * len(views))
    steps, dt_bits = watch.words(b, len(ADJOINT_COUNTS))
    dt = target.splat(b, number_from_bits(target, b, dt_bits))
    size = {port.name: len(port.fields) for port in program.inputs}
    place = {name: k for k, name in enumerate(ADJOINT_PORTS)}
    nx = size["x"]
    with counter(b, watch.begin, watch.end, lanes) as first:
        group = Group(target, b, first, watch.end)
        body = Body(target, program)
        p = loaded_fields(target, b, views["p"], group, size["p"])
        body.emit(b, {place["p"]: p, place["dt"]: [dt]})
        sums = Sums(target, b, len(program.results[2]))
        split = nx + len(sums.carried)
        value = [target.number(0.0)] * len(program.results[3])
        lam = views["lam"].load(b, group, nx)
        loop = strips(b, watch, steps, [*lam, *sums.carried, *value])
        with loop as (done, now, keep):
            step = b.sub(b.sub(steps, word(1)), done)
            here = {n: views[n].load(b, group, size[n], step) for n in ("x", "u", "w", "r")}
            inside = body.copy()
            inside.emit(b, {place["lam"]: now[:nx]} | {place[n]: v for n, v in here.items()})
            so_far = views["grad_u"].load(b, group, len(program.results[1]), step)
            added = [b.fadd(a, g) for a, g in zip(so_far, inside.results(1), strict=True)]
            views["grad_u"].store(b, group, added, step)
            seed = views["seed"].load(b, group, nx, step)
            lam = [b.fadd(a, s) for a, s in zip(inside.results(0), seed, strict=True)]
            on_p = sums.added(b, now[nx:split], inside.results(2))
            value = [b.fadd(a, s) for a, s in zip(now[split:], inside.results(3), strict=True)]
            keep([*lam, *on_p, *value])
        views["grad_x"].store(b, group, loop.after[:nx])
        sums.store(b, views["grad_p"], group, loop.after[nx:split])
        views["value"].store(b, group, loop.after[split:])
    b.ret_void()
    return entered(module, "adjoint")
