"""Driving straight, stopping, coasting and following commands beside closed forms."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import skidpad as sp
from skidpad.control.pid import Gains
from skidpad.sensors import Imu, Motion, Mounting
from skidpad.tyres import BrushTyre
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts import Friction
from skidpad.vehicles.wheeled import Control
from validation.rows.row import Row, compared
from vehicles.two_track_turns import FREE, LINEAR
from vehicles.wheeled.test_wheeled_motion import robot

G = 9.81
WHEELS = ("fl", "fr", "rl", "rr")


def coasting() -> Iterator[Row]:
    """m v' = -(a + b v + c v²), which a tangent solves."""
    for name in ("four_wheel", "kinematic_bicycle", "brains2"):
        car = sp.vehicles.get(name)()
        p, v_0, t = car.params, 15.0, 4.0
        q = math.sqrt(4.0 * p.C_r0 * p.C_r2 - p.C_r1**2)
        phi = math.atan((2.0 * p.C_r2 * v_0 + p.C_r1) / q)
        want = (q * math.tan(phi - q * t / (2.0 * p.m)) - p.C_r1) / (2.0 * p.C_r2)
        sim = sp.Simulator(car, dt=0.01)
        sim.reset(v_x=v_0)
        got = sim.run({}, duration=t)["v_x"][-1]
        quantity, source = "speed after coasting for 4 s from 15 m/s (m/s)", "closed form: tangent"
        yield compared(name, quantity, source, want, got, 1e-8)
    car = sp.vehicles.two_track(tyre=LINEAR, C_drag=2.0)
    p, R = car.params, LINEAR.carcass.radius
    sim = sp.Simulator(car, dt=0.01)
    sim.reset(v_x=40.0)
    got = sim.run({}, duration=5.0)["v_x"][-1]
    want = 1.0 / (1.0 / 40.0 + 5.0 / (p.m + 4.0 * p.I_w / R**2))
    quantity = "speed after coasting for 5 s from 40 m/s, air alone (m/s)"
    yield compared(car.name, quantity, "closed form: 1 / v grows linearly", want, got, 1e-4)


def braking() -> Iterator[Row]:
    """Locked wheels slide to rest over v² / (2 mu g); rolling ones by the torques."""
    car = sp.vehicles.two_track(tyre=BrushTyre(carcass=FREE), C_drag=0.0, brake_max=6000.0)
    car = car.with_params({"t_tau": 1e-3})
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=20.0, **{f"spin_{w}": 0.0 for w in WHEELS})
    run = sim.run({f"brake_{w}": 6000.0 for w in WHEELS}, duration=3.0)
    want, source = 20.0**2 / (2.0 * G), "closed form: v² / (2 mu g)"
    quantity = "distance to rest from 20 m/s on locked wheels (m)"
    yield compared(car.name, quantity, source, want, run["x"][-1], 5e-3)
    car = sp.vehicles.two_track(tyre=LINEAR, C_drag=0.0)
    p, R = car.params, LINEAR.carcass.radius
    torques = {"brake_fl": 700.0, "brake_fr": 700.0, "brake_rl": 250.0, "brake_rr": 250.0}
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=30.0)
    sim.run(torques, duration=1.0)
    out = car.outputs(sim.state, car.Input(**torques))
    want = -2.0 * (700.0 + 250.0) / R / (p.m + 4.0 * p.I_w / R**2)
    # Rims are slower than the car by their slip, 1 % here, and so are their changes.
    quantity, source = "deceleration of rolling wheels (m/s²)", "torques over mass with wheels"
    yield compared(car.name, quantity, source, want, out.a_x, 3e-3)
    # Wheels that slow down turn the car with what the road leaves of the torques.
    torque = R * (out.F_x_fl + out.F_x_fr + out.F_x_rl + out.F_x_rr) + 2.0 * (700.0 + 250.0)
    moved = (p.m * -out.a_x * p.z_cg + torque) / (p.l_f + p.l_r)
    want = p.m * G * p.l_r / (p.l_f + p.l_r) + moved
    quantity = "load of the front axle while braking (N)"
    source = "balance of moments, with the inertia of the wheels"
    yield compared(car.name, quantity, source, want, out.F_z_fl + out.F_z_fr, 1e-4)


