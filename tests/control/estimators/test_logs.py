"""`estimate` over channels of a log, and what estimators refuse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from control.estimators.linear_cart import CART, MEASURED
from skidpad.control import (
    ExtendedKalmanFilter,
    MovingHorizonEstimator,
    UnscentedKalmanFilter,
    estimate,
)
from skidpad.errors import InvalidValue

DT = 0.01


@pytest.fixture(scope="module")
def car() -> sp.Vehicle:
    return sp.vehicles.single_track()


@pytest.fixture(scope="module")
def truth(car: sp.Vehicle) -> dict[str, np.ndarray]:
    """Exact channels of a slalom on a road with 0.7 of the usual friction."""
    sim = sp.Simulator(car, DT)
    sim.reset(v_x=18.0)
    sim.disturb(mu_f=0.7, mu_r=0.7)
    t = DT * np.arange(600)
    controls = np.stack([0.08 * np.sin(4.0 * t), 400.0 + 0.0 * t], axis=-1)
    run = sim.run(controls)
    names = ("v_x", "v_y", "omega", "steer", "a_x", "a_y", "u_steer", "u_F_drive")
    return {name: np.array(run[name]) for name in names}


@pytest.fixture(scope="module")
def channels(truth: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same with noise, gaps, and a channel that the car does not have."""
    rng = np.random.default_rng(3)
    noise = {"v_x": 0.05, "omega": 0.005, "steer": 0.001, "a_x": 0.1, "a_y": 0.1}
    seen = {n: truth[n] + sd * rng.standard_normal(601) for n, sd in noise.items()}
    seen["omega"][100:150] = np.nan
    seen["v_x"][::2] = np.nan
    return {**seen, "oil_pressure": np.zeros(601)}


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("commands", [False, True])
def test_a_log_tells_sideslip_and_friction(
    commands: bool,
    smooth: bool,
    car: sp.Vehicle,
    channels: dict[str, np.ndarray],
    truth: dict[str, np.ndarray],
) -> None:
    known = {n: truth[n] for n in ("u_steer", "u_F_drive")} if commands else {}
    names = ("v_y", "sideslip", "mu")
    result = estimate(car, {**channels, **known}, DT, names, smooth=smooth)
    assert result.names == names
    assert result.t == pytest.approx(DT * np.arange(601))
    begin = 0 if smooth else 100
    sideslip = np.arctan2(truth["v_y"], truth["v_x"])
    for name, true in (("v_y", truth["v_y"]), ("sideslip", sideslip), ("mu", 0.7)):
        low, high = result.interval(name, 0.99)
        inside = ((low < true) & (true < high))[begin:]
        assert inside.mean() > 0.9, name
    assert np.sqrt(np.mean((result["sideslip"] - sideslip)[begin:] ** 2)) < 0.005
    assert result["mu"][300:] == pytest.approx(0.7, abs=0.1)
    assert "oil_pressure is not used" in result.notes
    assert ("demand_steer is estimated" in result.notes) is not commands
    assert np.isnan(result.innovations[120, result.measured.index("omega")])


def test_a_vehicle_that_does_not_follow_the_log_is_named(
    car: sp.Vehicle, channels: dict[str, np.ndarray]
) -> None:
    sharp = {"v_x": 0.05, "omega": 0.0005, "a_y": 0.1, "steer": 0.001}
    wrong = {**channels, "omega": channels["omega"] * 1.3}
    result = estimate(car, wrong, DT, ("v_y",), measured=sharp)
    assert "innovations are" in result.notes[-1]
    assert "most of all those of omega" in result.notes[-1]
    assert "estimate no parameters such as mu" in result.notes[-1]


def test_positions_are_estimated_if_asked_for(car: sp.Vehicle, truth: dict[str, Any]) -> None:
    seen = {n: truth[n] for n in ("v_x", "omega", "u_steer", "u_F_drive")}
    result = estimate(car, seen, DT, ("x", "yaw"), smooth=False)
    distance = np.concatenate([[0.0], np.cumsum(truth["v_x"][1:]) * DT])
    assert result["x"][100] == pytest.approx(distance[100], rel=0.01)
    assert result.deviation("x")[-1] > result.deviation("x")[100]


def test_smoothing_is_more_certain_than_filtering(
    car: sp.Vehicle, channels: dict[str, np.ndarray]
) -> None:
    filtered, smoothed = (
        estimate(car, channels, DT, ("v_y", "mu"), smooth=smooth) for smooth in (False, True)
    )
    assert (smoothed.deviations <= filtered.deviations * (1.0 + 1e-9)).all()
    assert smoothed.deviations[-1] == pytest.approx(filtered.deviations[-1], rel=1e-9)


