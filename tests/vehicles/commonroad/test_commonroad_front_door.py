"""Parameter sets, `compat`, limits of commands, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from skidpad import testing, vehicles
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.vehicles import start
from vehicles.commonroad.recorded import FOLDER

NAMES = [n for n in vehicles.names() if n.startswith("commonroad") or n == "double_integrator"]
UPSTREAM = [n for n in NAMES if vehicles.get(n).upstream is not None]
WORDS = {
    "l_f": "a", "l_r": "b", "steer_max": "steering.max", "steer_rate_max": "steering.v_max",
    "a_max": "longitudinal.a_max", "v_min": "longitudinal.v_min", "v_max": "longitudinal.v_max",
    "v_switch": "longitudinal.v_switch", "I_x_s": "I_Phi_s", "I_w": "I_y_w",
    "brake_split": "T_sb", "engine_split": "T_se", "l_trailer": "trailer.l_wb",
    "front.m": "m_uf", "front.I": "I_uf", "front.track": "T_f", "front.K_s": "K_sf",
    "front.K_sd": "K_sdf", "front.K_ts": "K_tsf", "front.D": "D_f", "front.E": "E_f",
    "length": "l", "width": "w", "trailer_length": "trailer.l", "trailer_width": "trailer.w",
    "front.h_ra": "h_raf", "rear.m": "m_ur", "rear.I": "I_ur", "rear.track": "T_r",
    "rear.K_s": "K_sr", "rear.K_sd": "K_sdr", "rear.K_ts": "K_tsr", "rear.D": "D_r",
    "rear.E": "E_r", "rear.h_ra": "h_rar",
}  # fmt: skip
"""CommonRoad's names where they are not skidpad's."""
OWN = {"C_f", "C_r", "g", "v_kin", "v_dyn", "t_kin", "omega_lock", "hitch_max"}
"""Parameters that CommonRoad writes into its equations, or does not have."""


def published(number: int) -> dict[str, Any]:
    """A parameter set as CommonRoad's package reads it, with dotted names."""
    with np.load(FOLDER / "vehiclemodels.npz") as file:
        tree = json.loads(str(file["params_json"]))[str(number)]
    flat = {k: v for k, v in tree.items() if not isinstance(v, dict)}
    for group in ("steering", "longitudinal", "trailer"):
        flat |= {f"{group}.{k}": v for k, v in tree[group].items()}
    return flat | {f"tyre.{k}": v for k, v in tree["tire"].items()}


@pytest.mark.parametrize("number", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["ks", "kst", "st", "std", "mb"])
def test_parameter_sets_are_the_published_ones(name: str, number: int) -> None:
    factory = vehicles.get(f"commonroad_{name}")
    if number not in factory.sets:
        assert (name, number) in {("st", 4), ("std", 4), ("mb", 4)}
        return
    trailer = {"l_trailer": 5.0, "trailer_length": 6.0, "trailer_width": 2.0}
    given = trailer if name == "kst" and number < 4 else {}
    p = factory(parameters=number, **given).params
    source = published(number)
    for field, value in zip(record.names(type(p)), record.flatten(p), strict=True):
        if field not in OWN and field not in given:
            assert value == source[WORDS.get(field, field)], field
    if name == "st":
        assert p.C_f == p.C_r == -source["tyre.p_ky1"]


def test_limits_are_symmetric_in_every_published_set() -> None:
    for number in (1, 2, 3, 4):
        source = published(number)
        assert source["steering.min"] == -source["steering.max"]
        assert source["steering.v_min"] == -source["steering.v_max"]


