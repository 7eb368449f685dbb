"""Pure pursuit and Stanley's law against their closed forms."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from control.roads import KINEMATIC, circle, straight
from skidpad.control import pure_pursuit, stanley
from skidpad.control.car import Geometry, Motion, car_of, front_axle, rear_axle
from skidpad.control.path_following import View, heading_error, locate, locate_along
from skidpad.control.reference import Point
from skidpad.errors import InvalidValue
from skidpad.vehicles import four_wheel

G = Geometry(l_f=1.156, l_r=1.422)
BASE = G.l_f + G.l_r


def rear_at(x: float, y: float, yaw: float, v: float = 10.0) -> Motion:
    """A car whose rear axle is at a place."""
    return Motion(x + G.l_r * math.cos(yaw), y + G.l_r * math.sin(yaw), yaw, v, 0.0)


@given(
    radius=st.floats(5.0, 500.0),
    side=st.sampled_from([-1.0, 1.0]),
    begin=st.floats(-3.0, 3.0),
    ahead=st.floats(0.2, 2.5),
)
def test_on_a_circle_pure_pursuit_steers_the_circle(
    radius: float, side: float, begin: float, ahead: float
) -> None:
    """Whatever the distance to the goal."""
    kappa = side / radius
    motion = rear_at(radius * math.sin(begin), kappa**-1 * (1 - math.cos(begin)), side * begin)
    end = begin + ahead
    goal = Point(radius * math.sin(end), kappa**-1 * (1 - math.cos(end)))
    view = View(motion, 0.0, locate(goal, 0.0, 0.0), lambda _: goal)
    p = pure_pursuit.LookAhead(l_least=1e-3)
    assert pure_pursuit.steer(p, G, view) == pytest.approx(math.atan(BASE * kappa), rel=1e-9)


def test_the_curvature_of_a_near_goal_is_bounded() -> None:
    assert pure_pursuit.arc(0.0, 0.1, 2.0) == pytest.approx(0.05)
    assert pure_pursuit.arc(0.0, 0.0, 2.0) == 0.0


@given(
    x=st.floats(-40, 40),
    y=st.floats(-9, 9),
    kappa=st.floats(1e-6, 0.05).flatmap(lambda k: st.sampled_from([k, -k])),
)
def test_seen_from_a_touching_circle(x: float, y: float, kappa: float) -> None:
    point = Point(3.0, -1.0, 0.4, kappa, 7.0, 0.5)
    c, s = math.cos(0.4), math.sin(0.4)
    seen = locate(point, 3.0 + c * x - s * y, -1.0 + s * x + c * y)
    centre = math.hypot(x, y - 1.0 / kappa)
    assume(centre > 0.2 / abs(kappa) and kappa * y < 0.9)
    wanted = math.copysign(1.0, kappa) * (1.0 / abs(kappa) - centre)
    assert seen.left == pytest.approx(wanted, abs=1e-8)
    angle = math.atan2(kappa * x, 1.0 - kappa * y)
    assert seen.heading == pytest.approx(0.4 + angle, abs=1e-9)
    assert (seen.v, seen.a) == (7.0, 0.5)


def test_seen_from_a_straight() -> None:
    seen = locate(Point(heading=math.pi / 2), -1.5, 4.0)
    assert (seen.ahead, seen.left) == (pytest.approx(4.0), pytest.approx(1.5))
    assert seen.heading == math.pi / 2


def test_progress_goes_to_the_foot() -> None:
    road = circle(20.0, 8.0)
    table = road.table(80)
    progress = 0.0
    for s in np.linspace(0.0, 60.0, 61):
        at = road.at_distance(s)
        x, y = at.x - 0.8 * math.sin(at.heading), at.y + 0.8 * math.cos(at.heading)
        seen, progress = locate_along(table, progress, x, y)
    assert progress == pytest.approx(60.0, abs=0.01)
    assert seen.left == pytest.approx(0.8, abs=0.01)
    assert seen.heading == pytest.approx(3.0, abs=1e-3)


def test_heading_error_is_the_short_way_round() -> None:
    assert heading_error(3.1, -3.1) == pytest.approx(6.2 - math.tau)
    assert heading_error(7 * math.pi + 0.1, math.pi) == pytest.approx(0.1)


def stanley_steer(p: stanley.Gains, line: Point, x: float, y: float, yaw: float, v: float) -> float:
    """The angle at which law and rolling agree: the law looks at the speed of the front axle."""
    steer = 0.0
    for _ in range(12):
        motion = Motion(x, y, yaw, v, v * G.l_r * math.tan(steer) / BASE)
        view = View(motion, v * math.tan(steer) / BASE, locate(line, *front_axle(motion, G)), None)  # type: ignore[arg-type]
        steer = stanley.steer(p, G, view)
    return steer


@pytest.mark.parametrize("kappa", [0.0, 0.02, -0.03])
@pytest.mark.parametrize(("left", "turned"), [(0.5, 0.0), (-2.0, 0.2), (0.1, -0.3)])
def test_the_offset_of_the_front_axle_falls_as_published(
    kappa: float, left: float, turned: float
) -> None:
    """e' = -v sin(atan(k e / (k_soft + v))), v being the speed of the front axle."""
    p, v = stanley.Gains(k=2.5, k_soft=1.0, k_yaw=0.0), 8.0
    line = Point(0.0, 0.0, 0.0, kappa)
    steer = stanley_steer(p, line, 0.0, left, turned, v)
    rates = (
        v * math.cos(turned) - v * G.l_r * math.tan(steer) / BASE * math.sin(turned),
        v * math.sin(turned) + v * G.l_r * math.tan(steer) / BASE * math.cos(turned),
        v * math.tan(steer) / BASE,
    )
    h = 1e-6
    offsets = []
    for t in (-h, h):
        x, y, yaw = rates[0] * t, left + rates[1] * t, turned + rates[2] * t
        offsets.append(locate(line, x + G.l_f * math.cos(yaw), y + G.l_f * math.sin(yaw)).left)
    falling = (offsets[1] - offsets[0]) / (2.0 * h)
    v_front = v / math.cos(steer)
    e = 0.5 * (offsets[0] + offsets[1])
    assert falling == pytest.approx(-v_front * math.sin(math.atan(2.5 * e / (1.0 + v_front))), 1e-5)


