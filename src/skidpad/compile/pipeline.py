"""The chain from a vehicle and an integrator to Programs and loaded kernels, and traces on disk.

A traced Program is stored, and the next process that makes the same vehicle reads it. That is for
models that skidpad itself makes, from its own functions and classes only: they are determined by
the package's source, by a few libraries and by the arguments of the recipe, which are the name of
an entry. A user's own model is traced by every process that uses it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from .. import integrate
from ..core import record
from ..core.model import Model, Vehicle
from ..integrate.base import Integrator, as_written, flat_result
from . import native as disk
from .lower import lower
from .passes import scheduled, with_held_parts
from .program import Port, Program
from .trace import trace

__all__ = [
    "step_program",
]

T = TypeVar("T")

_LIBRARIES = ("casadi", "numpy")
"""What a trace depends on besides the package."""
_PLAIN = {"builtins", "collections", "fractions", "typing"}
"""Modules whose names may be in a recipe as well as those of skidpad."""


def stored(model: Model, key: Any, make: Callable[[], T]) -> T:
    """What `make` gives for a model and a key, or what an earlier process got from it.

    It must follow from the model's functions and the key alone, and be picklable.
    """
    name = _name(model, key)
    if name is None:
        return make()
    body = disk.load(name)
    if body is not None:
        with contextlib.suppress(Exception):  # of another version of Python, say
            return pickle.loads(body)
    made = make()
    disk.store(name, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _name(model: Model, key: Any) -> str | None:
    """The name of an entry; None where the package alone does not decide what is in it."""
    from ..vehicles.registry import listed
    from .portable import recipe_of_model

    recipe = listed(model) or recipe_of_model(model)
    if recipe is None:
        return None
    try:
        text = pickle.dumps((recipe, key), pickle.HIGHEST_PROTOCOL)
        _Own(io.BytesIO(text)).load()
    except Exception:  # of whatever kind: it is then no recipe of ours
        return None
    return f"{disk.key('trace', package_digest(), text.hex())}.trace"


class _Own(pickle.Unpickler):
    """Refuses what is not skidpad's."""

    def find_class(self, module: str, name: str, /) -> Any:
        if module.split(".")[0] != "skidpad" and module not in _PLAIN:
            raise pickle.UnpicklingError(f"{module}.{name} is not skidpad's")
        return super().find_class(module, name)


