"""`two_track` on springs, with compliant wheels and in the wind, against closed forms."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.tyres import Contact
from skidpad.vehicles.parts.air import Aerodynamics, AirShape, aero_map
from skidpad.vehicles.parts.chassis import (
    QuasiStatic,
    RollPitch,
    Suspension,
    roll_gradient,
    roll_levers,
    roll_stiffness,
    sprung_mass,
)
from skidpad.vehicles.parts.spinning_wheel import FirstOrderSlip
from skidpad.vehicles.parts.steering import LinearAlignment, SteeringWheel
from vehicles.two_track_turns import LINEAR, SENSITIVE, spinning_height, steady_turn

two_track = sp.vehicles.two_track
WHEELS = ("fl", "fr", "rl", "rr")
G = 9.81
SPRUNG = Suspension(
    h_rc_f=0.05, h_rc_r=0.12, bar_r=4000.0, anti_dive=0.3, anti_lift_r=0.2, anti_squat=0.4,
    anti_lift_f=0.1,
)  # fmt: skip


def four(value: Any, name: str) -> np.ndarray:
    return np.array([getattr(value, f"{name}_{wheel}") for wheel in WHEELS], dtype=float)


def settled(car: sp.Vehicle, **fields: float) -> Any:
    return car.model.settle(car.State(**fields), car.params)  # type: ignore[misc]


def understeer(car: sp.Vehicle, a_y: float = 0.1, v_x: float = 30.0) -> float:
    """Steering beyond that of a slow car on the same circle, per lateral acceleration."""
    base = car.params.l_f + car.params.l_r
    return (steady_turn(car, v_x, a_y).steer - math.atan(base * a_y / v_x**2)) / a_y


def axle_forces(car: sp.Vehicle, trail: float = 0.0) -> tuple[float, float]:
    """Lateral force of a wheel of each axle per lateral acceleration."""
    p = car.params
    half = 0.5 * p.m / (p.l_f + p.l_r)
    return half * (p.l_r + trail), half * (p.l_f - trail)


def test_a_body_on_springs_starts_sunk_by_its_downforce() -> None:
    """All of it is on the wheels, shared as by levers, and the body neither heaves nor pitches."""
    v, car = 60.0, two_track("race", chassis=RollPitch(Suspension(k_f=2e5, k_r=2e5)))
    x, p = settled(car, v_x=v), car.params
    out = car.outputs(x, car.Input())
    down = 0.5 * p.C_down * v * v
    assert down > p.m * G
    assert sum(four(out, "F_z")) == pytest.approx(p.m * G + down, rel=1e-3)
    front = p.m * G * p.l_r / (p.l_f + p.l_r) + p.down_front * down
    assert out.F_z_fl + out.F_z_fr == pytest.approx(front, rel=1e-3)
    rates = car.model.derivative(x, car.Input(), car.model.Disturbance(), p)  # type: ignore[misc]
    assert rates.heave_rate == pytest.approx(0.0, abs=1e-9)
    assert settled(car, v_x=v, heave=0.01).heave == 0.01


@pytest.mark.parametrize("toe", [(-0.2, 0.0), (0.0, 0.15), (-0.1, 0.3)])
def test_roll_steer_adds_to_understeer(toe: tuple[float, float]) -> None:
    """(rear - front) of toe by travel times half a track, times the roll gradient."""
    alignment = LinearAlignment(toe_by_travel_f=toe[0], toe_by_travel_r=toe[1])
    car = two_track(tyre=LINEAR, chassis=QuasiStatic(SPRUNG), alignment=alignment, C_drag=0.0)
    p = car.params
    per_roll = 0.5 * (toe[1] * p.track_r - toe[0] * p.track_f)
    rolls = roll_gradient(SPRUNG, p) * spinning_height(car, LINEAR.carcass.radius) / p.z_cg
    assert understeer(car) == pytest.approx(per_roll * rolls, rel=3e-3)


@pytest.mark.parametrize(
    ("field", "sign"), [("toe_by_F_y_f", -1.0), ("toe_by_F_y_r", 1.0)], ids=["front", "rear"]
)
def test_lateral_compliance_adds_to_understeer(field: str, sign: float) -> None:
    """A wheel that turns by c per N into the turn takes c F_y from the steering in front, and adds
    as much behind."""
    c = 4e-6
    car = two_track(tyre=LINEAR, alignment=LinearAlignment(**{field: c}), C_drag=0.0)
    front, rear = axle_forces(car)
    want = sign * c * (front if field.endswith("f") else rear)
    assert understeer(car) == pytest.approx(want, rel=3e-3)


def test_compliance_of_the_steering_adds_to_understeer() -> None:
    """The aligning moment, force times trail, turns the front wheels out by its compliance."""
    c, trail = 2e-4, 0.04
    stiff, soft = (
        two_track(
            tyre=LINEAR._replace(trail=trail),
            alignment=LinearAlignment(toe_by_M_z_f=by),
            C_drag=0.0,
        )
        for by in (0.0, c)
    )
    want = c * trail * axle_forces(soft, trail)[0]
    assert understeer(soft) - understeer(stiff) == pytest.approx(want, rel=3e-3)


def test_leaning_wheels_push_less_than_upright_ones() -> None:
    """Tops that lean out of the turn push out of it: camber thrust of a tyre of a file."""
    tyre = sp.tyres.get("passenger_car")
    forces = []
    for gain in (0.0, -2.0 / 1.389888):
        alignment = LinearAlignment(camber_by_travel_f=gain)
        car = two_track(tyre=tyre, chassis=RollPitch(SPRUNG), alignment=alignment)
        x = settled(car, v_x=25.0, steer=0.03, roll=0.05)
        forces.append(four(car.outputs(x, car.Input()), "F_y")[:2].sum())
    assert forces[0] < forces[1]


def test_loads_of_a_steady_turn_by_hand() -> None:
    """Each axle gets its stiffness times the roll and its part past the springs, over its track."""
    car = two_track(tyre=SENSITIVE, chassis=QuasiStatic(SPRUNG), C_drag=0.0)
    p, turn = car.params, steady_turn(car, 25.0, 4.0)
    out = car.outputs(turn.x, car.Input(steer=turn.steer), turn.w)
    # The spin of the wheels yaws with the car, as if the tyres pushed so much more.
    gyro = p.I_w * four(turn.x, "spin").sum() * turn.x.omega
    a_y = 4.0 + gyro / (p.m * p.z_cg)
    loads, roll = four(out, "F_z"), a_y * roll_gradient(SPRUNG, p)
    (K_f, K_r), (G_f, G_r) = roll_stiffness(SPRUNG, p), roll_levers(SPRUNG, p)
    want = [(K_f * roll + a_y * G_f) / p.track_f, (K_r * roll + a_y * G_r) / p.track_r]
    shift = 0.5 * np.array([loads[1] - loads[0], loads[3] - loads[2]])
    assert shift == pytest.approx(want, rel=1e-6)
    body = sprung_mass(SPRUNG, p)
    across = p.track_f * shift[0] + p.track_r * shift[1]
    want = p.m * 4.0 * p.z_cg + gyro + body.m * G * body.arm * roll
    assert across == pytest.approx(want, rel=1e-6)
    assert out.roll == pytest.approx(roll, rel=1e-6)


def test_a_body_that_moves_comes_to_the_turn_of_one_in_balance() -> None:
    """The same steering, loads and forces; and the roll of the closed form."""
    turns = []
    alignment = LinearAlignment(toe_by_travel_f=-0.1, toe_by_F_y_r=1e-6)
    for chassis in (QuasiStatic(SPRUNG), RollPitch(SPRUNG)):
        car = two_track(tyre=SENSITIVE, chassis=chassis, alignment=alignment)
        turn = steady_turn(car, 25.0, 5.0)
        turns.append((turn, car.outputs(turn.x, car.Input(steer=turn.steer), turn.w)))
    (still, out), (moving, out_moving) = turns
    assert moving.steer == pytest.approx(still.steer, rel=1e-7)
    assert four(out_moving, "F_z") == pytest.approx(four(out, "F_z"), rel=1e-7)
    assert four(out_moving, "F_y") == pytest.approx(four(out, "F_y"), rel=1e-7)
    p = two_track(chassis=RollPitch(SPRUNG)).params
    gyro = p.I_w * four(moving.x, "spin").sum() * moving.x.omega
    want = (5.0 + gyro / (p.m * p.z_cg)) * roll_gradient(SPRUNG, p)
    assert moving.x.roll == pytest.approx(want, rel=1e-4)  # the tyres push 5 m/s² to 1e-4


def test_springs_and_share_alike_are_the_same_car() -> None:
    """Without roll centres, unsprung mass and gravity of the leaning body, the share of stiffness
    is `roll_front`: here with springs so stiff that the body hardly leans."""
    s = Suspension(m_u_f=0.0, m_u_r=0.0, k_f=3e9, k_r=2e9, bar_f=0.0)
    car = two_track(chassis=QuasiStatic(s))
    K_f, K_r = roll_stiffness(s, car.params)
    plain = two_track(roll_front=K_f / (K_f + K_r))
    x = settled(plain, v_x=20.0, steer=0.05, load_a_x=-2.0, load_a_y=4.0)
    loads = [four(each.outputs(x, plain.Input()), "F_z") for each in (car, plain)]
    assert loads[0] == pytest.approx(loads[1], rel=1e-5)


def test_the_nose_dives_by_what_the_links_leave() -> None:
    """Front and rear compress by (1 - anti) m a h / (2 k L); the deceleration still changes with
    the slip, by some thousandths within the springs."""
    car = two_track(tyre=LINEAR, chassis=RollPitch(SPRUNG), slip=FirstOrderSlip(), C_drag=0.0)
    p = car.params
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=40.0)
    u = {"brake_fl": 800.0, "brake_fr": 800.0, "brake_rl": 250.0, "brake_rr": 250.0}
    sim.run(u, duration=3.0)
    x = sim.state
    base = p.l_f + p.l_r
    moved = -p.m * car.outputs(x, car.Input(**u)).a_x * p.z_cg / base
    # The reaction of the wheels turns the body itself, past no link.
    turned = -p.I_w * four(car.derivative(x, car.Input(**u)), "spin").sum() / base
    assert turned > 0.02 * moved
    travel = p.chassis.travel(x, p)
    assert travel.front == pytest.approx((0.7 * moved + turned) / (2.0 * SPRUNG.k_f), rel=3e-3)
    assert travel.rear == pytest.approx(-(0.8 * moved + turned) / (2.0 * SPRUNG.k_r), rel=3e-3)
    assert x.pitch > 0.0


def test_natural_frequencies_of_a_car_on_ice() -> None:
    """On tyres without stiffness the body swings as if nobody held it from below."""
    free = LINEAR._replace(C_x=1e-9, C_y=1e-9)
    car = two_track(tyre=free, chassis=RollPitch(SPRUNG, c_f=0.0, c_r=0.0), C_drag=0.0)
    p, body = car.params, sprung_mass(SPRUNG, car.params)
    modes = np.linalg.eigvals(car.linearise_continuous(settled(car, v_x=20.0), car.Input()).A)
    leaning = body.m * body.arm
    inertia = p.chassis.I_x + leaning * body.arm * (1.0 - body.m / p.m)
    # Wheels that turn make a gyroscope of the car: a body that rolls yaws, and is held by it.
    spin = p.I_w * four(settled(car, v_x=20.0), "spin").sum() * leaning / (p.m * p.z_cg)
    roll = math.sqrt((sum(roll_stiffness(SPRUNG, p)) - leaning * G + spin**2 / p.I_z) / inertia)
    k_f, k_r = 2.0 * SPRUNG.k_f, 2.0 * SPRUNG.k_r
    K = np.array(
        [
            [(k_f + k_r) / body.m, (k_r * body.l_r - k_f * body.l_f) / body.m],
            [
                (k_r * body.l_r - k_f * body.l_f) / p.chassis.I_y,
                (k_f * body.l_f**2 + k_r * body.l_r**2) / p.chassis.I_y,
            ],
        ]
    )
    for want in (roll, *np.sqrt(np.linalg.eigvals(K))):
        assert np.abs(modes - 1j * want).min() < 1e-6 * want


def energy_rate(car: sp.Vehicle, x: Any, u: Any) -> float:
    """Time derivative of the energy along the motion."""
    assert car.model.energy is not None
    z: Any = ca.SX.sym("x", record.size(car.State))
    symbols = record.unflatten(car.State, ca.vertsplit(z))
    gradient = ca.gradient(ca.SX(car.model.energy(symbols, car.params)), z)
    slope = np.array(ca.Function("slope", [z], [gradient])(record.flatten(x))).ravel()
    return float(slope @ np.array(record.flatten(car.derivative(x, u))))


@pytest.mark.slow
def test_power_in_is_what_is_stored_and_what_is_lost() -> None:
    """Drive, sliding at the patches that rolling and pitching move, aligning, air and dampers."""
    car = two_track(tyre=SENSITIVE, chassis=RollPitch(SPRUNG))
    p, u = car.params, car.Input(steer=0.05, tau_fl=500.0, tau_fr=500.0)
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=20.0)
    for _ in range(4):
        sim.run(u._asdict(), duration=0.11)
        x = sim.state
        out, v = car.outputs(x, u), p.chassis.carried(x, p)[0]
        assert abs(x.roll_rate) + abs(x.pitch_rate) > 1e-4
        forward = np.array([p.l_f, p.l_f, -p.l_r, -p.l_r])
        left = 0.5 * np.array([p.track_f, -p.track_f, p.track_r, -p.track_r])
        velocity = v.x - left * x.omega + 1j * (v.y + forward * x.omega)
        velocity *= np.exp(-1j * np.array([out.steer_fl, out.steer_fr, 0.0, 0.0]))
        spin, F_x, F_y = four(x, "spin"), four(out, "F_x"), four(out, "F_y")
        at = (Contact(F_z=F, omega=s) for F, s in zip(four(out, "F_z"), spin, strict=True))
        R = np.array([SENSITIVE.radii(contact).effective for contact in at])
        power = four(x, "tau") @ spin + F_x @ (velocity.real - R * spin) + F_y @ velocity.imag
        power += four(out, "M_z").sum() * x.omega - 0.5 * p.C_drag * x.v_x**3
        loss = p.chassis.loss(x, p)
        assert loss > 0.0
        assert energy_rate(car, x, u) == pytest.approx(power - loss, rel=1e-10)


def test_drag_and_its_height_at_constant_speed() -> None:
    """All of h D / L goes to the rear: with the tyres that push against it."""
    air = Aerodynamics(rho=1.25, A=2.2, c_x=0.4, h=0.8)
    car = two_track(tyre=LINEAR, air=air)
    p, drag = car.params, 0.5 * 1.25 * 2.2 * 0.4 * 1600.0
    x = settled(car, v_x=40.0, load_a_x=drag / p.m)
    front, rear = np.add.reduceat(four(car.outputs(x, car.Input()), "F_z"), [0, 2])
    base = p.l_f + p.l_r
    assert front == pytest.approx(p.m * G * p.l_r / base - 0.8 * drag / base, rel=1e-9)
    assert rear == pytest.approx(p.m * G * p.l_f / base + 0.8 * drag / base, rel=1e-9)
    assert car.derivative(x, car.Input()).v_x == pytest.approx(-drag / p.m, rel=1e-6)


def test_wind_is_a_disturbance() -> None:
    """A car that rolls with the wind feels none; the default is calm."""
    car = two_track(tyre=LINEAR, air=Aerodynamics(c_x=0.5, c_y=1.0), slip=FirstOrderSlip())
    sim = sp.Simulator(car, dt=0.005)
    sim.disturb(wind_x=0.0, wind_y=12.0)
    sim.reset(v_x=12.0, yaw=0.5 * math.pi)
    assert sim.run({}, duration=1.0)["v_x"][-1] == pytest.approx(12.0, abs=1e-6)
    aside = car.derivative(car.State(), car.Input(), car.model.Disturbance(wind_y=12.0))
    assert aside.v_y == pytest.approx(0.5 * 1.2 * 2.0 * 144.0 / car.params.m, rel=1e-6)


def test_a_body_sinks_to_where_its_downforce_holds_it() -> None:
    """Downforce that grows as the car comes down: at rest both ends of the springs agree."""
    heights = (0.0, 0.2)
    down = [[3.0, 3.0], [1.0, 1.0]], [[2.0, 1.0], [2.0, 1.0]]
    shape = AirShape(ride_f=0.1, ride_r=0.12, h=0.3)
    air = aero_map(heights, heights, [[0.8, 0.8], [0.8, 0.8]], *down, shape)
    car = two_track(tyre=LINEAR, chassis=RollPitch(SPRUNG), air=air)
    p = car.params
    turn = steady_turn(car, 40.0, 1e-9)
    front, rear = p.chassis.travel(turn.x, p)[1:3]
    pressing, base = 0.5 * 1.2 * 1600.0, p.l_f + p.l_r
    drag = 0.8 * pressing
    tipped = drag * (0.3 - p.z_cg) / base
    pushed = p.m * turn.x.load_a_x * p.z_cg / base
    links = (0.2, 0.3)  # at no push of the tyres the middle between braking and driving
    want_f = pressing * (3.0 - 10.0 * (0.1 - front)) - tipped - (1.0 - links[0]) * pushed
    want_r = pressing * (2.0 - 5.0 * (0.12 - rear)) + tipped + (1.0 - links[1]) * pushed
    assert abs(pushed) < 1e-3
    assert 2.0 * SPRUNG.k_f * front == pytest.approx(want_f, rel=1e-6)
    assert 2.0 * SPRUNG.k_r * rear == pytest.approx(want_r, rel=1e-6)
    assert front > 0.005


def test_a_steering_wheel_in_front_of_a_gear() -> None:
    """The same motion for an input that is larger by the ratio, and a body that knows it."""
    direct, geared = two_track(), two_track(steering=SteeringWheel(ratio=15.0))
    x = settled(direct, v_x=20.0)
    a = direct.derivative(x, direct.Input(steer=0.02))
    b = geared.derivative(x, geared.Input(steer=0.3))
    assert record.flatten(a) == pytest.approx(record.flatten(b), rel=1e-12, abs=1e-12)
    demand = sp.Demand(steer=0.1)
    assert geared.body.command(x, demand, geared.params).steer == pytest.approx(1.5)
    assert geared.limits.steer_max == direct.limits.steer_max
    assert geared.limits.inputs["steer"] == pytest.approx((-9.0, 9.0))