def truck() -> Iterator[Row]:
    """A small truck under commands: distances of even decelerations, circles of curvature."""
    sim = sp.Simulator(sp.vehicles.ackermann_truck(), dt=0.001)
    p = sim.vehicle.params
    sim.reset(v_x=0.8)
    way = sim.run({"acceleration": 9.0}, duration=2.0)["x"][-1]
    want, source = 0.8**2 / (2.0 * p.d_max), "closed form: v² / (2 d)"
    yield compared("ackermann_truck", "stopping distance from 0.8 m/s (m)", source, want, way, 1e-5)
    sim.reset(v_x=0.0)
    run = sim.run({"velocity": 0.4, "curvature": 1.0}, duration=12.0)
    x, y = run["x_base"][-6000:], run["y_base"][-6000:]
    ones = np.ones_like(x)
    a, b, c = np.linalg.lstsq(np.stack([x, y, ones], 1), -(x * x + y * y), rcond=None)[0]
    radius = math.sqrt(0.25 * (a * a + b * b) - c)
    quantity, source = "radius under a curvature of 1 1/m (m)", "command: 1 / curvature"
    yield compared("ackermann_truck", quantity, source, 1.0, radius, 1e-6)


def robots() -> Iterator[Row]:
    """Robots that roll, and one whose wheels spin."""
    rolling = robot(control=Control("twist_pid", Gains(KP=30.0, KI=40.0)))
    sim = sp.Simulator(wheeled.vehicle(rolling), 0.005)
    for _ in range(3000):
        x = sim.step(v=0.8, omega=0.5)
    left, right = rolling.wheels[:2]
    want = (right.diameter * x.spin_right - left.diameter * x.spin_left) / 2.0
    want /= left.y - right.y
    name, source = "wheeled differential", "rolling: difference of the rims over the track"
    yield compared(name, "yaw rate at 0.8 m/s (rad/s)", source, want, x.omega, 1e-9)
    yield compared(name, "yaw rate held by its controller (rad/s)", "command", 0.5, x.omega, 1e-5)
    spinning = robot(control=Control("raw"), friction=Friction(mu=0.3, C_damping=0.0))
    sim = sp.Simulator(wheeled.vehicle(spinning), 0.005)
    for _ in range(100):
        x = sim.step(tau_left=50.0, tau_right=50.0)
    source = "all of the friction: mu g t"
    yield compared(
        name, "speed after 0.5 s of spinning wheels (m/s)", source, 0.15 * G, x.v_x, 1e-9
    )
    car = wheeled.ackermann(
        control=Control("front_steer_pid", Gains(KP=200.0, KI=50.0, max_torque=400.0))
    )
    sim = sp.Simulator(wheeled.vehicle(car), dt=0.005)
    for _ in range(4000):
        x = sim.step(v=1.0, steer=0.2)
    base = car.wheels[2].x - car.wheels[0].x
    source = "rolling: tan(steer) / L"
    ours = x.omega / x.v_x
    want = math.tan(0.2) / base
    yield compared("wheeled ackermann", "curvature at 0.2 rad (1/m)", source, want, ours, 5e-3)


def commands() -> Iterator[Row]:
    """A vehicle that is told a speed lags behind by its dead time and its time constant."""
    car = sp.vehicles.autoware("DELAY_STEER_VEL", {}, wheel_base=2.79, vel_rate_lim=1e3)
    p, t, dt = car.params, 1.0, 0.001
    sim = sp.Simulator(car, dt=dt)
    run = sim.run({"velocity": 2.0, "steer": 0.0}, duration=t)
    want = 2.0 * (1.0 - math.exp(-(t - p.vel_time_delay) / p.vel_time_constant))
    name, source = "autoware DELAY_STEER_VEL", "dead time and first-order lag, closed form"
    quantity = "speed 1 s after a step to 2 m/s (m/s)"
    yield compared(name, quantity, source, want, run["v_x"][-1], 1e-6)


def sensors() -> Iterator[Row]:
    """An inertial sensor off the centre of a steady circle, and on a slope."""
    v, radius, ahead, outside = 12.0, 30.0, 1.5, -0.7
    omega = v / radius
    circle = Motion(v_x=v, omega=omega, a_y=v * omega)
    seen = Imu(mounting=Mounting(x=ahead, y=outside)).measure(circle)
    quantity = "specific force across, 1.5 m ahead on a circle (m/s²)"
    source = "omega² times the radius of its own circle"
    yield compared("imu", quantity, source, omega**2 * (radius - outside), seen.f_y, 1e-12)
    slope = math.radians(8.0)
    seen = Imu().measure(Motion(a_x=1.7, pitch=-slope))
    quantity, source = "specific force along, 1.7 m/s² up a slope (m/s²)", "a + g sin(slope)"
    yield compared("imu", quantity, source, 1.7 + G * math.sin(slope), seen.f_x, 1e-9)