@pytest.mark.parametrize(("v", "kappa"), [(3.0, 0.0), (12.0, 0.0), (12.0, 0.01)])
def test_a_small_offset_dies_out_exponentially(v: float, kappa: float) -> None:
    p, line = stanley.Gains(k=2.0, k_soft=1e-9, k_yaw=0.0), Point(0.0, 0.0, 0.0, kappa)
    yaw = -math.asin(G.l_f * kappa)
    x, y, dt = -G.l_f * math.cos(yaw), 0.05 - G.l_f * math.sin(yaw), 1e-3
    offsets = []
    for _ in range(1001):
        offsets.append(locate(line, x + G.l_f * math.cos(yaw), y + G.l_f * math.sin(yaw)).left)
        steer = stanley_steer(p, line, x, y, yaw, v)
        omega = v * math.tan(steer) / BASE
        v_y, half = G.l_r * omega, yaw + 0.5 * dt * omega
        x += dt * (v * math.cos(half) - v_y * math.sin(half))
        y += dt * (v * math.sin(half) + v_y * math.cos(half))
        yaw += dt * omega
    for k in (250, 500, 1000):
        assert offsets[k] == pytest.approx(offsets[0] * math.exp(-2.0 * k * dt), rel=0.01)


def test_stanley_softens_at_standstill() -> None:
    view = View(Motion(0.0, 1.0, 0.0, 0.0, 0.0), 0.0, locate(Point(), G.l_f, 1.0), None)  # type: ignore[arg-type]
    p = stanley.Gains(k=2.5, k_soft=1.0, k_yaw=0.0)
    assert stanley.steer(p, G, view) == pytest.approx(-math.atan(2.5), abs=1e-3)