@pytest.mark.parametrize("name", NAMES)
def test_a_set_may_be_given_alone_and_overridden(name: str) -> None:
    factory = vehicles.get(name)
    if not factory.sets:
        with pytest.raises(InvalidValue, match=rf"parameters = 2 is not .* of '{name}'.* none"):
            factory(parameters=2)
        return
    number = factory.sets[-1]
    assert factory(number).params == factory(parameters=number).params
    assert factory(number, v_max=30.0).params.v_max == 30.0
    assert factory({"v_max": 31.0}, parameters=number).params.v_max == 31.0
    assert factory(parameters=number, compat="upstream").params == factory(number).params


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": 4}, r"parameters = 4 is not .*'commonroad_st'; allowed are 1, 2, 3"),
        ({"parameters": True}, "parameters = True"),
        ({"parameters": "2"}, "parameters = '2'"),
        ({"compat": "matlab"}, "compat = 'matlab' is unknown; allowed are None, 'upstream'"),
        ({"m": -1.0}, r"Params\.m = -1 kg must be greater than 0"),
        ({"C_f": -0.1}, r"Params\.C_f"),
        ({"v_min": 1.0}, r"Params\.v_min = 1 m/s must be at most 0"),
        ({"I_z": float("nan")}, r"Params\.I_z = nan must be finite"),
        ({"v_kin": 2.0}, r"v_kin = 2 m/s must be below v_dyn = 1 m/s"),
        ({"l_wb": 2.5}, "no field 'l_wb'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        vehicles.commonroad_st(**arguments)


def test_shares_and_nested_parameters_have_ranges() -> None:
    with pytest.raises(InvalidValue, match=r"engine_split = 1\.5 must be from 0 to 1"):
        vehicles.commonroad_std(engine_split=1.5)
    with pytest.raises(InvalidValue, match=r"front\.K_s = -1 N/m"):
        vehicles.commonroad_mb(**{"front.K_s": -1.0})
    with pytest.raises(InvalidValue, match=r"tyre\.p_cy1"):
        vehicles.commonroad_mb(**{"tyre.p_cy1": 0.0})


def test_a_car_without_a_trailer_needs_one_to_pull() -> None:
    with pytest.raises(InvalidValue, match="parameter set 2 has no l_trailer: give l_trailer="):
        vehicles.commonroad_kst(2)
    assert vehicles.commonroad_kst(2, l_trailer=4.0).params.l_trailer == 4.0
    assert vehicles.commonroad_kst({"l_trailer": 4.5}, parameters=2).params.l_trailer == 4.5


LARGE = {n: pytest.param(n, marks=pytest.mark.slow) for n in ("commonroad_mb", "commonroad_std")}


@pytest.mark.slow_cases("commonroad_st")
@pytest.mark.parametrize("name", [LARGE.get(n, n) for n in UPSTREAM])
def test_what_reproduces_upstream_says_which_checks_it_fails(name: str) -> None:
    car = vehicles.get(name)(compat="upstream")
    with np.errstate(all="ignore"):
        report = testing.check(car)
    report.raise_if_failed()
    assert car.model.reproduces
    for check in car.model.exempt:
        assert report[check].exemption_needed, check


def test_commands_are_limited_as_published() -> None:
    car = vehicles.commonroad_ks()
    p = car.params

    def acting(v: float, a: float, steer: float = 0.0, steer_rate: float = 0.0) -> Any:
        rate = car.derivative(car.State(v=v, steer=steer), car.Input(steer_rate, a))
        return rate.v, rate.steer

    assert acting(5.0, 20.0)[0] == p.a_max
    assert acting(-5.0, -20.0)[0] == -p.a_max
    assert acting(4.0 * p.v_switch, 20.0)[0] == pytest.approx(p.a_max / 4.0, rel=1e-15)
    assert acting(4.0 * p.v_switch, -20.0)[0] == -p.a_max
    assert acting(p.v_max, 1.0)[0] == 0.0
    assert acting(p.v_max, -1.0)[0] == -1.0
    assert acting(p.v_min, -1.0)[0] == 0.0
    assert acting(p.v_min, 1.0)[0] == 1.0
    assert acting(5.0, 0.0, 0.0, 3.0)[1] == p.steer_rate_max
    assert acting(5.0, 0.0, p.steer_max, 0.1)[1] == 0.0
    assert acting(5.0, 0.0, p.steer_max, -0.1)[1] == -0.1


def test_start_fits_every_car_and_refuses_others() -> None:
    for name in NAMES:
        car = vehicles.get(name)()
        if name == "double_integrator":
            with pytest.raises(InvalidValue, match="'double_integrator' is not a CommonRoad car"):
                start(car, v=3.0)
            continue
        x = start(car, x=1.0, yaw=0.2, v=10.0, beta=0.1, omega=0.3, steer=0.1)
        assert (x.x, x.yaw, x.steer) == (1.0, 0.2, 0.1)
        speed = x.v if hasattr(x, "v") else np.hypot(x.v_x, x.v_y)
        assert speed == pytest.approx(10.0)
    with pytest.raises(InvalidValue, match="'four_wheel' is not a CommonRoad car"):
        start(vehicles.four_wheel())


def test_the_registry_lists_what_the_package_makes() -> None:
    assert {*NAMES} <= {*vehicles.names()}
