"""Every recorded derivative of upstream's programs, to 1e-12."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad import vehicles
from vehicles.commonroad.recorded import deviation, rates, recording

BICYCLES = {
    "KB": vehicles.commonroad_kinematic_bicycle,
    "DB": vehicles.commonroad_dynamic_bicycle,
    "DI": vehicles.double_integrator,
}
CARS = {
    "KS": vehicles.commonroad_ks,
    "KST": vehicles.commonroad_kst,
    "ST": vehicles.commonroad_st,
    "STD": vehicles.commonroad_std,
    "MB": vehicles.commonroad_mb,
}
RECORDED = [
    (number, name)
    for number in (1, 2, 3, 4)
    for name in CARS
    if f"v{number}_{name}_x" in recording("vehiclemodels")
]


def test_all_models_were_recorded() -> None:
    assert len(RECORDED) == 3 * 4 + 2


@pytest.mark.parametrize("name", BICYCLES)
def test_bicycles_and_point_mass(name: str) -> None:
    data = recording(f"rhs_{name}")
    car = BICYCLES[name](compat="upstream")
    assert np.any(data["w"] != 0.0)
    assert deviation(rates(car, data["x"], data["u"], data["w"]), data["xdot"]) <= 1e-12


@pytest.mark.parametrize(("number", "name"), RECORDED)
def test_cars_with_their_errors(number: int, name: str) -> None:
    data = recording("vehiclemodels")
    car = CARS[name](parameters=number, compat="upstream")
    x, u, want = data[f"v{number}_{name}_x"], data[f"v{number}_u"], data[f"v{number}_{name}_f"]
    with np.errstate(all="ignore"):
        assert deviation(rates(car, x, u), want) <= 1e-12


def test_upstreams_division_by_zero_is_not_a_number_here_either() -> None:
    data = recording("vehiclemodels")
    rows = [np.isnan(data[f"v{n}_MB_f"]).any(axis=1).sum() for n in (1, 2, 3)]
    assert rows == [1, 1, 2]


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_slip_free_car_seen_from_its_centre_of_mass(number: int) -> None:
    data = recording("vehiclemodels")
    x, want = data[f"v{number}_KS_x"], data[f"v{number}_KSCOG_f"]
    same = vehicles.commonroad_ks(number).params
    car = vehicles.commonroad_kinematic_bicycle(l_f=same.l_f, l_r=same.l_r)
    # Its state is x, y, v, yaw, steer; the commands of the recording are limited.
    got = rates(car, x[:, [0, 1, 3, 4, 2]], want[:, [3, 2]])
    assert deviation(got[:, [0, 1, 4, 2, 3]], want) <= 1e-12


def test_the_default_kinematic_bicycle_is_upstreams() -> None:
    data = recording("rhs_KB")
    car = vehicles.commonroad_kinematic_bicycle()
    assert data["x"][:, 2].min() < -10.0
    assert deviation(rates(car, data["x"], data["u"], data["w"]), data["xdot"]) <= 1e-12


def test_the_default_dynamic_bicycle_is_upstreams_where_its_wheels_roll() -> None:
    data = recording("rhs_DB")
    car = vehicles.commonroad_dynamic_bicycle()
    _, _, v_x, v_y, _, omega, steer = data["x"].T
    front = v_x * np.cos(steer) + (v_y + car.params.l_f * omega) * np.sin(steer)
    fast = np.minimum(front, v_x) >= car.params.v_blend
    assert fast.sum() > 470
    # Faster than this no wheel of the recording is below.
    assert fast[v_x > 4.0].all()
    got = rates(car, data["x"][fast], data["u"][fast], data["w"][fast])
    assert deviation(got, data["xdot"][fast]) <= 1e-12


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_default_single_track_is_upstreams_forwards_above_walking_pace(number: int) -> None:
    data = recording("vehiclemodels")
    car = vehicles.commonroad_st(number)
    x = data[f"v{number}_ST_x"]
    fast = x[:, 3] >= car.params.v_dyn
    assert fast.sum() > 30
    got = rates(car, x[fast], data[f"v{number}_u"][fast])
    assert deviation(got, data[f"v{number}_ST_f"][fast]) <= 1e-12


@pytest.mark.parametrize("name", ["STD", "MB"])
def test_default_tyres_change_what_tyres_decide_and_nothing_else(name: str) -> None:
    data = recording("vehiclemodels")
    car = CARS[name]()
    x, want = data[f"v2_{name}_x"], data[f"v2_{name}_f"]
    fast = (x[:, 3] > 4.0) & ~np.isnan(want).any(axis=1)
    got, want = rates(car, x[fast], data["v2_u"][fast]), want[fast]
    kinematic = ["x", "y", "steer", "yaw", "lean", "squat", "drop", "shift_f", "shift_r"]
    for k, field in enumerate(car.State._fields):
        if field in kinematic:
            assert deviation(got[:, [k]], want[:, [k]]) <= 1e-12, field
        elif field in ("v", "v_x", "omega"):
            assert 1e-3 < deviation(got[:, [k]], want[:, [k]]) < 0.3, field
        elif field == "v_y":
            # Springs push the body aside as it leans; those of the program are a trifle longer.
            assert deviation(got[:, [k]], want[:, [k]]) < 1e-4