def test_methods_agree_on_a_log(car: sp.Vehicle, channels: dict[str, np.ndarray]) -> None:
    short = {name: values[:150] for name, values in channels.items()}
    results = [
        estimate(car, short, DT, ("v_y", "mu"), method=method, smooth=False)
        for method in ("ekf", "ukf", "mhe")
    ]
    for other in results[1:]:
        difference = np.abs(other.values - results[0].values)
        assert (difference < results[0].deviations).mean() > 0.9


def test_estimators_and_estimates_can_be_pickled(car: sp.Vehicle) -> None:
    ekf = ExtendedKalmanFilter(car, DT, {"v_x": 0.05, "omega": 0.01}, parameters=("mu",))
    again = pickle.loads(pickle.dumps(ekf.vehicle))
    assert again.model is ekf.vehicle.model
    assert again.params == ekf.vehicle.params
    cart = MovingHorizonEstimator(CART, 0.1, MEASURED)
    cart.step((0.5,), (0.3, 0.1))
    assert pickle.loads(pickle.dumps(cart.vehicle)).params == cart.vehicle.params
    other = pickle.loads(pickle.dumps(cart))
    assert np.array_equal(other.estimate.values, cart.estimate.values)
    results = [one.step((0.2,), (0.1, None)) for one in (cart, other)]
    assert np.array_equal(results[0].covariances, results[1].covariances)
    assert np.array_equal(pickle.loads(pickle.dumps(results[0])).values, results[0].values)


def test_delayed_inputs_act_late() -> None:
    """In a run, a step and a smoothed log, as in the simulator."""
    car = sp.vehicles.get("DELAY_STEER_ACC")()
    measured = {"v_x": 0.05, "omega": 0.01}
    ekf = ExtendedKalmanFilter(car, 0.03, measured)
    assert car.params.acc_time_delay > 0.03
    t = np.arange(80)
    u = np.stack([np.sin(0.1 * t), 0.1 * np.sin(0.07 * t)], axis=-1)
    sim = sp.Simulator(car, 0.03)
    sim.reset(v_x=10.0)
    states = [sim.step(row) for row in u]
    omega = [car.body.velocity(x, sim.input, car.params).omega for x in states]
    y = np.stack([[x.v_x for x in states], omega], axis=-1)
    exact = [[x.v_x, x.steer, x.a_x] for x in states]
    assert ekf.names == ("v_x", "steer", "a_x")
    for method in (ekf.run, ekf.smooth):
        ekf.reset(v_x=10.0)
        assert method(u, y).values[1:] == pytest.approx(np.array(exact), abs=1e-9)


def test_states_that_nothing_depends_on_are_left_out(car: sp.Vehicle) -> None:
    ekf = ExtendedKalmanFilter(car, DT, {"omega": 0.01})
    assert ekf.names == ("v_x", "v_y", "omega", "steer", "F_drive", "load_a_x")
    measured = ExtendedKalmanFilter(car, DT, {"x": 0.1})
    assert measured.names[:3] == ("x", "yaw", "v_x")
    few = ExtendedKalmanFilter(car, DT, {"omega": 0.01, "v_x": 0.1}, states=("v_y", "omega"))
    assert few.names == ("v_y", "omega")
    few.reset(v_x=20.0, v_y=0.3)
    # The speed falls by the drag alone: no measurement corrects it.
    alone = sp.Simulator(car, DT)
    alone.reset(v_x=20.0, v_y=0.3)
    few.step((0.0, 0.0), (15.0, 0.0))
    assert few._simulator.state.v_x == pytest.approx(alone.step((0.0, 0.0)).v_x)


def test_a_wrapped_heading_is_no_jump(car: sp.Vehicle) -> None:
    ekf = ExtendedKalmanFilter(car, DT, {"yaw": 0.01, "v_x": 0.1})
    ekf.reset(v_x=10.0, yaw=3.14)
    now = ekf.step((0.0, 0.0), {"yaw": 3.141 - 2.0 * np.pi, "v_x": 10.0})
    assert now["yaw"] == pytest.approx(3.141, abs=1e-3)


