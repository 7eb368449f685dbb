"""The rolling radius that vehicles ask for at every wheel, without all that other radii need."""

from __future__ import annotations

import pytest

from skidpad import tyres
from skidpad.tyres import Contact, LinearTyre
from skidpad.tyres.contract import effective_radius


@pytest.mark.parametrize("name", tyres.names())
@pytest.mark.parametrize("F_z", [-5.0, 0.0, 4000.0])
@pytest.mark.parametrize("omega", [-9.0, 0.0, 60.0])
def test_alone_it_is_that_of_all_radii(name: str, F_z: float, omega: float) -> None:
    tyre = tyres.get(name).record
    at = Contact(F_z=F_z, kappa=0.1, alpha=0.05, v_x=20.0, omega=omega, p=tyre.pressure)
    assert effective_radius(tyre, at) == tyre.radii(at).effective


def test_a_tyre_that_has_none_of_its_own_is_asked_for_all_radii() -> None:
    tyre, at = LinearTyre(), Contact(F_z=4000.0, v_x=20.0, omega=60.0)
    assert effective_radius(tyre, at) == tyre.radii(at).effective