@cache
def package_digest() -> str:
    """A hash of what decides a trace: the source by size and time of change, as Python itself
    tells whether it compiles a file again, and the libraries."""
    digest = hashlib.sha256(repr((sys.version, [version(name) for name in _LIBRARIES])).encode())
    for path, status in sorted(_sources(str(Path(__file__).parents[1]))):
        digest.update(f"{path}|{status.st_size}|{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir() and entry.name != "__pycache__":
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path, entry.stat()


LANES = (1, 4, 8, 16, 32)
"""Vehicles per instruction a kernel can be built for."""

_WIDE_PROGRAM = 6_000
"""Traced operations above which the lane width is halved: compile time grows faster than the
code."""
_WIDE_FUNCTION = 500
"""Traced operations of a function above which it is halved, too: what one call of it keeps alive
leaves no registers for a second vector per value. A tyre of the Magic Formula is 1.3 times as fast
with one."""


def default_lanes(program: Program, precision: str, registers: int = 2) -> int:
    """The lane width for a traced Program: two vector registers per value, one for a large one.

    Two hide the latency of one another; with more, the registers run out.
    """
    from . import native

    functions = max((f.operations for f in program.functions), default=0)
    if program.operations > _WIDE_PROGRAM or functions > _WIDE_FUNCTION:
        registers = 1
    width = registers * native.vector_bits() // (64 if precision == "float64" else 32)
    return max((n for n in LANES if n <= width), default=1)


def _ports(model: Model) -> tuple[Port, Port, Port, Port]:
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    x, u, w, p = (Port(name, record.names(kind)) for name, kind in kinds.items())
    return x, u, w, p


def step_program(
    vehicle: Vehicle | Model, integrator: str | Integrator = "rk4", precision: str | None = None
) -> Program:
    """One step as a Program: x, u, w, p, dt, start to the next x and the Newton residual.

    `start` is the state at which `hold` samples; the port is empty for a model without it.
    Traced if `precision` is None, else lowered to "float32" or "float64".
    """
    model = vehicle.model if isinstance(vehicle, Vehicle) else vehicle
    method = integrate.get(integrator)
    return _finish(kept(model, ("step", method), lambda: _step(model, method)), precision)


def _step(model: Model, method: Integrator) -> Program:
    step = integrate.discretise(model, method)
    implicit = model.continuous and method.implicit

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, u, w, p = _records(model, ports[:4])
        start = record.unflatten(model.State, ports[5]) if model.hold else None
        following, residual = step(x, u, w, p, ports[4][0], start)
        return record.flatten(following), (residual,) if implicit else ()

    outputs = (_ports(model)[0], Port("residual", ("residual",) if implicit else ()))
    name = f"{model.name}.step.{method.name if model.continuous else 'update'}"
    start = Port("start", _ports(model)[0].fields if model.hold else ())
    inputs = (*_ports(model), Port("dt", ("dt",)), start)
    return trace(name, function, inputs, outputs)


def outputs_program(vehicle: Vehicle | Model, precision: str | None = None) -> Program:
    """The outputs as a Program of x, the state at the start of the step, u, w, p.

    What `hold` samples belongs to the start of the step whose end is x, so both states go in.
    """
    model = vehicle.model if isinstance(vehicle, Vehicle) else vehicle
    return _finish(kept(model, "outputs", lambda: _outputs(model)), precision)


def _outputs(model: Model) -> Program:
    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, u, w, p = _records(model, (ports[0], *ports[2:]))
        start = record.unflatten(model.State, ports[1])
        with as_written(next(iter(ports[0]), None)):
            y = model.outputs(x, model.held_input(start, u, w, p), w, p)
        return (flat_result(model, "outputs", y),)

    x, u, w, p = _ports(model)
    outputs = (Port("y", record.names(model.Outputs)),)
    inputs = (x, Port("start", x.fields), u, w, p)
    return trace(f"{model.name}.outputs", function, inputs, outputs)


def derivative_program(vehicle: Vehicle | Model, precision: str | None = None) -> Program:
    """The derivative as a Program of x, the state at the start of the step, u, w, p."""
    model = vehicle.model if isinstance(vehicle, Vehicle) else vehicle
    assert model.derivative is not None
    derivative = model.derivative

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        x, u, w, p = _records(model, (ports[0], *ports[2:]))
        start = record.unflatten(model.State, ports[1])
        with as_written(next(iter(ports[0]), None)):
            rates = derivative(x, model.held_input(start, u, w, p), w, p)
        return (flat_result(model, "derivative", rates),)

    x, u, w, p = _ports(model)
    inputs = (x, Port("start", x.fields), u, w, p)
    return _finish(trace(f"{model.name}.derivative", function, inputs, (x,)), precision)


def settle_program(
    name: str, settle: Callable[[Any, Any], Any], State: type, Params: type
) -> Program:
    """What makes a start consistent as a Program of x and p to x."""

    def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        with as_written(next(iter(ports[0]), None)):
            x = settle(record.unflatten(State, ports[0]), record.unflatten(Params, ports[1]))
        return (record.flatten(x),)

    x, p = Port("x", record.names(State)), Port("p", record.names(Params))
    return trace(f"{name}.settle", function, (x, p), (x,))


def kept(model: Model, key: Any, traced: Callable[[], Program]) -> Program:
    """A Program of a model, traced once: parameters are arguments, so it never changes.

    It lives as long as the model, which makes a second world of the same vehicles cheap, and on
    disk, which makes the next process start fast.
    """
    programs: dict[Any, Program] = model.__dict__.setdefault("_programs", {})
    if key not in programs:
        programs[key] = stored(model, key, lambda: counted(traced()))
    return programs[key]


def counted(program: Program) -> Program:
    """The Program, which knows its digest and its size from now on, in other processes, too."""
    parts = [part.counts for part in (program, *program.functions)]
    assert program.digest
    assert parts
    assert program.executed >= 0
    return program


def _records(model: Model, ports: tuple[Any, ...]) -> list[Any]:
    kinds = (model.State, model.Input, model.Disturbance, model.Params)
    return [record.unflatten(kind, port) for kind, port in zip(kinds, ports, strict=True)]


def _finish(program: Program, precision: str | None) -> Program:
    return program if precision is None else lower(program, precision)


def rollout_kernel(
    traced: Program,
    precision: str,
    lanes: int | None,
    delayed: tuple[int, ...] = (),
    timed: bool = False,
) -> tuple[Any, int]:
    """The compiled `rollout` of a traced step Program, and the lanes it uses.

    `delayed` are the places of the inputs that act late; with `timed`, steps differ in length.
    """
    return _kernel("rollout", traced, precision, lanes, delayed, *([True] if timed else []))


def apply_kernel(
    traced: Program, precision: str, lanes: int | None, shared: tuple[int, ...] = ()
) -> tuple[Any, int]:
    """The compiled `apply` of a traced Program, and the lanes it uses.

    `shared` are the places of input ports that all vehicles share.
    """
    return _kernel("apply", traced, precision, lanes, *([shared] if shared else []))


def adjoint_kernel(traced: Program, precision: str, lanes: int | None) -> tuple[Any, int]:
    """The compiled `adjoint` of a traced adjoint Program, and the lanes it uses."""
    return _kernel("adjoint", traced, precision, lanes)


def _kernel(
    kind: str, traced: Program, precision: str, lanes: int | None, *options: Any
) -> tuple[Any, int]:
    from . import kernels
    from . import kernels as backward

    # The width is settled on the traced size, so that a cached kernel needs no lowering at all.
    lanes = lanes or default_lanes(traced, precision)
    modules = {
        "rollout": kernels.rollout_module,
        "apply": kernels.apply_module,
        "adjoint": backward.adjoint_module,
    }
    make = modules[kind]
    name = "-".join([kind, *map(str, options)])
    library = _library(
        name, traced, precision, lanes, lambda lowered: make(lowered, lanes, *options)
    )
    return library.function(kind, ctypes.c_void_p), lanes


def tick_library(traced: Program, precision: str) -> Any:
    """The compiled `tick` and `drive` of a traced step Program."""
    from . import kernels

    return _library("tick", traced, precision, 1, kernels.tick_module)


def _library(
    kind: str, traced: Program, precision: str, lanes: int, make: Callable[[Program], Any]
) -> Any:
    from . import native
    from . import native as cache

    name = cache.key(
        kind,
        traced.digest,
        precision,
        str(lanes),
        cache.compiler_digest(),
        native.identity(),
    )

    def assembly() -> tuple[str]:
        return (str(make(scheduled(with_held_parts(lower(traced, precision))))),)

    def build(text: str) -> bytes:
        return native.object_code(text, in_order=_stays_in_order(traced, precision, lanes))

    return native.Library(cache.get_or_build(name, build, assembly, _label(traced)))


def _label(program: Program) -> str:
    """What is compiled, as in "compiling two_track, Radau"."""
    vehicle, _, rest = program.name.partition(".")
    what = rest.removeprefix("step.")
    what = {"radau": "Radau", "rk4": "RK4"}.get(what, what)
    return f"compiling {vehicle}" + (f", {what}" if what else "")


def _stays_in_order(traced: Program, precision: str, lanes: int) -> bool:
    """Whether LLVM is to keep our order.

    Its scheduler spares registers. That gains more than it loses by undoing the order of ours where
    a value takes two of them, and in a large piece, where many are alive.
    """
    from . import native

    bits = lanes * (64 if precision == "float64" else 32)
    small = max(len(piece.code) for piece in (traced, *traced.functions)) <= _WIDE_PROGRAM
    return small and bits <= native.vector_bits()
