"""Driver aids: what each must and must not do, by closed forms and properties."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.control import driver_aids, speed
from skidpad.core import record
from skidpad.core.policy import Policy
from skidpad.tyres import LoadSensitiveTyre
from skidpad.tyres.contract import Carcass
from skidpad.units import m_s
from skidpad.vehicles.parts import HydraulicBrakes, MotorDrive

WHEELS = ("fl", "fr", "rl", "rr")
CAR = sp.vehicles.two_track()
PLAIN = driver_aids.open_loop(CAR)
ANTI_LOCK = driver_aids.aided(PLAIN, driver_aids.anti_lock(CAR))
DT = 0.002


@cache
def fleet(name: str | None = None) -> sp.Fleet:
    """By the method of two stages, which compiles sooner."""
    return sp.Fleet(sp.vehicles.two_track(name) if name else CAR, dt=DT, integrator="radau2")


def column(states: np.ndarray, field: str) -> np.ndarray:
    return states[..., record.names(CAR.State).index(field)]


def each(name: str, value: float) -> dict[str, float]:
    return {f"{name}_{wheel}": value for wheel in WHEELS}


def adjusted(aid: driver_aids.Aid, x: Any, u: Any, m: Any = None) -> tuple[Any, Any]:
    return aid.adjust(x, u, aid.Memory() if m is None else m, aid.params, DT)


def rolling(**fields: float) -> Any:
    assert CAR.model.settle is not None
    return CAR.model.settle(CAR.State(**fields), CAR.params)


def slips(states: np.ndarray, v_least: float = 1.0) -> np.ndarray:
    """Slip of each wheel of cars that drive straight."""
    v, radii = column(states, "v_x"), [wheel.radius for wheel in CAR.geometry.wheels]
    spins = [R * column(states, f"spin_{w}") for w, R in zip(WHEELS, radii, strict=True)]
    return (np.array(spins) - v) / np.maximum(np.abs(v), v_least)


ALL = [
    driver_aids.torque_vectoring(CAR),
    driver_aids.stability(CAR),
    driver_aids.traction(CAR),
    driver_aids.anti_lock(CAR),
    driver_aids.power_limit(CAR, 60e3),
]


@pytest.mark.parametrize("aid", ALL[1:], ids=lambda aid: aid.name)
def test_a_calm_driver_gets_what_he_asks_for(aid: driver_aids.Aid) -> None:
    """Rolling wheels, a yaw rate as steered, little power: the same bits go on."""
    x = rolling(v_x=20.0)
    u = CAR.Input(0.0, *(50.0,) * 4, *(20.0,) * 4)
    asked, memory = adjusted(aid, x, u)
    assert asked == u
    assert memory == aid.Memory()


@pytest.mark.parametrize("aid", ALL, ids=lambda aid: aid.name)
def test_aids_know_no_side(aid: driver_aids.Aid) -> None:
    """Left and right exchanged, the answer is exchanged too."""

    def mirrored(value: Any) -> Any:
        odd = {"y", "yaw", "v_y", "omega", "steer", "load_a_y"}
        swap = str.maketrans("lr", "rl")
        fields = {
            (f"{n[:-1]}{n[-1].translate(swap)}" if n[-2:] in WHEELS else n): -v if n in odd else v
            for n, v in zip(record.names(type(value)), record.flatten(value), strict=True)
        }
        return record.build(type(value), fields)

    x = rolling(v_x=18.0, v_y=-0.4, omega=0.6, steer=0.05)
    x = x._replace(spin_fl=20.0, spin_rr=90.0, spin_rl=30.0)
    u = CAR.Input(0.02, 900.0, 700.0, 300.0, 100.0, 400.0, 0.0, 800.0, 1500.0)
    m = aid.Memory(0.9, 0.5, 0.7, 0.3) if record.size(aid.Memory) else aid.Memory()
    here, there = adjusted(aid, x, u, m), adjusted(aid, mirrored(x), mirrored(u), mirrored(m))
    for own, other in zip(here, there, strict=True):
        want = record.flatten(mirrored(own))
        assert record.flatten(other) == pytest.approx(want, rel=1e-12, abs=1e-12)
    assert record.flatten(here[0]) != record.flatten(u)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [1.0, 0.5, 0.2])
def test_anti_lock_brakes_stop_sooner_than_locked_wheels(mu: float) -> None:
    """And no sooner than friction allows: what grips most is the tyre with the least load."""
    start, tyre = 25.0, CAR.params.tyres.tyre
    pedal, road = each("brake", 2500.0), each("mu", mu)
    locked, kept = (
        fleet().rollout(
            {"v_x": start}, pedal, policy=policy, disturbances=road, steps=9000, every=5
        )[:, 0]
        for policy in (PLAIN, ANTI_LOCK)
    )
    ways = [column(states, "x")[-1] for states in (locked, kept)]
    assert ways[1] < 0.85 * ways[0]
    most = mu * float(tyre.longitudinal.friction(0.0, tyre.F_z0))
    assert ways[1] > start**2 / (2.0 * (most * 9.81 + 0.8 * start**2 / (2.0 * CAR.params.m)))
    fast = column(kept, "v_x") > 5.0
    after = np.arange(len(fast)) * 0.01 > 0.5
    assert np.abs(slips(kept)[:, fast & after]).max() < 0.3
    assert np.abs(slips(locked)[:, fast[: len(locked)] & after]).min() > 0.9
    assert abs(column(kept, "v_x")[-1]) < 1e-3


def test_anti_lock_brakes_keep_the_steering() -> None:
    pedal = each("brake", 2500.0) | {"steer": 0.04}
    for policy, low, high in (
        (PLAIN, -0.3, 0.3),
        (ANTI_LOCK, 1.5, 10.0),
    ):
        states = fleet().rollout({"v_x": 25.0}, pedal, policy=policy, steps=2000, every=10)
        assert low < column(states, "y")[-1, 0] < high


def test_anti_lock_brakes_work_backwards() -> None:
    aid = driver_aids.anti_lock(CAR)
    u = CAR.Input(**each("brake", 2000.0))
    locked = rolling(v_x=-8.0)._replace(**each("spin", 0.0))
    for x, fine in ((locked, False), (rolling(v_x=-8.0), True)):
        asked, memory = adjusted(aid, x, u)
        assert (asked == u) is fine
        assert (memory == aid.Memory()) is fine


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("mu", [1.0, 0.5])
def test_traction_control_limits_wheelspin(mu: float, sign: float) -> None:
    throttle, road = {"tau_fl": sign * 1000.0, "tau_fr": sign * 1000.0}, each("mu", mu)
    helped = driver_aids.aided(PLAIN, driver_aids.traction(CAR))
    free, held = (
        fleet().rollout({"v_x": 0.0}, throttle, policy=policy, disturbances=road, steps=2000)[:, 0]
        for policy in (PLAIN, helped)
    )
    later = np.arange(2001) * DT > 0.5
    assert (sign * slips(held)[:, later]).max() < 0.2
    assert (sign * slips(held, 2.0)).max() < 0.8
    if mu < 1.0:
        assert sign * column(held, "v_x")[-1] > 1.3 * sign * column(free, "v_x")[-1]


@pytest.mark.slow
@pytest.mark.parametrize("understeer", [0.0, 0.002])
def test_torque_vectoring_gives_the_car_another_gradient(understeer: float) -> None:
    """With a large gain the yaw rate is nearly that of the bicycle with the gradient."""
    turn, v = {"steer": 0.02}, 20.0
    p = CAR.params
    own, other = (
        fleet().rollout({"v_x": v}, turn, policy=policy, steps=500)[-1, 0]
        for policy in (
            PLAIN,
            driver_aids.aided(
                PLAIN, driver_aids.torque_vectoring(CAR, rate=60.0, understeer=understeer)
            ),
        )
    )
    v = column(other, "v_x")
    want = v * 0.02 / (p.l_f + p.l_r + understeer * v * v)
    assert column(other, "omega") == pytest.approx(want, rel=0.03)
    assert (column(other, "omega") > column(own, "omega")) == (understeer == 0.0)


def test_torque_vectoring_moves_torque_and_adds_none() -> None:
    aid = driver_aids.torque_vectoring(CAR, front=0.3)
    u = CAR.Input(0.1, 300.0, 200.0, 100.0, 50.0)
    asked, _ = adjusted(aid, rolling(v_x=20.0), u)
    before, after = ([getattr(w, f"tau_{n}") for n in WHEELS] for w in (u, asked))
    assert sum(after[:2]) == pytest.approx(500.0)
    assert sum(after[2:]) == pytest.approx(150.0)
    assert after[1] - after[0] > before[1] - before[0]
    assert after[3] > after[2]


@pytest.mark.parametrize(
    ("steer", "omega", "braked"),
    [(0.02, 0.6, "fr"), (-0.02, -0.6, "fl"), (0.2, 0.0, "rl"), (-0.2, 0.0, "rr"), (0.0, 0.5, "fr")],
    ids=["spins left", "spins right", "ploughs on left", "ploughs on right", "turns unasked"],
)
def test_the_stability_programme_brakes_the_right_wheel(
    steer: float, omega: float, braked: str
) -> None:
    x = rolling(v_x=25.0, omega=omega)
    asked, _ = adjusted(driver_aids.stability(CAR), x, CAR.Input(steer, *(100.0,) * 4))
    brakes = {wheel: getattr(asked, f"brake_{wheel}") for wheel in WHEELS}
    assert brakes.pop(braked) > 100.0
    assert set(brakes.values()) == {0.0}
    assert all(0.0 <= getattr(asked, f"tau_{wheel}") < 100.0 for wheel in WHEELS)
    # Less force on the braked side turns the car back.
    back = 1.0 if braked[1] == "l" else -1.0
    assert (steer * 10.0 - omega) * back > 0.0


def sine_with_dwell(amplitudes: np.ndarray, begin: float = 0.5) -> tuple[np.ndarray, float]:
    """Steering of FMVSS 126 (49 CFR 571.126, S7.9) for each car, and when it ends."""
    f, dwell = 0.7, 0.5
    t = np.arange(round(5.0 / DT)) * DT - begin
    hold, end = 0.75 / f, 1.0 / f + dwell
    shifted = np.where(t < hold, t, np.maximum(t - dwell, hold))
    wave = np.where((t < 0.0) | (t > end), 0.0, np.sin(2.0 * np.pi * f * shifted))
    steering = np.zeros((t.size, len(amplitudes), len(CAR.Input._fields)))
    steering[:, :, 0] = wave[:, None] * amplitudes
    return steering, begin + end


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("compact", marks=pytest.mark.slow), "suv"])
def test_the_stability_programme_keeps_the_car_from_spinning(name: str) -> None:
    """FMVSS 126, S5.2: below 35 % of the peak yaw rate 1 s after the steering, below 20 % after
    1.75 s, and 1.83 m aside 1.07 s after its begin."""
    car = sp.vehicles.two_track(name)
    steering, end = sine_with_dwell(np.linspace(0.14, 0.2, 4))
    driver = driver_aids.open_loop(car)
    esp = driver_aids.aided(driver, driver_aids.stability(car), driver_aids.anti_lock(car))
    spun = []
    for policy in (driver, esp):
        states = fleet(name).rollout({"v_x": 80.0 / 3.6}, steering, policy=policy)
        omega = np.abs(column(states, "omega"))
        peak = omega[: round(end / DT)].max(axis=0)
        late, later = (omega[round((end + t) / DT)] / peak for t in (1.0, 1.75))
        spun.append((late > 0.35) | (later > 0.2))
        assert column(states, "y")[round(1.57 / DT)].min() > 1.83
    assert spun[0].any()
    assert not spun[1].any()


def test_power_stays_below_its_limit_and_below_it_torques_stay() -> None:
    aid = driver_aids.power_limit(CAR, 40e3)
    x = rolling(v_x=30.0)
    u = CAR.Input(0.0, 800.0, 600.0, 200.0, 100.0)
    asked, _ = adjusted(aid, x, u)
    power = sum(getattr(asked, f"tau_{w}") * getattr(x, f"spin_{w}") for w in WHEELS)
    assert power == pytest.approx(40e3, rel=1e-12)
    assert asked.tau_fl / asked.tau_fr == pytest.approx(800.0 / 600.0)


def test_under_constant_power_energy_grows_in_proportion_to_time() -> None:
    carcass = Carcass(rolling=0.0)
    car = sp.vehicles.two_track(tyre=LoadSensitiveTyre(carcass=carcass), C_drag=0.0)
    driver = driver_aids.aided(driver_aids.open_loop(car), driver_aids.power_limit(car, 20e3))
    sim = sp.Simulator(car, dt=0.005, integrator="radau2")
    sim.reset(v_x=10.0)
    everything = car.Input(**each("tau", 900.0))
    sim.run(driver.controller(0.005, reference=everything), duration=1.0)
    assert car.model.energy is not None
    before = car.model.energy(sim.state, car.params)
    sim.run(driver.controller(0.005, reference=everything), duration=2.0)
    gained = car.model.energy(sim.state, car.params) - before
    # What sliding takes is the slip, less than 1 %.
    assert gained == pytest.approx(2.0 * 20e3, rel=0.01)


class Cruise(NamedTuple):
    v: m_s = 20.0


@pytest.mark.slow
def test_any_driver_may_be_aided_and_his_memory_goes_along() -> None:
    gains = speed.Params(k_p=200.0, k_i=50.0, tau_min=0.0, tau_max=900.0)

    def act(x: Any, m: speed.Memory, r: Cruise, p: speed.Params, dt: float) -> Any:
        tau, m = speed.torque(p, m, x.v_x, r.v, dt)
        return CAR.Input(tau_fl=tau, tau_fr=tau), m

    driver = Policy(act, speed.Memory, Cruise, speed.Params, gains, "cruise")
    policy = driver_aids.aided(driver, driver_aids.traction(CAR), driver_aids.anti_lock(CAR))
    assert policy.name == "cruise + traction + anti_lock"
    assert record.names(policy.Memory)[0] == "driver.integral"
    states, memory = fleet().rollout(
        {"v_x": 15.0}, Cruise(20.0), policy=policy, steps=4000, every=100, return_memory=True
    )
    assert memory.shape[-1] == 9
    assert column(states, "v_x")[-1, 0] == pytest.approx(20.0, abs=0.3)
    sim = sp.Simulator(CAR, dt=DT, integrator="radau2")
    sim.reset(v_x=15.0)
    run = sim.run(policy.controller(DT, reference=Cruise(20.0)), steps=500)
    assert run["v_x"][::100] == pytest.approx(column(states, "v_x")[:6, 0], abs=1e-9)


def test_a_driver_without_reference_and_aids_without_memory() -> None:
    def act(x: Any) -> Any:
        return CAR.Input(tau_fl=1000.0, tau_fr=1000.0)

    policy = driver_aids.aided(Policy(act, name="always on"), driver_aids.power_limit(CAR, 10e3))
    assert policy.arguments == ("x", "p", "dt")
    u, _ = policy.command(rolling(v_x=30.0), policy.Memory(), None, policy.params, DT)
    assert u.tau_fl < 200.0


def test_gains_are_parameters_of_the_kernel() -> None:
    states = fleet().rollout(
        {"v_x": 25.0},
        each("brake", 2500.0),
        policy=ANTI_LOCK,
        policy_params={"anti_lock.slip": [0.02, 0.08]},
        steps=300,
    )
    held = np.abs(slips(states)[:, 200:]).mean(axis=(0, 1))
    assert held[0] < 0.04 < held[1] < 0.12


@pytest.mark.slow_cases("one")
@pytest.mark.parametrize(
    "policy",
    [
        ANTI_LOCK,
        pytest.param(
            driver_aids.aided(PLAIN, driver_aids.stability(CAR), driver_aids.anti_lock(CAR)),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["one", "two"],
)
def test_an_aided_loop_is_a_fleet_that_can_be_saved(policy: Any, tmp_path: Path) -> None:
    pedal = CAR.Input(steer=0.05, **each("brake", 2500.0))
    start = rolling(v_x=25.0)._asdict()  # a saved plant does not set wheels rolling by itself
    own = fleet().rollout(start, pedal, policy=policy, steps=50)
    closed = fleet().closed_loop(policy)
    closed.save(tmp_path / "aided.plant")
    loaded = sp.Fleet.load(tmp_path / "aided.plant")
    states = loaded.rollout(start, pedal, steps=50)
    assert np.array_equal(states[..., : own.shape[-1]], own)


@pytest.mark.parametrize(
    "parts",
    [{"powertrain": MotorDrive()}, {"brakes": HydraulicBrakes()}],
    ids=["MotorDrive", "HydraulicBrakes"],
)
def test_of_a_car_with_pedals_aids_say_which_parts_they_need(parts: Any) -> None:
    with pytest.raises(sp.InvalidValue, match=r"WheelTorques\(\) and brakes=BrakeTorques\(\)"):
        driver_aids.anti_lock(sp.vehicles.two_track(**parts))


def test_what_is_no_aid_and_no_driver_is_refused() -> None:
    car = sp.vehicles.two_track()
    with pytest.raises(sp.InvalidValue, match=r"such as anti_lock\(car\), got 3"):
        driver_aids.aided(driver_aids.open_loop(car), 3)  # type: ignore[arg-type]
    with pytest.raises(sp.InvalidValue, match="driver must be a Policy"):
        driver_aids.aided(car, driver_aids.anti_lock(car))  # type: ignore[arg-type]


def test_names_of_aids_are_their_own() -> None:
    for pair in ((driver_aids.anti_lock(CAR),) * 2, (replace(ALL[0], name="driver"),)):
        with pytest.raises(sp.InvalidValue, match="different names, none of them 'driver'"):
            driver_aids.aided(PLAIN, *pair)


@pytest.mark.parametrize(
    "aid", [driver_aids.anti_lock, driver_aids.traction, driver_aids.stability]
)
def test_cars_without_spinning_wheels_are_refused(aid: Any) -> None:
    with pytest.raises(sp.InvalidValue, match="'four_wheel' has no spin_fl"):
        aid(sp.vehicles.four_wheel())
