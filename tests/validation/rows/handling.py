"""Lateral motion of cars beside the linear theory of the books, from exact derivatives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import brentq, fsolve

import skidpad as sp
from skidpad.study.manoeuvres.subject import linear_car
from skidpad.tyres import LinearTyre, LoadSensitiveTyre
from skidpad.vehicles.parts.spinning_wheel import SteadySlip
from validation.rows.row import Row, compared
from vehicles.test_trailers_handling import EVEN, RAILS, linear, modes, towing
from vehicles.two_track_turns import FREE, LINEAR, SENSITIVE, steady_turn

G = 9.81
BICYCLE = "linear single track (Riekert and Schunck 1940)"
GRADIENT = "W_f / C_f - W_r / C_r per g, closed form"
K_US = "understeer gradient (rad s²/m)"


def axle_stiffness(tyre: LoadSensitiveTyre, load: float) -> float:
    """Of two tyres that carry a load: 2 K sin(2 atan(F_z / F_K)), Pacejka eq. 4.E25."""
    law = tyre.lateral
    return 2.0 * law.K * math.sin(2.0 * math.atan(0.5 * load / law.F_K))


def stiffnesses(p: Any, tyre: LoadSensitiveTyre) -> tuple[float, float]:
    """Of the front and the rear axle of a car on these tyres."""
    per_arm = p.m * G / (p.l_f + p.l_r)
    return axle_stiffness(tyre, per_arm * p.l_r), axle_stiffness(tyre, per_arm * p.l_f)


def bicycle(p: Any, C_f: float, C_r: float, v: float, I_z: float) -> tuple[Any, Any]:
    """Matrices of v_y and omega, and of the angle of the front wheels."""
    turning = p.l_f * C_f - p.l_r * C_r
    A = np.array(
        [
            [-(C_f + C_r) / (p.m * v), -turning / (p.m * v) - v],
            [-turning / (I_z * v), -(p.l_f**2 * C_f + p.l_r**2 * C_r) / (I_z * v)],
        ]
    )
    return A, np.array([C_f / p.m, p.l_f * C_f / I_z])


def single_track() -> Iterator[Row]:
    """Gradient, gains, frequency and damping of the nonlinear bicycle at small slip."""
    car = sp.vehicles.single_track(tyre=SENSITIVE, C_drag=0.0)
    p, v = car.params, 25.0
    C_f, C_r = stiffnesses(p, SENSITIVE)
    L = p.l_f + p.l_r
    K = p.m / L * (p.l_r / C_f - p.l_f / C_r)
    theory = linear_car(car, v)
    own = theory.bicycle
    yield compared(car.name, K_US, GRADIENT, K, own.understeer_gradient, 1e-5)
    v_ch, source = math.sqrt(L / K), "sqrt(L / K), closed form"
    yield compared(
        car.name, "characteristic speed (m/s)", source, v_ch, own.characteristic_speed, 1e-5
    )
    A, b = bicycle(p, C_f, C_r, v, p.I_z)
    v_y, omega = -np.linalg.solve(A, b)
    gains = theory.gains
    yield compared(car.name, "yaw gain at 25 m/s (1/s)", BICYCLE, omega, gains["omega"], 1e-6)
    yield compared(
        car.name, "sideslip gain at 25 m/s (1)", BICYCLE, v_y / v, gains["v_y"] / v, 1e-5
    )
    mode, found = _slow_pair(theory.poles, np.linalg.eigvals(A))
    yield from _modes(car.name, v, BICYCLE, mode, found, 1e-6)


def _slow_pair(poles: Any, wanted: Any) -> tuple[complex, complex]:
    """The oscillating mode of theory and the one of the car that is nearest."""
    want = complex(max(wanted, key=lambda mode: mode.imag))
    return want, complex(poles[np.argmin(np.abs(poles - want))])


def _modes(
    name: str, v: float, source: str, want: complex, got: complex, tolerance: float
) -> Iterator[Row]:
    quantity = f"natural frequency of yaw at {v:g} m/s (rad/s)"
    yield compared(name, quantity, source, abs(want), abs(got), tolerance)
    quantity, damping = f"damping ratio of yaw at {v:g} m/s (1)", -got.real / abs(got)
    yield compared(name, quantity, source, -want.real / abs(want), damping, tolerance)


def two_track() -> Iterator[Row]:
    """Steady turns and modes of the car on four spinning wheels."""
    for C_f in (14.0, 22.0):
        car = sp.vehicles.two_track(front=LINEAR._replace(C_y=C_f), rear=LINEAR, C_drag=0.0)
        want = (1.0 / C_f - 1.0 / LINEAR.C_y) / G
        quantity = f"{K_US}, front tyres with {C_f:g} F_z/rad"
        yield compared(car.name, quantity, GRADIENT, want, _understeer(car, 0.02), 1e-4)
    v = 30.0
    car = sp.vehicles.two_track(tyre=SENSITIVE, C_drag=0.0)
    p, (C_f, C_r) = car.params, stiffnesses(car.params, SENSITIVE)
    want = p.m / (p.l_f + p.l_r) * (p.l_r / C_f - p.l_f / C_r)
    quantity = f"{K_US}, tyres with load sensitivity"
    yield compared(car.name, quantity, GRADIENT, want, _understeer(car, 0.02), 1e-4)
    # Turning it turns its wheels: those of a side speed up, those of the other slow down.
    I_z = p.I_z + p.I_w * 0.5 * (p.track_f**2 + p.track_r**2) / SENSITIVE.carcass.radius**2
    A, _ = bicycle(p, C_f, C_r, v, I_z)
    want, got = _slow_pair(linear_car(car, v).poles, np.linalg.eigvals(A))
    yield from _modes(car.name, v, "linear two-track, wheels as yaw inertia", want, got, 2e-3)
    yield from _loads_of_a_turn(car)


def _understeer(car: sp.Vehicle, a_y: float, v: float = 30.0) -> float:
    """Angle beyond that of a slow car on the same circle, per lateral acceleration."""
    p = car.params
    return (steady_turn(car, v, a_y).steer - math.atan((p.l_f + p.l_r) * a_y / v**2)) / a_y


def _loads_of_a_turn(car: sp.Vehicle) -> Iterator[Row]:
    """Load transfer of a steady turn: moments about the ground."""
    p, a_y = car.params, 4.0
    turn = steady_turn(car, 25.0, a_y)
    out = car.outputs(turn.x, car.Input(steer=turn.steer), turn.w)
    moved = 0.5 * (p.track_f * (out.F_z_fr - out.F_z_fl) + p.track_r * (out.F_z_rr - out.F_z_rl))
    quantity = "moment of the loads in a turn with 4 m/s² (N m)"
    source = "balance of moments: m a_y h and gyroscopic moments"
    spins = turn.x.spin_fl + turn.x.spin_fr + turn.x.spin_rl + turn.x.spin_rr
    want = p.m * a_y * p.z_cg + p.I_w * spins * turn.x.omega
    yield compared(car.name, quantity, source, want, moved, 1e-6)


def full_car() -> Iterator[Row]:
    """The car with 14 degrees of freedom in a slow turn."""
    tyres = {
        side: LinearTyre(C_y=C_y, trail=0.0, carcass=FREE)
        for side, C_y in (("front", 14.0), ("rear", 20.0))
    }
    car = sp.vehicles.full_car(slip=SteadySlip(), C_drag=0.0, **tyres)
    want = (1.0 / 14.0 - 1.0 / 20.0) / G
    yield compared(car.name, K_US, GRADIENT, want, _understeer(car, 0.02), 1e-4)


def formula_student() -> Iterator[Row]:
    """Equal axle loads and tyres: what is left of the gradient is the trail of the tyres."""
    rolling = {"tyres.tyre.carcass.rolling": 0.0, "C_drag": 0.0, "tyres.tyre.carcass.C_z": 1e9}
    car = sp.vehicles.formula_student(rolling)
    p, v = car.params, 15.0
    tyre = p.tyres.tyre
    C = tyre.lateral.B * tyre.lateral.C * tyre.lateral.D * 0.5 * (p.m * G + 0.5 * p.C_down * v * v)
    want = p.m / (p.l_f + p.l_r) * ((p.l_r + tyre.trail) / C - (p.l_f - tyre.trail) / C)
    own = linear_car(car, v).bicycle.understeer_gradient
    source = "m / L ((l_r + t) / C_f - (l_f - t) / C_r) under downforce, closed form"
    yield compared(car.name, f"{K_US} at 15 m/s", source, want, own, 1e-6)


def brains2_family() -> Iterator[Row]:
    """Tyres in proportion to load make a neutral car, however the weight is shared."""
    free = {"C_r0": 0.0, "C_r1": 0.0, "C_r2": 0.0, "C_down": 0.0, "l_f": 0.87, "l_r": 0.70}
    car = sp.vehicles.four_wheel(free)
    p, v, L = car.params, 15.0, 1.57
    per_load = p.tyre.B * p.tyre.C * p.tyre.D
    gains = linear_car(car, v).gains
    source = "neutral steer: v / L"
    yield compared(car.name, "yaw gain at 15 m/s (1/s)", source, v / L, gains["omega"], 1e-6)
    want = p.l_r / L - v * v / (L * per_load * p.g)
    source = "neutral steer: l_r / L - v² / (L B C D g)"
    yield compared(car.name, "sideslip gain at 15 m/s (1)", source, want, gains["v_y"] / v, 1e-5)
    swapped = sp.vehicles.brains2(free)
    want = (p.l_r / p.l_f - p.l_f / p.l_r) / (per_load * p.g)
    K = linear_car(swapped, v).bicycle.understeer_gradient
    source = "swapped load shares: (l_r / l_f - l_f / l_r) / (B C D g)"
    yield compared(swapped.name, K_US, source, want, K, 1e-5)
    rolls = sp.vehicles.kinematic_bicycle()
    p, steer = rolls.params, 0.3
    x = rolls.model.settle(rolls.State(v_x=3.0, steer=steer), p)
    want = 3.0 * math.tan(steer) / (p.l_f + p.l_r)
    quantity, source = "yaw rate at 3 m/s and 0.3 rad (rad/s)", "rolling without slip: v tan / L"
    rate = rolls.derivative(x, rolls.Input(steer=steer)).yaw
    yield compared(rolls.name, quantity, source, want, rate, 1e-12)


def commonroad() -> Iterator[Row]:
    """Steady turns of its single tracks: stiffness over load at each axle."""
    v, steer = 20.0, 1e-4
    source = "(1 / C_f - 1 / C_r) / g, closed form"
    st = sp.vehicles.commonroad_st(C_f=18.0)
    p = st.params

    def slipping(z: Any) -> list[float]:
        rate = st.derivative(st.State(v=v, beta=z[0], omega=z[1], steer=steer), st.Input())
        return [rate.beta, rate.omega]

    omega = float(fsolve(slipping, [0.0, 0.0], xtol=1e-11)[1])
    want = (1.0 / p.C_f - 1.0 / p.C_r) / G
    yield _gradient(st, v, steer, omega, want, source)
    db = sp.vehicles.commonroad_dynamic_bicycle(C_f=18.0)
    p = db.params

    def drifting(z: Any) -> list[float]:
        rate = db.derivative(db.State(v_x=v, v_y=z[0], omega=z[1], steer=steer), db.Input())
        return [rate.v_y, rate.omega]

    omega = float(fsolve(drifting, [0.0, 0.0], xtol=1e-10)[1])
    want = (1.0 / p.C_f - 1.0 / p.C_r) / G
    yield _gradient(db, v, steer, omega, want, source)


def _gradient(
    car: sp.Vehicle, v: float, steer: float, omega: float, want: float, source: str
) -> Row:
    L = car.params.l_f + car.params.l_r
    return compared(car.name, K_US, source, want, (steer - L * omega / v) / (v * omega), 1e-4)


def trailers() -> Iterator[Row]:
    """Car and trailer beside the linear model with four states."""
    car = towing(EVEN, l_cg=4.15, I_z=6000.0)
    critical = float(brentq(lambda v: linear(car, v).growth, 10.0, 60.0))  # pyright: ignore[reportArgumentType]
    snaking = max(linear(car, critical).modes, key=lambda mode: mode.real)

    def growth(v: float) -> float:
        own = modes(car, v)
        return float(own[np.argmin(np.abs(own - snaking))].real)

    name = "two_track with a trailer"
    source = "linear car and trailer, four states"
    ours = float(brentq(growth, 0.9 * critical, 1.1 * critical))  # pyright: ignore[reportArgumentType]
    yield compared(name, "critical speed of snaking (m/s)", source, critical, ours, 1e-5)
    found = modes(car, critical)
    ours = found[np.argmin(np.abs(found - snaking))].imag
    quantity = "frequency of snaking (rad/s)"
    yield compared(name, quantity, source, abs(snaking.imag), abs(ours), 1e-5)
    rails = towing(RAILS)
    want = 4.0 / rails.params.trailers.first.l_axle
    own = modes(rails, -4.0)
    ours = own[np.argmin(np.abs(own - want))].real
    quantity = "jack-knifing rate in reverse at 4 m/s (1/s)"
    yield compared(name, quantity, "geometry: v / L", want, ours, 2e-3)