def test_stanleys_additions_have_their_signs() -> None:
    """More yaw rate than the line asks for steers back, slip of the tyres steers in."""
    line = Point(curvature=0.02)
    motion = Motion(-G.l_f, 0.0, 0.0, 10.0, 0.0)
    view = View(motion, 0.3, locate(line, 0.0, 0.0), None)  # type: ignore[arg-type]
    plain, damped, slipping = (
        stanley.steer(stanley.Gains(**more), G, view)
        for more in ({"k_yaw": 0.0}, {"k_yaw": 0.5}, {"k_yaw": 0.0, "k_ag": 0.004})
    )
    assert damped - plain == pytest.approx(-0.5 * (0.3 - 0.2))
    assert slipping - plain == pytest.approx(0.004 * 10.0 * 0.2)


@pytest.mark.parametrize("law", [pure_pursuit, stanley])
def test_mirror(law: object) -> None:
    """Left and right swapped, the wheels turn the other way."""
    line = Point(1.0, 0.4, 0.2, 0.02)
    mirrored = Point(1.0, -0.4, -0.2, -0.02)
    answers = []
    for side, told in ((1.0, line), (-1.0, mirrored)):
        motion = Motion(0.0, side * 0.7, side * 0.1, 9.0, side * 0.2)
        view = View(motion, side * 0.1, locate(told, *front_axle(motion, G)), lambda _: told)  # noqa: B023
        p = pure_pursuit.LookAhead() if law is pure_pursuit else stanley.Gains(k_yaw=0.1, k_ag=0.01)
        answers.append(law.steer(p, G, view))  # type: ignore[attr-defined]
    assert answers[0] == -answers[1] != 0.0


@pytest.mark.parametrize("law", [pure_pursuit, stanley])
@pytest.mark.parametrize("told", [True, False])
def test_slopes_are_finite_at_standstill_and_on_the_line(law: object, told: bool) -> None:
    policy = law.policy(KINEMATIC, None if told else straight(100.0, 5.0))  # type: ignore[attr-defined]
    x, m = ca.SX.sym("x", 5), ca.SX.sym("m", 3 if told else 4)
    state, memory = KINEMATIC.State(*ca.vertsplit(x)), policy.Memory
    parts = ca.vertsplit(m)
    remembered = memory(*parts) if told else memory(parts[0], type(memory().speed)(*parts[1:]))
    reference = Point() if told else None
    u, _ = policy.command(state, remembered, reference, policy.params, 0.1)
    slope = ca.Function("slope", [x, m], [ca.jacobian(ca.vertcat(*u), ca.vertcat(x, m))])
    for v in (0.0, -1.0, 5.0):
        for y in (0.0, 0.5, -3.0):
            assert np.isfinite(np.array(slope([0.0, y, v, 0.0, 0.0], np.zeros(m.numel())))).all()


def test_axles() -> None:
    motion = Motion(1.0, 2.0, math.pi / 2, 0.0, 0.0)
    assert front_axle(motion, G) == (pytest.approx(1.0), pytest.approx(2.0 + G.l_f))
    assert rear_axle(motion, G) == (pytest.approx(1.0), pytest.approx(2.0 - G.l_r))


def test_unknown_and_impossible_settings_are_named() -> None:
    with pytest.raises(InvalidValue, match=r"LookAhead has no field 't_ahed'; did you mean 't_ahe"):
        pure_pursuit.policy(KINEMATIC, t_ahed=1.0)
    with pytest.raises(InvalidValue, match="k = 0 1/s must be greater than 0"):
        stanley.policy(KINEMATIC, k=0.0)
    with pytest.raises(InvalidValue, match="call it"):
        stanley.policy(four_wheel)
    with pytest.raises(InvalidValue, match="Geometry has no field 'l'"):
        car_of(KINEMATIC, l=1.0)
