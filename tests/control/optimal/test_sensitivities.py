"""Derivatives of laps by parameters, against laps solved again; and setups of least time."""

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from control.optimal.test_lap import oval, straight
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.vehicles import single_track

NAMES = ("m", "z_cg", "C_drag", "brake_front", "width", "t_drive")


@pytest.fixture(scope="module")
def lap() -> Any:
    return sp.control.minimum_lap(single_track(), oval(), progress=False)


def solved_again(lap: Any, name: str) -> tuple[float, float]:
    """Derivatives of time and cost by differences of laps on both sides."""
    known = dict(
        zip(record.names(type(lap.vehicle.params)), record.flatten(lap.vehicle.params), strict=True)
    )
    step = 1e-5 * known[name]
    more, less = (lap.changed({name: known[name] + s * step}, progress=False) for s in (1, -1))
    return (more.time - less.time) / (2.0 * step), (more.cost - less.cost) / (2.0 * step)


@pytest.mark.parametrize("name", NAMES)
def test_sensitivities_equal_differences_of_laps(lap: Any, name: str) -> None:
    (found,) = lap.sensitivities([name])
    time, cost = solved_again(lap, name)
    assert found.cost == pytest.approx(cost, rel=1e-4)
    # The time is not what is minimal, so its derivative has the larger error.
    assert found.time == pytest.approx(time, rel=1e-3)
    assert found.per_percent == pytest.approx(0.01 * found.value * time, rel=1e-3)


def test_limits_of_commands_have_sensitivities_of_the_right_size() -> None:
    # Along a straight the drive force is all that matters: m dv/dt = F.
    lap = sp.control.minimum_lap(single_track(), straight(), v_start=10.0, progress=False)
    by_force, by_mass = lap.sensitivities(["drive.F_max", "m"])
    assert by_force.time < 0.0 < by_mass.time
    time, _ = solved_again(lap, "drive.F_max")
    assert by_force.time == pytest.approx(time, rel=1e-3)
    # Time depends on the ratio F / m, apart from air drag and resistance.
    assert by_mass.per_percent == pytest.approx(-by_force.per_percent, rel=0.1)


def test_all_parameters_with_an_effect_are_listed(lap: Any) -> None:
    found = {row.name: row for row in lap.sensitivities()}
    assert set(NAMES) <= set(found)
    assert "height" not in found  # which does not influence the motion
    (again,) = lap.sensitivities(["m"])
    assert found["m"].time == pytest.approx(again.time, rel=1e-9)


def test_best_drive_distribution_has_no_slope(lap: Any) -> None:
    best = lap.optimised({"drive_front": (0.0, 1.0)}, progress=False)
    (found,) = best.sensitivities(["drive_front"])
    assert 0.01 < found.value < 0.99
    assert abs(found.cost) < 1e-5
    assert best.cost < lap.cost


def test_setup_ends_at_the_bound_of_its_range(lap: Any) -> None:
    best = lap.optimised({"z_cg": (0.45, 0.7)}, progress=False)
    assert best.vehicle.params.z_cg == pytest.approx(0.45, abs=1e-6)
    assert best.time < lap.time


def test_bad_names_and_ranges(lap: Any) -> None:
    with pytest.raises(InvalidValue, match="mass"):
        lap.sensitivities(["mass"])
    with pytest.raises(InvalidValue, match="no parameters to optimise"):
        lap.optimised({})
    with pytest.raises(InvalidValue, match=r"z_cg: range 0\.7 to 0\.4 must increase"):
        lap.optimised({"z_cg": (0.7, 0.4)})
    with pytest.raises(InvalidValue, match=r"m = -1 must be"):
        lap.optimised({"m": (-1.0, 4.0)})
    with pytest.raises(InvalidValue, match="width is a limit"):
        lap.optimised({"width": (1.6, 1.8)})
    with pytest.raises(InvalidValue, match="nonsense"):
        lap.changed({"nonsense": 1.0})
    assert np.isfinite(lap.time)
