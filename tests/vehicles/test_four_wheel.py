"""Limits, disturbances and dissipation of the dynamic and the kinematic car."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from skidpad import Simulator, vehicles
from skidpad.core import record
from skidpad.vehicles.formula import External

RNG_ROWS = 4000
CARS = ["four_wheel", "kinematic_bicycle"]


def states(car, *, torque: float, seed: int = 1):
    """Random states from fast forward through standstill to backwards."""
    rng = np.random.default_rng(seed)
    n = RNG_ROWS
    speed = np.where(rng.random(n) < 0.5, rng.uniform(-1.0, 1.0, n), rng.uniform(-10.0, 30.0, n))
    zero = np.zeros(n)
    return car.State(
        zero,
        zero,
        rng.uniform(-3.0, 3.0, n),
        speed,
        rng.uniform(-2.0, 2.0, n),
        rng.uniform(-2.0, 2.0, n),
        rng.uniform(-0.5, 0.5, n),
        *rng.uniform(-torque, torque, (4, n)),
    )


def power(car, x, u) -> np.ndarray:
    """Rate of the kinetic energy along the motion, by its gradient in the velocities."""
    dx = car.derivative(x, u)
    h = 1e-6
    total = np.zeros(RNG_ROWS)
    for name in ("v_x", "v_y", "omega", "steer"):
        up = x._replace(**{name: getattr(x, name) + h})
        down = x._replace(**{name: getattr(x, name) - h})
        slope = (car.model.energy(up, car.params) - car.model.energy(down, car.params)) / (2 * h)
        total = total + slope * getattr(dx, name)
    return total


@pytest.mark.parametrize("name", CARS)
def test_without_torque_energy_never_grows(name: str) -> None:
    car = vehicles.get(name)()
    x = states(car, torque=0.0)
    u = car.Input(steer=np.linspace(-0.5, 0.5, RNG_ROWS))
    grows = power(car, x, u)
    if name == "four_wheel":
        grows = grows[car.outputs(x, u).wheel_lift == 0.0]
        assert len(grows) > 1000
    assert grows.max() <= 1e-5
    assert grows.min() < -1000.0


@pytest.mark.parametrize("name", CARS)
@pytest.mark.parametrize("dt", [0.0005, 0.002, 0.02])
def test_actuator_limits_hold_at_any_step_size(name: str, dt: float) -> None:
    """Targets far outside; explicit Euler where it is stable, else the exact flow."""
    car = vehicles.get(name)()
    p = car.params
    u = car.Input(2.0, 900.0, -900.0, 900.0, -900.0)
    x = record.build(car.State, v_x=5.0)
    for _ in range(8):
        if dt <= p.t_tau:
            end = np.array(x) + dt * np.array(car.derivative(x, u))
        else:
            run = solve_ivp(
                lambda t, y: np.array(car.derivative(car.State(*y), u)),
                (0.0, dt),
                np.array(x),
                method="LSODA",
                rtol=1e-8,
                atol=1e-8,
            )
            end = run.y[:, -1]
        after = car.State(*end)
        # LSODA keeps rtol, not the limit itself.
        assert abs(after.steer - x.steer) <= p.steer_rate_max * dt * (1.0 + 1e-6)
        assert abs(after.steer) <= p.steer_max * (1.0 + 1e-6)
        assert np.abs(after[7:]).max() <= p.tau_max * (1.0 + 1e-6)
        x = after


@pytest.mark.parametrize("name", ["four_wheel"])
def test_external_influences(name: str) -> None:
    car = vehicles.get(name)()
    p = car.params
    x = record.build(car.State, v_x=10.0, v_y=0.2, omega=0.3, steer=0.05)
    u = car.Input(steer=0.05)
    free, pushed = car.derivative(x, u), car.derivative(x, u, External(M_z=40.0))
    assert pushed.omega - free.omega == pytest.approx(40.0 / p.I_z)
    assert pushed._replace(omega=free.omega) == pytest.approx(free)
    ice = car.outputs(x, u, External(mu_scale=0.0))
    assert (ice.F_y_fl, ice.F_y_rr) == (0.0, 0.0)
    wind = car.outputs(x, u, External(F_x=-200.0, F_y=300.0, mu_scale=0.0))
    assert wind.a_x - ice.a_x == pytest.approx(-200.0 / p.m)
    assert wind.a_y - ice.a_y == pytest.approx(300.0 / p.m)


@pytest.mark.parametrize("name", ["four_wheel"])
def test_backwards_the_car_turns_about_the_same_side(name: str) -> None:
    """Steered left and rolling backwards, the path bends to the left: the nose goes right."""
    car = vehicles.get(name)()
    run = solve_ivp(
        lambda t, y: np.array(car.derivative(car.State(*y), car.Input(steer=0.1))),
        (0.0, 0.2),
        np.array(record.build(car.State, v_x=-6.0, steer=0.1)),
        method="LSODA",
    )
    x = car.State(*run.y[:, -1])
    assert x.omega == pytest.approx(x.v_x * 0.1 / 1.5706, rel=0.05)


def test_kinematic_car_settles_on_its_no_slip_velocities() -> None:
    car = vehicles.kinematic_bicycle()
    x = car.model.settle(
        record.build(car.State, v_x=2.0, v_y=9.0, omega=-9.0, steer=0.3), car.params
    )
    assert x.omega == pytest.approx(2.0 * np.tan(0.3) / 1.5706)
    assert x.v_y == pytest.approx(0.7853 * x.omega)
    moved = car.derivative(x, car.Input(steer=0.3))
    off = x._replace(v_y=5.0, omega=5.0)
    assert car.derivative(off, car.Input(steer=0.3)) == moved


def test_a_larger_floor_of_the_speed_ends_the_chatter_at_rest_and_nothing_else() -> None:
    """RK4 at 1 ms; above the floor it is the same car."""
    calm, plain = vehicles.four_wheel(v_eps=0.15), vehicles.four_wheel()
    jitter = []
    for car in (calm, plain):
        sim = Simulator(car, dt=0.001, integrator="rk4")
        sim.reset(v_x=0.1, steer=0.1)
        v_y = sim.run({"steer": 0.1}, duration=1.0)["v_y"][-300:]
        jitter.append(np.abs(np.diff(v_y, 2)).max())
    assert jitter[0] < 1e-8 < jitter[1]
    x = plain.State(v_x=2.0, v_y=0.3, omega=0.4, steer=0.2)
    assert calm.derivative(x, calm.Input()) == plain.derivative(x, plain.Input())
