"""How a vehicle is moved: by the name or class that `simulate` is given."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Protocol

from ... import integrate
from ...arrays import Array
from ...errors import InvalidValue
from ...integrate.base import Integrator
from ...integrate.scipy_ivp import METHODS, StepSolver
from ...model import Vehicle
from .compiled_motion import CompiledMotion
from .grid import Grid
from .scipy_motion import ScipyMotion

OWN = "skidpad:"
"""Before the names of skidpad's own integrators."""


class Motion(Protocol):
    """Moves a vehicle over the steps of a grid, with an input held throughout."""

    name: str
    """What the method is called in notes and errors."""

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """The states (steps + 1, nx) of the nominal vehicle."""
        ...

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Step k of both vehicles, from row k of their states to the next; w is the perturbed
        one's disturbance, dt the length of the step in s."""
        ...


def names() -> list[str]:
    """Every name that `ivp_method` may be: those of `solve_ivp`, and skidpad's own."""
    own = [OWN + name for name in integrate.names() if not name.startswith("scipy:")]
    return [*METHODS, *own]


def own_integrator(method: Any) -> Integrator | None:
    """The integrator that is meant, if it is one that can be compiled; None for scipy's methods."""
    if isinstance(method, str):
        known = method.startswith(OWN) and method in names()
        return integrate.get(method.removeprefix(OWN)) if known else None
    if not isinstance(method, type) and hasattr(method, "bind") and not method.adaptive:
        return method
    return None


def solver_class(method: Any) -> tuple[type, str]:
    """The class of scipy's kind that is meant, and its name."""
    import scipy.integrate

    if isinstance(method, type) and issubclass(method, scipy.integrate.OdeSolver):
        return method, method.__name__
    if isinstance(method, str) and method in METHODS:
        return getattr(scipy.integrate, method), method
    near = _nearest(str(method))
    hint = "." if near is None else f"; did you mean {near!r}?"
    raise InvalidValue(
        f"unknown ivp_method {method!r}{hint} Allowed are {', '.join(names())}, "
        "or a subclass of scipy.integrate.OdeSolver"
    )


def _nearest(method: str) -> str | None:
    """The name that is probably meant; capitals and the prefix are what is mostly wrong."""
    by_letters = {name.lower(): name for name in names()}
    for guess in (method.lower(), OWN + method.lower()):
        if guess in by_letters:
            return by_letters[guess]
    close = difflib.get_close_matches(method, names(), n=1)
    return close[0] if close else None


def motion(
    method: Any,
    vehicle: Vehicle,
    nominal: Array,
    *,
    substep: float | None,
    options: Mapping[str, Any],
    frozen: bool,
) -> Motion:
    """What moves the vehicle by this method.

    Args:
        method: name, class or integrator, as `simulate` takes it.
        vehicle: what moves.
        nominal: the disturbance of the nominal vehicle, (nw,).
        substep: longest step of skidpad's own integrators in s; see `CompiledMotion`.
        options: further arguments of a solver of scipy's kind: `rtol`, `atol`.
        frozen: whether a solver of scipy's kind that fails returns the state it has reached, as
            commonroad-control does, instead of raising.
    """
    integrator = own_integrator(method)
    if integrator is not None:
        return CompiledMotion(vehicle, integrator, nominal, substep)
    solver, name = solver_class(method)
    if not vehicle.model.continuous:
        raise InvalidValue(
            f"ivp_method = {name!r} needs a derivative, but {vehicle.name!r} is discrete; "
            f"take {OWN + 'rk4'!r}, with which it makes its own steps"
        )
    return ScipyMotion(vehicle, StepSolver(solver, name, options, frozen=frozen), nominal)
