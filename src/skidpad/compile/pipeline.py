"""Compilation pipeline from a vehicle and an integrator to Programs and loaded kernels; traces are
cached.

A traced Program is stored on disk, and the next process that builds the same vehicle reads it. This
applies to models that skidpad builds from its own functions and classes only: they are determined
by the package's source, by a few libraries and by the arguments of the recipe, which together name
the cache entry. A user's own model is traced by every process that uses it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from .. import integrate
from ..core import record
from ..core.model import Model, Vehicle, model_of, port_kinds
from ..core.policy import Nothing
from ..integrate.base import Integrator, as_written, flat_result
from . import native
from .lower import lower
from .passes import scheduled, with_held_parts
from .program import Program
from .trace import trace_records

__all__ = ["step_program"]

T = TypeVar("T")

_LIBRARIES = ("casadi", "numpy")
"""Libraries that a trace depends on besides the package itself."""
_PLAIN = {"builtins", "collections", "fractions", "typing"}
"""Modules, besides skidpad, whose names a recipe may contain."""


def stored(model: Model, key: Any, make: Callable[[], T]) -> T:
    """Return `make()` for a model and a key, from the cache on disk if it was stored before.

    The result must depend on the model's functions and the key alone, and be picklable.
    """
    name = _name(model, key)
    if name is None:
        return make()
    body = native.load(name)
    if body is not None:
        with contextlib.suppress(Exception):  # such as an entry by another Python version
            return pickle.loads(body)
    made = make()
    native.store(name, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _name(model: Model, key: Any) -> str | None:
    """Name of a cache entry; None if the package's own code does not determine its content."""
    from ..vehicles.registry import listed
    from .portable import recipe_of_model

    recipe = listed(model) or recipe_of_model(model)
    if recipe is None:
        return None
    try:
        text = pickle.dumps((recipe, key), pickle.HIGHEST_PROTOCOL)
        _Own(io.BytesIO(text)).load()
    except Exception:  # any error means that this is not one of our recipes
        return None
    return f"{native.key('trace', package_digest(), text.hex())}.trace"


class _Own(pickle.Unpickler):
    """An unpickler that refuses names from outside skidpad and a few standard modules."""

    def find_class(self, module: str, name: str, /) -> Any:
        if module.split(".")[0] != "skidpad" and module not in _PLAIN:
            raise pickle.UnpicklingError(f"{module}.{name} is not skidpad's")
        return super().find_class(module, name)


@cache
def package_digest() -> str:
    """Hash of everything that determines a trace: sources and libraries.

    Sources are compared by size and modification time, as Python does for its bytecode.
    """
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
"""Lane widths (vehicles per instruction) for which a kernel can be built."""

_WIDE_PROGRAM = 6_000
"""Traced operations above which the lane width is halved.

Compile time grows faster than the size of the code.
"""
_WIDE_FUNCTION = 500
"""Traced operations of a function above which the lane width is halved, too.

The values alive in one call of it leave no registers for a second vector per value. A Magic
Formula tyre is 1.3 times as fast with one vector.
"""


def default_lanes(program: Program, precision: str, registers: int = 2) -> int:
    """The lane width for a traced Program: two vector registers per value, one for a large Program.

    Two vectors hide each other's latency; with more, the registers run out.
    """
    functions = max((f.operations for f in program.functions), default=0)
    if program.operations > _WIDE_PROGRAM or functions > _WIDE_FUNCTION:
        registers = 1
    width = registers * native.vector_bits() // (64 if precision == "float64" else 32)
    return max((n for n in LANES if n <= width), default=1)


def step_program(
    vehicle: Vehicle | Model, integrator: str | Integrator = "rk4", precision: str | None = None
) -> Program:
    """Return one step as a Program: x, u, w, p, dt, start to the next x and the Newton residual.

    `start` is the state at which `hold` samples; the port is empty for a model without `hold`.
    Traced if `precision` is None, else lowered to "float32" or "float64".
    """
    model = model_of(vehicle)
    method = integrate.get(integrator)
    return _finish(kept(model, ("step", method), lambda: _step(model, method)), precision)


def _step(model: Model, method: Integrator) -> Program:
    step = integrate.discretise(model, method)

    def function(x: Any, u: Any, w: Any, p: Any, dt: Any, start: Any) -> Sequence[Any]:
        return step(x, u, w, p, dt, start or None)

    start = model.State if model.hold else Nothing
    residual = None if model.continuous and method.implicit else Nothing
    inputs = {**port_kinds(model), "dt": None, "start": start}
    outputs = {"x": model.State, "residual": residual}
    return trace_records(f"{model.name}.step.{step_name(model, method)}", function, inputs, outputs)


def step_name(model: Model, method: Integrator) -> str:
    """Display name of a model's step method: the integrator, or the model itself if it is
    discrete.
    """
    return method.name if model.continuous else "update"


