"""Newton's laws for `commonroad_std` and `commonroad_mb`: power, inertia and moments."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.vehicles import start

SETS = (1, 2, 3)
MAKERS = {"std": sp.vehicles.commonroad_std, "mb": sp.vehicles.commonroad_mb}


def spins(x, name: str) -> np.ndarray:
    """Spins of the front and the rear axle."""
    if name == "std":
        return np.array([x.omega_f, x.omega_r])
    return 0.5 * np.array([x.omega_fr + x.omega_fl, x.omega_rr + x.omega_rl])


def drive_torques(car, x, u, name: str) -> np.ndarray:
    """Torque on the wheels of each axle: what turns them, and what the road takes."""
    rate, y, p = car.derivative(x, u), car.outputs(x, u), car.params
    if name == "std":
        force = np.array([y.F_x_f, y.F_x_r])
    else:
        force = np.array([y.F_x_fl + y.F_x_fr, y.F_x_rl + y.F_x_rr])
    return 2.0 * p.I_w * spins(rate, name) + p.R_w * force


@pytest.mark.parametrize(
    ("number", "name"),
    # Sets are numbers of the same equations: one of them will do for the larger car.
    [
        pytest.param(number, name, marks=pytest.mark.slow if name == "mb" and number > 1 else ())
        for number in SETS
        for name in MAKERS
    ],
)
def test_the_engine_gives_no_more_than_its_power(name: str, number: int) -> None:
    """Torque times wheel speed is at most a_max v_switch m, whatever the car and its wheels do."""
    car = MAKERS[name](number)
    p = car.params
    random = np.random.default_rng(number)
    fields = [f for f in car.State._fields if f.startswith("omega_")]
    most = 0.0
    for _ in range(200):
        v = random.uniform(2.1, p.v_max) * random.choice([-1.0, 1.0])
        x = start(car, v=v)
        rim = v / p.R_w * random.uniform(0.2, 4.0)
        x = x._replace(**dict.fromkeys(fields, rim))
        u = car.Input(a=np.sign(v) * 2.0 * p.a_max)
        torque = drive_torques(car, x, u, name)
        power = torque @ spins(x, name)
        assert power <= p.a_max * p.v_switch * p.m * (1.0 + 1e-9)
        assert abs(np.sum(torque)) <= p.m * p.a_max * p.R_w * (1.0 + 1e-9)
        most = max(most, power)
    assert most > 0.999 * p.a_max * p.v_switch * p.m


@pytest.mark.slow_cases("-1.0-mb", "1.0-mb")
@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_wheels_turn_no_faster_than_the_fastest_car(name: str, way: float) -> None:
    """At full throttle from walking pace no rim passes the limit of speed, nor does the car."""
    car = MAKERS[name]()
    p = car.params
    sim = sp.Simulator(car, dt=0.01, integrator="radau2")
    sim.reset(start(car, v=way * 2.5))
    for _ in range(1500):
        x = sim.step(a=way * 100.0)
        assert p.v_min * 1.005 <= p.R_w * spins(x, name).min()
        assert p.R_w * spins(x, name).max() <= p.v_max * 1.005
    v = x.v if name == "std" else x.v_x
    end = p.v_max if way > 0.0 else -p.v_min
    assert 0.7 * end < way * v <= 1.005 * end


@pytest.mark.parametrize("number", SETS)
def test_an_axle_of_std_has_the_inertia_of_two_wheels(number: int) -> None:
    """A wheel of the set has I_w, in STD as in MB: the torque m R a turns 2 I_w on an axle."""
    car = sp.vehicles.commonroad_std(number)
    p = car.params
    x, u = start(car, v=5.0), car.Input(a=-1.0)
    rate, y = car.derivative(x, u), car.outputs(x, u)
    for share, spin_rate, force in (
        (p.brake_split, rate.omega_f, y.F_x_f),
        (1.0 - p.brake_split, rate.omega_r, y.F_x_r),
    ):
        torque = -share * p.m * p.R_w * 1.0
        assert 2.0 * p.I_w * spin_rate == pytest.approx(torque - p.R_w * force, rel=1e-12)


def disturbed(car, random: np.random.Generator):
    """A car on its springs with body, axles and wheels moved about by some centimetres."""
    x = start(car, v=random.uniform(4.0, 30.0), steer=random.uniform(-0.1, 0.1))
    moves = {
        name: getattr(x, name) + random.uniform(-size, size)
        for name, size in {
            "omega": 0.5, "lean": 0.1, "lean_rate": 0.5, "squat": 0.05, "squat_rate": 0.3,
            "v_y": 0.5, "drop": 0.02, "drop_rate": 0.2, "lean_f": 0.02, "lean_rate_f": 0.2,
            "v_y_f": 0.5, "drop_rate_f": 0.2, "lean_r": 0.02, "lean_rate_r": 0.2, "v_y_r": 0.5,
            "drop_rate_r": 0.2, "omega_fr": 1.0, "omega_fl": 1.0, "omega_rr": 1.0, "omega_rl": 1.0,
            "shift_f": 0.04, "shift_r": 0.04,
        }.items()
    }  # fmt: skip
    return x._replace(**moves)


@pytest.mark.parametrize("number", SETS)
def test_roll_about_the_ground_balances(number: int) -> None:
    """Angular momentum of body and axles about the forward axis on the ground changes by the
    moments of road and gravity alone, in any motion: what passes between them cancels."""
    car = sp.vehicles.commonroad_mb(number)
    p = car.params
    random = np.random.default_rng(number)
    for _ in range(50):
        x = disturbed(car, random)
        rate, y = car.derivative(x, car.Input()), car.outputs(x, car.Input())
        axles = (
            (p.front, x.lean_f, rate.lean_rate_f, x.drop_f, rate.drop_rate_f, rate.v_y_f,
             x.shift_f, (y.F_z_fr, y.F_z_fl), (y.F_y_fr, y.F_y_fl)),
            (p.rear, x.lean_r, rate.lean_rate_r, x.drop_r, rate.drop_rate_r, rate.v_y_r,
             x.shift_r, (y.F_z_rr, y.F_z_rl), (y.F_y_rr, y.F_y_rl)),
        )  # fmt: skip
        turn = x.omega * x.v_x
        # About the point on the ground below the body; moments that raise the left side count.
        wanted = -p.I_x_s * rate.lean_rate - p.m_s * (p.h_s - x.drop) * (rate.v_y + turn)
        moment, scale = 0.0, p.m_s * p.g * p.h_s
        for own, lean, lean_acc, drop, drop_acc, v_y_rate, shift, loads, across in axles:
            height = p.R_w - drop
            wanted += -own.I * lean_acc - own.m * (-shift * drop_acc + height * (v_y_rate + turn))
            moment += own.m * p.g * shift
            aside = -shift - p.R_w * np.sin(lean)
            half = 0.5 * own.track * np.cos(lean)
            for load, side, F in zip(loads, (-half, half), across, strict=True):
                moment += load * (aside + side + p.K_lt * F)
        assert moment == pytest.approx(wanted, abs=1e-9 * scale)


@pytest.mark.parametrize("number", SETS)
def test_pitch_about_the_ground_balances(number: int) -> None:
    """The same about the axis across: loads, gravity, and the spin of the wheels."""
    car = sp.vehicles.commonroad_mb(number)
    p = car.params
    random = np.random.default_rng(number)
    for a in (-8.0, 3.0, 0.0):
        for _ in range(20):
            x, u = disturbed(car, random), car.Input(a=a)
            rate, y = car.derivative(x, u), car.outputs(x, u)
            spin = rate.omega_fr + rate.omega_fl + rate.omega_rr + rate.omega_rl
            heights = p.m_s * (p.h_s - x.drop) + sum(
                own.m * (p.R_w - drop) for own, drop in ((p.front, x.drop_f), (p.rear, x.drop_r))
            )
            sink = p.l_f * p.front.m * rate.drop_rate_f - p.l_r * p.rear.m * rate.drop_rate_r
            # Moments that raise the nose.
            wanted = p.I_y_s * rate.squat_rate - sink - heights * y.a_x - p.I_w * spin
            moment = p.l_f * (y.F_z_fl + y.F_z_fr - p.front.m * p.g)
            moment -= p.l_r * (y.F_z_rl + y.F_z_rr - p.rear.m * p.g)
            assert moment == pytest.approx(wanted, abs=1e-9 * p.m * p.g * p.h_s)


@pytest.mark.slow_cases("1")
@pytest.mark.parametrize("number", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_load_transfer_in_a_steady_turn(number: int) -> None:
    """In a steady turn the loads carry the moment of all inertial forces and of weight aside."""
    car = sp.vehicles.commonroad_mb(number)
    p = car.params
    # Explicit: an implicit step of this car takes ten times as long to compile.
    sim = sp.Simulator(car, dt=0.0005, integrator="rk4")
    sim.reset(start(car, v=15.0, steer=0.03))
    for _ in range(8000):
        x = sim.step(a=0.5 * (15.0 - sim.state.v_x))
    y = car.outputs(x, car.Input(a=0.5 * (15.0 - x.v_x)))
    moved = 0.5 * p.front.track * (y.F_z_fr - y.F_z_fl) + 0.5 * p.rear.track * (y.F_z_rr - y.F_z_rl)
    inertia = y.a_y * (
        p.m_s * (p.h_s - x.drop) + p.front.m * (p.R_w - x.drop_f) + p.rear.m * (p.R_w - x.drop_r)
    )
    # The body hangs out of the turn against its axles, the contact patches into it.
    weight = p.g * (p.m - p.front.m - p.rear.m) * -0.5 * (x.shift_f + x.shift_r)
    patches = p.K_lt * sum(
        getattr(y, f"F_z_{w}") * getattr(y, f"F_y_{w}") for w in ("fl", "fr", "rl", "rr")
    )
    assert moved == pytest.approx(inertia + weight + patches, rel=0.02)
    assert y.a_y > 2.5
