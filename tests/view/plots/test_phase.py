"""Phase portraits: the vehicle's own field, fixed points with closed forms, boundaries."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.vehicles.parts import SteadySlip
from skidpad.view.plots.handling import STEP, Plane, boundary, fixed_points, streams
from view.plots.drawn import diagrams, keys, labelled
from view.plots.renamed import renamed

ST = sp.vehicles.commonroad_st()
CAR = sp.vehicles.four_wheel()
LOW, HIGH = np.array([-0.5, -1.2]), np.array([0.5, 1.2])


def steady_turn(p, v: float, steer: float) -> np.ndarray:
    """Slip angle and yaw rate of the linear single-track model in a steady turn.

    From the balance of forces and moments, e.g. Mitschke and Wallentowitz, Dynamik der
    Kraftfahrzeuge, chapter on steady cornering: K is the self-steering gradient.
    """
    base = p.l_f + p.l_r
    front, rear = p.m * p.g * p.l_r / base, p.m * p.g * p.l_f / base
    C_f, C_r = p.C_f * front, p.C_r * rear
    K = p.m * (C_r * p.l_r - C_f * p.l_f) / (C_f * C_r * base)
    omega = v * steer / (base + K * v**2)
    alpha_rear = p.m * v * omega * p.l_f / (base * C_r)
    return np.array([p.l_r * omega / v - alpha_rear, omega])


@pytest.mark.parametrize(("v", "steer"), [(10.0, 0.02), (20.0, -0.01), (30.0, 0.005)])
def test_the_fixed_point_of_the_linear_car_is_its_steady_turn(v, steer):
    plane = Plane(ST, ("beta", "omega"), speed=v, steer=steer)
    (point,) = fixed_points(plane.rates, LOW, HIGH)
    np.testing.assert_allclose(point.at, steady_turn(ST.params, v, steer), rtol=1e-8)
    assert point.kind == "stable"


def test_the_eigenvalues_are_those_of_the_exact_linearisation():
    plane = Plane(ST, ("beta", "omega"), speed=20.0)
    (point,) = fixed_points(plane.rates, LOW, HIGH)
    x = record.build(ST.State, {"v": 20.0})
    _, A, _ = ST.linearise_continuous(x, ST.Input(a=0.0, steer_rate=0.0))
    at = [record.names(ST.State).index(name) for name in ("beta", "omega")]
    wanted = np.linalg.eigvals(A[np.ix_(at, at)])
    np.testing.assert_allclose(np.sort_complex(point.eigenvalues), np.sort_complex(wanted), rtol=1e-6)  # fmt: skip # noqa: E501


def test_rates_are_those_of_the_vehicle():
    plane = Plane(CAR, ("v_y", "omega"), speed=15.0, steer=0.03, inputs={"tau_rl": 5.0})
    points = np.array([[0.5, 0.2], [-1.0, 0.7]])
    for point, rates in zip(points, plane.rates(points), strict=True):
        x = record.unflatten(CAR.State, plane.states(point[None])[0].tolist())
        assert (x.v_x, x.v_y, x.omega, x.steer, x.tau_rl) == (15.0, *point, 0.03, 5.0)
        rate = CAR.derivative(x, CAR.Input(steer=0.03, tau_rl=5.0))
        np.testing.assert_allclose(rates, [rate.v_y, rate.omega], rtol=1e-11, atol=1e-11)


def test_a_car_whose_slip_is_a_state_is_refused():
    """Held at 0, its tyres would give no force, whatever the motion."""
    with pytest.raises(InvalidValue, match=r"slip=SteadySlip\(\)"):
        Plane(sp.vehicles.formula_student(), ("v_y", "omega"), speed=15.0)
    steady = sp.vehicles.formula_student(slip=SteadySlip())
    plane = Plane(steady, ("v_y", "omega"), speed=15.0)
    # A car that drifts to the left is pushed to the right.
    assert plane.rates(np.array([[1.0, 0.0]]))[0, 0] < -5.0


@pytest.mark.slow
def test_names_of_the_states_do_not_matter_where_the_body_has_them():
    points = np.array([[0.1, 0.2], [-0.2, 0.4]])
    for names in (("v_y", "omega"), ("beta", "omega")):
        wanted, plane = (Plane(c, names, speed=15.0, steer=0.03) for c in (CAR, renamed(CAR)))
        np.testing.assert_allclose(plane.rates(points), wanted.rates(points), rtol=1e-11)
        assert [plane.unit(name) for name in names] == [wanted.unit(name) for name in names]


def test_slip_angle_and_lateral_velocity_tell_the_same_motion():
    """beta = atan(v_y / v_x): its rate follows from those of v_x and v_y."""
    v, beta, omega = 15.0, 0.12, 0.4
    plane = Plane(CAR, ("beta", "omega"), speed=v)
    (motion,) = plane.rates(np.array([[beta, omega]]))
    x = record.unflatten(CAR.State, plane.states(np.array([[beta, omega]]))[0].tolist())
    assert (x.v_x, x.v_y) == (v * np.cos(beta), v * np.sin(beta))
    h = 1e-6
    rate = CAR.derivative(x, CAR.Input())
    ends = [np.arctan2(x.v_y + s * rate.v_y, x.v_x + s * rate.v_x) for s in (h, -h)]
    assert motion[0] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-6)
    polar = Plane(ST, ("v_y", "omega"), speed=20.0)
    state = record.unflatten(ST.State, polar.states(np.array([[1.5, 0.1]]))[0].tolist())
    assert state.v * np.cos(state.beta) == pytest.approx(20.0, rel=1e-14)
    assert state.v * np.sin(state.beta) == pytest.approx(1.5, rel=1e-14)
    rates = ST.derivative(state, ST.Input(a=0.0, steer_rate=0.0))
    (motion,) = polar.rates(np.array([[1.5, 0.1]]))
    ends = [20.0 * np.tan(state.beta + s * rates.beta) for s in (h, -h)]
    assert motion[0] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-6)


@pytest.mark.parametrize(
    ("matrix", "kind"),
    [
        ([[-1.0, 3.0], [-3.0, -1.0]], "stable"),
        ([[2.0, 0.0], [0.0, -1.0]], "saddle"),
        ([[1.0, 1.0], [-1.0, 1.0]], "unstable"),
    ],
)
def test_fixed_points_of_known_fields(matrix, kind):
    centre = np.array([0.123, -0.456])
    A = np.array(matrix)
    (point,) = fixed_points(lambda p: (p - centre) @ A.T, -np.ones(2), np.ones(2))
    np.testing.assert_allclose(point.at, centre, rtol=1e-9)
    np.testing.assert_allclose(point.jacobian, A, rtol=1e-6, atol=1e-6)
    assert point.kind == kind


def test_a_pendulum_has_its_saddles_and_centres():
    def pendulum(p):
        return np.column_stack([p[:, 1], -np.sin(p[:, 0]) - 0.1 * p[:, 1]])

    points = fixed_points(pendulum, np.array([-4.0, -2.0]), np.array([4.0, 2.0]))
    assert [point.kind for point in points] == ["saddle", "stable", "saddle"]
    np.testing.assert_allclose([p.at[0] for p in points], [-np.pi, 0.0, np.pi], atol=1e-9)


def test_streamlines_run_along_the_field():
    def turning(p):
        return np.column_stack([-p[:, 1], p[:, 0]])

    flow = streams(turning, np.array([-2.0, -2.0]), np.array([2.0, 2.0]))
    assert len(flow.lines) > 10
    for line in flow.lines:
        radius = np.hypot(line[:, 0], line[:, 1])
        np.testing.assert_allclose(radius, radius[0], rtol=1e-5)
        steps = np.hypot(*np.diff(line, axis=0).T)
        np.testing.assert_allclose(steps, 4.0 * STEP, rtol=1e-2)
    along = turning(flow.heads)
    cross = flow.directions[:, 0] * along[:, 1] - flow.directions[:, 1] * along[:, 0]
    dot = (flow.directions * along).sum(axis=1)
    assert (dot > 0.0).all()
    assert (np.abs(cross) < 0.05 * dot).all()


@pytest.mark.slow
def test_the_boundary_parts_motions_that_come_back_from_those_that_do_not():
    plane = Plane(CAR, ("beta", "omega"), speed=15.0)
    low, high = np.array([-0.5, -1.6]), np.array([0.5, 1.6])
    points = fixed_points(plane.rates, low, high)
    # On either side the car can drift: sideways in balance, but not by itself.
    kinds = ["unstable", "saddle", "stable", "saddle", "unstable"]
    assert [point.kind for point in points] == kinds
    lines = boundary(plane.rates, points[1], low, high)
    middle = max(lines, key=len)
    edge = middle[len(middle) // 4]  # before it winds into the point where the car can drift
    ends = []
    for side in (0.02, -0.02):
        at = edge + np.array([side, 0.0])
        for _ in range(1500):  # 3 s by the classical Runge-Kutta method
            k1 = plane.rates(at[None])[0]
            k2 = plane.rates((at + 1e-3 * k1)[None])[0]
            k3 = plane.rates((at + 1e-3 * k2)[None])[0]
            k4 = plane.rates((at + 2e-3 * k3)[None])[0]
            at = at + 2e-3 / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
        ends.append(float(np.abs(at - points[2].at).max()))
    assert ends[0] < 1e-3
    assert ends[1] > 0.3


def test_degrees_are_shown_and_points_marked_by_kind():
    figure = sp.view.plots.phase_portrait(ST, speed=20.0, steer=0.01)
    (axes,) = diagrams(figure)
    wanted = np.rad2deg(steady_turn(ST.params, 20.0, 0.01))
    np.testing.assert_allclose(labelled(axes, "stable").get_xydata(), [wanted], rtol=1e-7)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("slip angle $β$ [°]", "yaw rate $ω$ [°/s]")
    assert axes.get_xlim() == pytest.approx((-30.0, 30.0))
    assert keys(axes.get_legend()) == ["stable"]
    assert figure.get_suptitle() == "commonroad_st at 20 m/s, steered by 0.573°"
    # Every line has its arrow.
    flow = next(line for line in axes.lines if np.isnan(line.get_xdata()).any())
    assert len(axes.patches) == np.isnan(flow.get_xdata()).sum() + 1


@pytest.mark.slow
def test_a_car_that_can_spin_shows_saddles_and_the_boundary_through_them():
    limits = {"x_range": (-0.5, 0.5), "y_range": (-1.6, 1.6)}
    (axes,) = diagrams(sp.view.plots.phase_portrait(CAR, speed=15.0, **limits))
    assert keys(axes.get_legend()) == ["stability boundary", "stable", "saddle", "unstable"]
    saddles = labelled(axes, "saddle").get_xydata()
    border = labelled(axes, "stability boundary").get_xydata()
    for saddle in saddles:
        assert np.nanmin(np.hypot(*(border - saddle).T)) < 1e-9
    assert axes.get_ylim() == pytest.approx(np.rad2deg((-1.6, 1.6)))


def test_bad_requests_are_refused():
    with pytest.raises(InvalidValue, match="discrete model"):
        sp.view.plots.phase_portrait(sp.vehicles.ackermann_truck(), speed=1.0)
    with pytest.raises(InvalidValue, match="no lateral motion"):
        sp.view.plots.phase_portrait(sp.vehicles.commonroad_ks(), speed=1.0)
    with pytest.raises(InvalidValue, match="do not span a plane"):
        sp.view.plots.phase_portrait(ST, "beta", "v_y", speed=10.0)
    with pytest.raises(InvalidValue, match="did you mean 'omega'"):
        sp.view.plots.phase_portrait(ST, "beta", "omga", speed=10.0)
    with pytest.raises(InvalidValue, match="speed = 0"):
        sp.view.plots.phase_portrait(ST, speed=0.0)
    with pytest.raises(InvalidValue, match="no range of 'steer'"):
        sp.view.plots.phase_portrait(ST, "beta", "steer", speed=10.0)
    with pytest.raises(InvalidValue, match="the lower one first"):
        sp.view.plots.phase_portrait(ST, speed=10.0, x_range=(1.0, -1.0))
