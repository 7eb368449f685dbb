"""The Magic Formula without limits is smooth: through zero slip, speed, load and grip."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import pytest

from skidpad.core import record
from skidpad.tyres import Contact
from skidpad.tyres.magic_formula.coefficients import TurnSlip
from skidpad.tyres.magic_formula.records import BookAngles, FrictionEllipse, Uncombined
from tyres.magic_sets import SETS, tyre

CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "turn slip": {"turn_slip": TurnSlip},
    "book": {"angles": BookAngles},
    "ellipse": {"combination": FrictionEllipse},
    "uncombined": {"combination": Uncombined},
}
CASES = [c for c in product(SETS, CHOICES) if not (c[0].endswith("52") and c[1] == "turn slip")]
SINGULAR: dict[str, dict[str, float]] = {
    "at rest": {},
    "rolling free": {"v_x": 10.0, "omega": 30.0},
    "no load": {"F_z": 0.0},
    "in the air": {"F_z": -100.0, "v_x": 10.0},
    "no load, sliding": {"F_z": 0.0, "v_x": 10.0, "alpha": 0.1, "kappa": 0.1, "gamma": 0.05},
    "no grip": {"mu": 0.0, "v_x": 10.0, "alpha": 0.1},
    "no grip, at rest": {"mu": 0.0},
    "backwards": {"v_x": -5.0, "omega": -15.0},
    "sideways": {"alpha": np.pi / 2.0, "v_x": 1.0},
    "sideways, at rest": {"alpha": np.pi / 2.0},
    "locked": {"kappa": -1.0, "v_x": 5.0},
    "cambered": {"gamma": 0.1},
    "spinning": {"kappa": 1e6, "alpha": 1.0, "v_x": 1e-6},
    "turning on the spot": {"phi_t": 5.0},
}
SLIDING = {"kappa": 0.1, "alpha": 0.2, "gamma": 0.03, "phi_t": 0.01, "v_x": 9.0, "omega": 28.0}
NAMES = Contact._fields


def answers(t: Any, at: Contact) -> tuple[Any, ...]:
    parts = (t.forces(at), t.stiffness(at), t.peaks(at), t.relaxation(at), t.radii(at))
    return tuple(value for part in parts for value in part)


@cache
def derivatives(name: str, choice: str) -> tuple[ca.Function, Any]:
    """Answers and their derivatives over contact and parameters, as a function of both."""
    t = tyre(name, **CHOICES[choice])
    x = ca.SX.sym("x", len(NAMES))
    p = ca.SX.sym("p", record.size(type(t)))
    traced = record.unflatten(type(t), ca.vertsplit(p))
    out = ca.vertcat(*map(ca.SX, answers(traced, Contact(*ca.vertsplit(x)))))
    jacobians = [ca.jacobian(out, x), ca.jacobian(out, p)]
    return ca.Function("f", [x, p], [out, *jacobians]), t


def contact(**values: float) -> Contact:
    return Contact(**{"F_z": 4000.0, **values})


@pytest.mark.slow_cases(
    "odd52-book",
    "odd52-default",
    "odd52-ellipse",
    "odd52-uncombined",
    "odd61-book",
    "odd61-default",
    "odd61-ellipse",
    "odd61-turn slip",
    "odd61-uncombined",
    "reduced61-book",
    "reduced61-default",
    "reduced61-ellipse",
    "reduced61-turn slip",
    "reduced61-uncombined",
)
@pytest.mark.parametrize(("name", "choice"), CASES)
def test_gradients_are_finite(name: str, choice: str) -> None:
    function, t = derivatives(name, choice)
    for place, values in SINGULAR.items():
        results = function(list(contact(**values)), record.flatten(t))
        for what, result in zip(("value", "by contact", "by parameter"), results, strict=True):
            assert np.isfinite(np.array(result)).all(), (place, what)


@pytest.mark.parametrize(("name", "choice"), CASES)
def test_nothing_jumps_with_speed_load_or_slip(name: str, choice: str) -> None:
    """A small change of any input through 0 is a small change of every force."""
    t = tyre(name, **CHOICES[choice])
    at = contact(kappa=0.02, alpha=0.03, gamma=0.02, v_x=8.0, omega=25.0)
    for field in ("F_z", "kappa", "alpha", "gamma", "phi_t", "v_x", "mu"):
        below, above = (
            t.forces(at._replace(**{field: side * 1e-6}))
            for side in ((0.0, 1.0) if field in ("F_z", "mu") else (-1.0, 1.0))
        )
        scale = (4000.0, 4000.0, 400.0, 40.0, 400.0)
        for low, high, size in zip(below, above, scale, strict=True):
            # The root of spin in its decay is steep at 0, if finite.
            assert abs(high - low) < size * (1e-3 if field == "phi_t" else 1e-4), field


@pytest.mark.parametrize("name", SETS)
def test_derivatives_are_those_of_the_values(name: str) -> None:
    """Exact derivatives against central differences, away from kinks."""
    function, t = derivatives(name, "default")
    at = contact(kappa=0.04, alpha=-0.06, gamma=0.03, v_x=14.0, omega=44.0, p=2.1e5, mu=0.9)
    exact = np.array(function(list(at), record.flatten(t))[1])
    steps = {"F_z": 1.0, "p": 100.0, "v_x": 1e-3, "omega": 1e-2}
    for k, field in enumerate(NAMES):
        h = steps.get(field, 1e-5)
        value = getattr(at, field)
        above, below = (answers(t, at._replace(**{field: value + s * h})) for s in (1.0, -1.0))
        central = (np.array(above) - np.array(below)) / (2.0 * h)
        np.testing.assert_allclose(exact[:, k], central, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_jax_has_the_same_gradients() -> None:
    jax = pytest.importorskip("jax")
    function, t = derivatives("odd61", "default")
    with jax.enable_x64(True):
        slopes = jax.jit(jax.jacfwd(lambda x: jax.numpy.stack(t.forces(Contact(*x)))))
        for values in ({}, SINGULAR["no load"], SLIDING):
            at = contact(**values)
            ours = np.stack([np.asarray(s) for s in slopes(jax.numpy.array(at, float))])
            exact = np.array(function(list(at), record.flatten(t))[1])[:5]
            assert np.isfinite(ours).all()
            if values is SLIDING:  # at a kink the two may choose different sides
                np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-9)
