"""Every equation of the Magic Formula balances in its units."""

from __future__ import annotations

from typing import Any

import pytest

from skidpad.core import record
from skidpad.testing.equations import NUMBER, Quantity, fits_anything, same
from skidpad.tyres import Contact, TyreForces
from skidpad.tyres.magic_formula.formula import Everything, evaluate
from skidpad.tyres.magic_formula.radii import rolling_spin
from tyres.magic_sets import EACH_VERSION, tyre
from tyres.test_magic_properties import every_choice

AT = Contact(3000.0, 0.02, 0.03, 0.04, 0.01, 9.0, 0.3, 30.0, 2.2e5, 0.9)
RESTING = Contact(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.2e5)


def with_units(value: Any) -> Any:
    leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
    return record.unflatten(
        type(value), [Quantity(number, leaf.unit.dimension) for leaf, number in leaves]
    )


def check(value: Any, kind: Any) -> None:
    for leaf, result in zip(record.fields(kind), record.flatten(value), strict=True):
        if not fits_anything(result):
            dimension = result.dimension if isinstance(result, Quantity) else NUMBER
            assert same(dimension, leaf.unit.dimension), leaf.name


@pytest.mark.parametrize("name", EACH_VERSION)
def test_units_balance(name: str) -> None:
    for choices in every_choice(name):
        t = with_units(tyre(name, **choices))
        for point in (AT, RESTING):
            at = with_units(point)
            check(t.forces(at), TyreForces)
            check(evaluate(t, at), Everything)
            for part in (t.stiffness(at), t.peaks(at), t.relaxation(at), t.radii(at)):
                check(part, type(part))
            omega = rolling_spin(t, at.F_z, at.kappa, at.v_x, at.p)
            assert same(omega.dimension, (0.0, 0.0, -1.0))
