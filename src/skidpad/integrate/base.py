"""`Integrator`, the contract of integration methods, and `discretise`, which makes a model's update
from one.

A new integration method has to meet these conditions:

1. It is an immutable value with `name`, `order`, `implicit` and `adaptive`.
2. `step(f, x, dt)` returns the state after `dt` seconds of x' = f(x) and a residual. x, the
   argument of f and its result are flat tuples of floats, NumPy arrays, CasADi or JAX values.
3. The residual is 0.0 for an explicit method. For an implicit one it is a non-negative number that
   estimates how far the Newton iteration stopped from its solution, relative to the state; it is
   NaN or large where the iteration diverged, never small.
4. `bind(model)` returns the integrator prepared for a model's state; it is called before `step`.
5. It has no memory: equal arguments give equal results.

User functions are traced as they were written (`as_written`): CasADi simplifies expressions while
they are made (`x != x` becomes false, `x / x` one, `x - x` zero, as if no number were NaN, infinite
or zero), and guards against those would vanish from compiled code. The integrators' own expressions
need the simplification: their Jacobians are full of zeros.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from ..core import record
from ..core.model import Model
from ..core.threads import TRACING, guard
from ..errors import InvalidValue, TraceError

_LOCK = threading.RLock()
"""Lock that is held while CasADi's simplification is off, as that setting applies to the whole
process.
"""
guard(_LOCK, TRACING)


@contextmanager
def making_expressions() -> Generator[None]:
    """Context in which no other thread switches CasADi's simplification on or off.

    The setting applies to the whole process, and an expression made partly without simplification
    has other bits.
    """
    with _LOCK:
        yield


@contextmanager
def as_written(leaf: Any) -> Generator[None]:
    """Context without CasADi's simplification, if the argument `leaf` is a CasADi symbol."""
    casadi = sys.modules.get("casadi")
    if casadi is None or not isinstance(leaf, casadi.SX):
        yield
        return
    with _simplification(False):
        yield


@contextmanager
def simplified() -> Generator[None]:
    """Context with CasADi's simplification, for derivatives made within a user's function."""
    with _simplification(True):
        yield


@contextmanager
def _simplification(wanted: bool) -> Generator[None]:
    import casadi

    options = casadi.GlobalOptions
    with _LOCK:
        before = options.getSimplificationOnTheFly()
        options.setSimplificationOnTheFly(wanted)
        try:
            yield
        finally:
            options.setSimplificationOnTheFly(before)


Scalars = tuple[Any, ...]
"""A flat tuple of floats, NumPy arrays, CasADi or JAX values."""
Derivative = Callable[[Scalars], Scalars]
"""The time derivative of a flat state."""
Update = Callable[..., tuple[Any, Any]]
"""`update(x, u, w, p, dt, start=None) -> (x_next, residual)` over records; dt in s.

`start` is the state at which `hold` samples; by default x. With several sub-steps it is the
state before the first.
"""


@runtime_checkable
class Integrator(Protocol):
    """Interface of one-step integration methods; the module docstring has the contract."""

    @property
    def name(self) -> str:
        """The name by which `integrate.get` finds the method."""
        ...

    @property
    def order(self) -> int:
        """Order of convergence on smooth problems that are not stiff."""
        ...

    @property
    def implicit(self) -> bool:
        """Whether a step solves equations, so that its residual has to be checked."""
        ...

    @property
    def adaptive(self) -> bool:
        """Whether the method chooses its own steps inside dt.

        Such a method runs on floats and cannot be compiled.
        """
        ...

    def bind(self, model: Model) -> Integrator:
        """Return this integrator prepared for the state of `model`."""
        ...

    def step(self, f: Derivative, x: Scalars, dt: Any) -> tuple[Scalars, Any]:
        """Return the state after `dt` seconds, and the residual."""
        ...


def discretise(model: Model, integrator: Integrator) -> Update:
    """Return the update of a model: its own if it is discrete, else one step of the integrator.

    The result is a pure function of records. The result of `hold` is computed once, from the state
    at the start of the step, and is the input of every stage.
    """
    if model.update is not None:
        own = model.update

        def update(x: Any, u: Any, w: Any, p: Any, dt: Any, start: Any = None) -> tuple[Any, Any]:
            with as_written(dt):
                after = own(x, model.held_input(x if start is None else start, u, w, p), w, p, dt)
            flat_result(model, "update", after)
            return after, 0.0

        return update
    method = integrator.bind(model)
    derivative = model.derivative
    assert derivative is not None

    def update(x: Any, u: Any, w: Any, p: Any, dt: Any, start: Any = None) -> tuple[Any, Any]:
        with as_written(dt):
            held = model.held_input(x if start is None else start, u, w, p)

        def f(leaves: Scalars) -> Scalars:
            with as_written(dt):
                rates = derivative(record.unflatten(model.State, leaves), held, w, p)
            return flat_result(model, "derivative", rates)

        after, residual = method.step(f, record.flatten(x), dt)
        return record.unflatten(model.State, after), residual

    return update


def flat_result(model: Model, what: str, value: Any) -> Scalars:
    """Flatten the value returned by a model function into its leaves.

    Raises unless the value is the expected record, one with the same fields in the same order, or a
    plain tuple: from here on numbers are identified by position.
    """
    expected = model.Outputs if what == "outputs" else model.State
    if type(value) is expected:
        return record.flatten(value)
    returned = f"{what} of {model.name!r} must return a {expected.__qualname__} record, got "
    if not isinstance(value, tuple):
        hint = ": a `return` may be missing" if value is None else ""
        raise TraceError(f"{returned}{value!r}{hint}")
    if record.is_record_type(type(value)) and _leaf_names(value) != record.names(expected):
        raise TraceError(
            f"{returned}a {type(value).__qualname__} with the fields "
            f"{', '.join(_leaf_names(value)) or 'none'}; expected are "
            f"{', '.join(record.names(expected)) or 'none'}, in this order"
        )
    return record.flatten(value)


def _leaf_names(value: Any) -> tuple[str, ...]:
    """Dotted names of a record's leaves, found from its values."""
    names: list[str] = []
    for name, part in zip(value._fields, value, strict=True):
        inner = _leaf_names(part) if record.is_record_type(type(part)) else None
        names += [name] if inner is None else [f"{name}.{below}" for below in inner]
    return tuple(names)


def same_length(f: Derivative, x: Scalars) -> Scalars:
    """Evaluate f(x), and check that it has one derivative per state."""
    derivative = tuple(f(x))
    if len(derivative) != len(x):
        raise InvalidValue(f"the derivative of {len(x)} states has {len(derivative)} values")
    return derivative