@pytest.mark.slow_cases("ukf")
@pytest.mark.parametrize("method", ["ekf", "ukf"])
def test_the_sideslip_of_a_spin_is_followed_and_a_reversed_one_refused(method: str) -> None:
    """A sideslip that passes half a turn is no jump, and one that is wrong is named."""
    car, rng = sp.vehicles.single_track("sports"), np.random.default_rng(1)
    sim, t = sp.Simulator(car, DT), DT * np.arange(1400)
    sim.reset(v_x=22.0)
    steer = 0.1 * np.sin(2.9 * t) * np.sin(0.25 * t) + 0.06 * np.sin(0.6 * t)
    run = sim.run(np.column_stack([steer, 700.0 + 1500.0 * np.sin(0.4 * t)]))
    angle = np.arctan2(run["v_y"], run["v_x"])
    assert np.ptp(angle) > 3.0
    noise = {"v_x": 0.05, "omega": 0.008, "a_y": 0.1, "steer": 0.001, "sideslip": 0.003}
    exact = {**{name: np.array(run[name]) for name in list(noise)[:4]}, "sideslip": angle}
    seen = {n: exact[n] + sd * rng.standard_normal(len(run)) for n, sd in noise.items()}
    found = estimate(car, seen, DT, ("v_y",), measured=noise, method=method, smooth=False)
    assert float(found.nis.sum() / found.degrees.sum()) < 3.0
    assert np.abs(found["v_y"] - run["v_y"])[100:].max() < 1.0
    wrong = {**seen, "sideslip": -seen["sideslip"]}
    with pytest.raises(InvalidValue, match=r"estimate is lost .* most of all sideslip.*gate=5.0"):
        estimate(car, wrong, DT, ("v_y",), measured=noise, method=method, smooth=False)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no measurement": ({"measured": {}}, "measured is empty"),
    "names alone": ({"measured": ("omega",)}, "measured must be a mapping"),
    "unknown measurement": ({"measured": {"a_z": 0.1}}, "has no measurement 'a_z'"),
    "no noise": ({"measured": {"omega": 0.0}}, r"measured\['omega'\] = 0.0 must be finite and gr"),
    "unknown state": ({"states": ("v_z",)}, "has no state 'v_z'"),
    "unknown parameter": ({"parameters": {"nu": 0.1}}, "has no field 'nu'"),
    "bias of nothing": ({"parameters": ("log.a_y_bias",)}, "has no field 'log.a_y_bias'"),
    "negative walk": ({"parameters": {"mu": -1.0}}, "process noise of mu = -1.0 must be"),
    "noise of a parameter": ({"process": {"mu": 1.0}}, "process has no field 'mu'"),
    "sure start": ({"deviations": {"v_x": 0.0}}, r"deviations\['v_x'\] = 0.0 must be"),
    "empty range": ({"bounds": {"v_x": (2.0, 1.0)}}, r"bounds\['v_x'\] = .* must be a pair"),
    "gate": ({"gate": 0.0}, "gate = 0.0 must be"),
    "dt": ({"dt": 0.0}, "dt = 0.0 s must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_arguments_are_refused(case: str, car: sp.Vehicle) -> None:
    changed, message = REFUSED[case]
    options: dict[str, Any] = {"dt": DT, "measured": {"omega": 0.01}} | changed
    with pytest.raises(InvalidValue, match=message):
        ExtendedKalmanFilter(car, **options)


def test_wrong_options_of_a_method_are_refused(car: sp.Vehicle) -> None:
    with pytest.raises(InvalidValue, match=r"kappa = -1.0 must be finite and at least 0"):
        UnscentedKalmanFilter(car, DT, {"omega": 0.01}, kappa=-1.0)
    with pytest.raises(InvalidValue, match=r"window = 0 must be at least 1"):
        MovingHorizonEstimator(car, DT, {"omega": 0.01}, window=0)


def test_a_rejected_step_changes_nothing() -> None:
    ekf = ExtendedKalmanFilter(CART, 0.1, MEASURED)
    before = ekf.step((0.3,), (0.1, 0.2)).values
    for u, y, message in (
        ((0.3,), {"t": 1.0}, "has no measurement 't'"),
        ((0.3,), (1.0,), "y has 1 values; expected one each for s, mix"),
        ((0.3, 0.4), (1.0, 2.0), "Input takes 1 numbers"),
        ((np.inf,), (1.0, 2.0), "must be"),
    ):
        with pytest.raises(InvalidValue, match=message):
            ekf.step(u, y)
    assert np.array_equal(ekf.estimate.values, before)


def test_wrong_logs_are_refused(car: sp.Vehicle, channels: dict[str, np.ndarray]) -> None:
    ekf = ExtendedKalmanFilter(CART, 0.1, MEASURED)
    with pytest.raises(InvalidValue, match=r"u has shape \(4, 1\); expected \(5, 1\)"):
        ekf.run(np.zeros((4, 1)), np.zeros((5, 2)))
    with pytest.raises(InvalidValue, match=r"measurements has shape \(5, 3\); expected"):
        ekf.run(np.zeros((5, 1)), np.zeros((5, 3)))
    with pytest.raises(InvalidValue, match="channels have lengths"):
        estimate(car, {"omega": np.zeros(5), "v_x": np.zeros(4)}, DT)
    with pytest.raises(InvalidValue, match="method = 'kf' is unknown"):
        estimate(car, channels, DT, method="kf")
    with pytest.raises(InvalidValue, match="has no field 'nu'"):
        estimate(car, channels, DT, ("nu",))
    with pytest.raises(InvalidValue, match="this estimate has no name 'w'"):
        ekf.estimate["w"]
    with pytest.raises(InvalidValue, match=r"truth has shape \(2,\); expected \(3,\)"):
        ekf.estimate.nees([0.0, 0.0])
