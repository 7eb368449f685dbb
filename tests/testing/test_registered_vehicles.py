"""Every registered vehicle runs every check."""

from __future__ import annotations

import pytest

from skidpad import testing, vehicles

EXEMPT = [(name, check) for name in vehicles.names() for check in vehicles.get(name).model.exempt]


@pytest.mark.slow_cases("formula_student-purity", "full_car-purity")
@pytest.mark.parametrize("check", testing.checks())
@pytest.mark.parametrize("name", vehicles.names())
def test_vehicle_conforms(name, check):
    testing.check(vehicles.get(name), [check]).raise_if_failed()


@pytest.mark.parametrize(("name", "check"), EXEMPT)
def test_an_exemption_is_of_a_reproduction_and_says_why(name, check):
    model = vehicles.get(name).model
    result = testing.check(model, [check])[check]
    assert model.reproduces
    assert check in testing.checks()
    assert result.status == "exempt"
    assert len(result.reason.split()) >= 5
    # An exemption without a fault behind it hides the day that the check begins to matter.
    if check != "energy" or model.energy is not None:
        assert result.exemption_needed


LARGE = ("commonroad_mb", "formula_student", "full_car", "two_track")
"""Of which the samples of one seed are enough among the fast tests."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in vehicles.names()],
)
def test_other_seeds_look_elsewhere_and_agree(name):
    testing.check(vehicles.get(name), ["mirror", "frame", "energy"], seed=2024).raise_if_failed()
