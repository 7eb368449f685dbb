"""Integrators: Runge-Kutta, semi-implicit Euler, Radau IIA and the methods of SciPy.

`get` finds a method by name, `discretise` builds the update of a model from its derivative.
"""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import Any

from ..errors import InvalidValue
from .base import Integrator
from .base import discretise as discretise
from .explicit import DOPRI5, EULER, HEUN, RK4, ExplicitRungeKutta, SemiImplicitEuler
from .radau import Radau
from .scipy_ivp import METHODS, ScipyMethod

__all__ = ["Integrator", "get", "names"]

_SCIPY = "scipy:"
_METHODS: dict[str, tuple[type, dict[str, Any]]] = {
    "euler": (ExplicitRungeKutta, {"tableau": EULER}),
    "semi_implicit": (SemiImplicitEuler, {}),
    "heun": (ExplicitRungeKutta, {"tableau": HEUN}),
    "rk4": (ExplicitRungeKutta, {"tableau": RK4}),
    "dopri5": (ExplicitRungeKutta, {"tableau": DOPRI5}),
    "radau": (Radau, {"stages": 3}),
    "radau2": (Radau, {"stages": 2}),
    "radau3": (Radau, {"stages": 3}),
    "radau4": (Radau, {"stages": 4}),
    **{_SCIPY + method: (ScipyMethod, {"method": method}) for method in METHODS},
}
"""For each name the class that implements it and the arguments the name implies."""


def names() -> list[str]:
    """Names of all integrators that `get` knows."""
    return list(_METHODS)


def get(spec: str | Integrator, **options: Any) -> Integrator:
    """Return the integrator of that name; an `Integrator` object is returned unchanged.

    Options: `iterations` for the Radau methods, `rtol` and `atol` for those of SciPy.
    """
    if not isinstance(spec, str):
        if isinstance(spec, type) or not isinstance(spec, Integrator):
            raise InvalidValue(
                f"integrator = {spec!r} must be a name or an Integrator; names are "
                f"{', '.join(names())}"
            )
        if options:
            raise InvalidValue(
                f"options {', '.join(options)} are allowed only with the name of an integrator; "
                f"{spec.name!r} is an Integrator object"
            )
        return spec
    if spec not in _METHODS:
        raise InvalidValue(_unknown("integrator", spec, names()))
    kind, fixed = _METHODS[spec]
    hidden = {*fixed, *_INTERNAL}
    allowed = [f.name for f in fields(kind) if f.init and f.name not in hidden]
    for option in options:
        if option not in allowed:
            raise InvalidValue(_unknown(f"option of {spec!r}", option, allowed))
    return kind(**fixed, **options)


_INTERNAL = frozenset({"positions"})
"""Fields that are set by `bind`, not by the user."""


def _unknown(what: str, name: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(name, allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"unknown {what} {name!r}{hint} Allowed are {', '.join(allowed) or 'none'}"


def compiled_integrator(spec: str | Integrator) -> Integrator:
    """Return the integrator; raises if it cannot be compiled."""
    method = get(spec)
    if method.name.startswith("scipy:"):
        raise InvalidValue(
            f"integrator = {method.name!r} runs in a Simulator only; a Fleet takes "
            + ", ".join(n for n in names() if not n.startswith("scipy:"))
        )
    return method