def outputs_program(vehicle: Vehicle | Model, precision: str | None = None) -> Program:
    """Return the outputs as a Program of x, the state at the start of the step, u, w, p.

    `hold` samples at the start of the step that ends at x, so both states are inputs.
    """
    model = model_of(vehicle)
    traced = kept(model, "outputs", lambda: _within_step(model, "outputs", "y", model.Outputs))
    return _finish(traced, precision)


def derivative_program(vehicle: Vehicle | Model, precision: str | None = None) -> Program:
    """Return the derivative as a Program of x, the state at the start of the step, u, w, p."""
    model = model_of(vehicle)
    return _finish(_within_step(model, "derivative", "x", model.State), precision)


def _within_step(model: Model, what: str, port: str, kind: type) -> Program:
    """Trace a model equation as a Program of x, the state at the start of the step, u, w, p."""
    equation = getattr(model, what)

    def function(x: Any, start: Any, u: Any, w: Any, p: Any) -> Sequence[Any]:
        with as_written(next(iter(record.flatten(x)), None)):
            values = equation(x, model.held_input(start, u, w, p), w, p)
        return (flat_result(model, what, values),)

    kinds = port_kinds(model)
    inputs = {"x": model.State, "start": model.State, **kinds}
    return trace_records(f"{model.name}.{what}", function, inputs, {port: kind})


def settle_program(
    name: str, settle: Callable[[Any, Any], Any], State: type, Params: type
) -> Program:
    """A Program of x and p to x that makes the dependent fields of a start state consistent."""

    def function(x: Any, p: Any) -> Sequence[Any]:
        with as_written(next(iter(record.flatten(x)), None)):
            return (settle(x, p),)

    return trace_records(f"{name}.settle", function, {"x": State, "p": Params}, {"x": State})


def kept(model: Model, key: Any, traced: Callable[[], Program]) -> Program:
    """Return a Program of a model, traced once; it never changes, as parameters are arguments.

    It is cached with the model, which makes a second world of the same vehicles cheap, and on disk,
    which makes the next process start fast.
    """
    programs: dict[Any, Program] = model.__dict__.setdefault("_programs", {})
    if key not in programs:
        programs[key] = stored(model, key, lambda: counted(traced()))
    return programs[key]


def counted(program: Program) -> Program:
    """Compute a Program's digest and size, which are then pickled with it; returns the Program."""
    parts = [part.counts for part in (program, *program.functions)]
    assert program.digest
    assert parts
    assert program.executed >= 0
    return program


def _finish(program: Program, precision: str | None) -> Program:
    return program if precision is None else lower(program, precision)


def rollout_kernel(
    traced: Program, precision: str, lanes: int, delayed: tuple[int, ...] = (), timed: bool = False
) -> Any:
    """The compiled rollout of a traced step, with delayed inputs and steps that may differ.

    Called with the address of its block (see `kernels.rollout_module`).
    """
    return _kernel("rollout", traced, precision, lanes, delayed, *([True] if timed else []))


def apply_kernel(traced: Program, precision: str, lanes: int, shared: tuple[int, ...] = ()) -> Any:
    """The compiled map of a traced Program over vehicles; see `kernels.apply_module`."""
    return _kernel("apply", traced, precision, lanes, *([shared] if shared else []))


def adjoint_kernel(traced: Program, precision: str, lanes: int) -> Any:
    """The compiled sweep of a traced adjoint Program; see `kernels.adjoint_module`."""
    return _kernel("adjoint", traced, precision, lanes)


def _kernel(kind: str, traced: Program, precision: str, lanes: int, *options: Any) -> Any:
    from . import kernels

    make = getattr(kernels, f"{kind}_module")
    name = "-".join([kind, *map(str, options)])
    library = _library(name, traced, precision, lanes, lambda low: make(low, lanes, *options))
    return library.function(kind, ctypes.c_void_p)


def tick_library(traced: Program, precision: str) -> Any:
    """The compiled `tick`, `tick_of` and `drive` of a traced step Program, as a library."""
    from . import kernels

    return _library("tick", traced, precision, 1, kernels.tick_module)


def _library(
    kind: str, traced: Program, precision: str, lanes: int, make: Callable[[Program], Any]
) -> Any:
    parts = (kind, traced.digest, precision, str(lanes), native.compiler_digest())
    name = native.key(*parts, native.identity())

    def assembly() -> tuple[str]:
        return (str(make(scheduled(with_held_parts(lower(traced, precision))))),)

    def build(text: str) -> bytes:
        # Whether LLVM has to keep the order of the scheduling pass
        bits = lanes * (64 if precision == "float64" else 32)
        small = max(len(piece.code) for piece in (traced, *traced.functions)) <= _WIDE_PROGRAM
        return native.object_code(text, in_order=(small and bits <= native.vector_bits()))

    return native.Library(native.get_or_build(name, build, assembly, _label(traced)))


def _label(program: Program) -> str:
    """Progress text of a compilation, such as "compiling two_track, Radau"."""
    vehicle, _, rest = program.name.partition(".")
    what = rest.removeprefix("step.")
    what = {"radau": "Radau", "rk4": "RK4"}.get(what, what)
    return f"compiling {vehicle}" + (f", {what}" if what else "")
