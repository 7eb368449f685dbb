"""The Formula Student car of version 0.1, from standstill to the limit."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from skidpad import vehicles
from skidpad.core import record

CAR = vehicles.formula_student(compat="0.1")
P = CAR.params
FOUR_WHEEL = vehicles.four_wheel(compat="0.1")
KINEMATIC = vehicles.kinematic_bicycle(compat="0.1")


def start(**fields: float) -> np.ndarray:
    return np.array(record.build(CAR.State, **fields))


def traced(car):
    """Derivative, its Jacobians and the outputs as CasADi functions of two vectors."""
    x, u = ca.SX.sym("x", 11), ca.SX.sym("u", 5)
    X, U = car.State(*ca.vertsplit(x)), car.Input(*ca.vertsplit(u))
    dx, out = ca.vertcat(*car.derivative(X, U)), ca.vertcat(*car.outputs(X, U))
    jacobian = ca.jacobian(dx, ca.vertcat(x, u))
    return tuple(ca.Function("f", [x, u], [y], {"cse": True}) for y in (dx, jacobian, out))


F, JACOBIAN, OUT = traced(CAR)


def rk4(f, h: float):
    x, u = ca.SX.sym("x", 11), ca.SX.sym("u", 5)
    k1 = f(x, u)
    k2 = f(x + 0.5 * h * k1, u)
    k3 = f(x + 0.5 * h * k2, u)
    k4 = f(x + h * k3, u)
    return ca.Function("step", [x, u], [x + h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)], {"cse": True})


def drive(car, x: np.ndarray, u: list[float], duration: float, h: float = 1e-3) -> np.ndarray:
    """States every `h` under a held input, classical Runge-Kutta at 1 ms."""
    step = rk4(traced(car)[0], h)
    count = round(duration / h)
    path = step.mapaccum(count)(x, np.tile(u, (count, 1)).T).full().T
    return np.vstack([x, path])


def holding(v: float) -> float:
    """Torque per wheel that balances the driving resistance."""
    return (P.C_r0 + P.C_r1 * v + P.C_r2 * v * v) / (4.0 * P.C_m0)


def moving(v: float, **more: float) -> np.ndarray:
    tau = holding(v)
    return start(v_x=v, tau_fl=tau, tau_fr=tau, tau_rl=tau, tau_rr=tau, **more)


@pytest.mark.parametrize("steer", [-0.5, 0.0, 0.2, 0.5])
def test_at_rest_nothing_moves(steer: float) -> None:
    rest = start(steer=steer)
    rate = np.array(CAR.derivative(CAR.State(*rest), CAR.Input(steer=steer)))
    assert np.array_equal(rate, np.zeros(11))


@pytest.mark.parametrize("steer", [0.0, 0.5])
def test_residual_motion_decays_to_rest(steer: float) -> None:
    x = drive(CAR, start(v_x=0.05, v_y=0.1, omega=-0.3, steer=steer), [steer, 0, 0, 0, 0], 3.0)
    assert np.abs(x[-1, 3:6]).max() < 1e-12
    assert np.abs(x[300, 4:6]).max() < 1e-2
    # Resting: the pose does not creep.
    assert np.abs(x[-1, :3] - x[-500, :3]).max() < 1e-12


def test_coasting_to_a_stop_ends_at_rest() -> None:
    x = drive(CAR, start(v_x=4.0, steer=0.3), [0.3, 0, 0, 0, 0], 6.0)
    assert np.abs(x[-1, 3:6]).max() < 1e-12
    assert np.all(np.diff(x[:, 3]) <= 0.0)


JACOBIAN_POINTS = [
    start(v_x=v, v_y=v_y, omega=omega, steer=steer, tau_fl=tau, tau_fr=tau, tau_rl=tau, tau_rr=tau)
    for v in (-2.0, 0.0, 0.5, 1.0, 2.0, 3.0, 15.0, 40.0)
    for v_y, omega in ((0.0, 0.0), (0.5, -0.4))
    for steer in (-0.5, 0.0, 0.5)
    for tau in (-276.75, 0.0, 276.75)
]


def test_gradients_are_finite_from_rest_to_full_lock() -> None:
    for x in JACOBIAN_POINTS:
        assert np.isfinite(JACOBIAN(x, [x[6], *x[7:]]).full()).all()


def test_stiffness_is_bounded_down_to_standstill() -> None:
    """No mechanical mode is as fast as the 1000 1/s of the motors; RK4 at 1 ms bears 2785."""
    speeds = np.concatenate([np.linspace(-3.0, 3.0, 61), np.linspace(3.0, 40.0, 38)])
    worst = 0.0
    for v in speeds:
        for steer in (0.0, 0.5):
            mechanical = JACOBIAN(start(v_x=v, steer=steer), [steer, 0, 0, 0, 0]).full()[3:6, 3:6]
            worst = max(worst, np.abs(np.linalg.eigvals(mechanical)).max())
    assert 300.0 < worst < 400.0


@pytest.mark.slow
def test_jax_gradient_at_rest_is_that_of_casadi() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def rate(x):
        dx = CAR.derivative(CAR.State(*x), CAR.Input(*([0.1] * 5)))
        return jax.numpy.stack([jax.numpy.asarray(y, dtype=float) for y in dx])

    for x in (start(), start(steer=0.5), start(v_x=2.0, v_y=0.1, steer=0.5, tau_fl=50.0)):
        ours = np.asarray(jax.jacfwd(rate)(jax.numpy.asarray(x)))
        theirs = JACOBIAN(x, [0.1] * 5).full()[:, :11]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_derivative_is_continuous_over_the_blend() -> None:
    """A fine sweep through standstill and blend: no step beyond what the slope explains."""
    speeds = np.linspace(-4.0, 4.0, 8001)
    zero = np.zeros_like(speeds)
    x = CAR.State(
        zero, zero, zero, speeds, 0.05 + zero, 0.2 + zero, 0.3 + zero, *([30.0 + zero] * 4)
    )
    rate = np.stack(np.broadcast_arrays(*CAR.derivative(x, CAR.Input(steer=0.3))))[3:6]
    jump = np.abs(np.diff(rate, axis=1))
    kink = np.abs(np.diff(rate, 2, axis=1))
    assert jump.max() < 0.2
    assert kink.max() < 0.02


@pytest.mark.parametrize(
    ("v", "steer"),
    [
        (0.3, 0.5),
        pytest.param(0.6, 0.2, marks=pytest.mark.slow),
        pytest.param(1.0, 0.5, marks=pytest.mark.slow),
        (1.0, -0.3),
    ],
)
def test_slow_driving_is_kinematic(v: float, steer: float) -> None:
    """Paths of 3 s; they were seen to differ by 1.4 % of the yaw rate and 5 mm at most."""
    ours = drive(CAR, moving(v), [steer, *[holding(v)] * 4], 3.0)
    theirs = drive(KINEMATIC, moving(v), [steer, *[holding(v)] * 4], 3.0)
    assert np.abs(ours[:, :2] - theirs[:, :2]).max() < 0.01
    turned = slice(800, None)
    np.testing.assert_allclose(ours[turned, 5], theirs[turned, 5], rtol=0.02)
    np.testing.assert_allclose(ours[turned, 3], theirs[turned, 3], rtol=0.005)


@pytest.mark.parametrize(
    ("v", "steer"),
    [
        pytest.param(6.0, 0.05, marks=pytest.mark.slow),
        pytest.param(10.0, 0.05, marks=pytest.mark.slow),
        (10.0, -0.08),
        (15.0, 0.03),
    ],
)
def test_ordinary_driving_is_that_of_the_four_wheel_car(v: float, steer: float) -> None:
    """The ellipse takes 2 to 4 % of lateral grip at the torque that holds these speeds."""
    u = [steer, *[holding(v)] * 4]
    ours, theirs = drive(CAR, moving(v), u, 2.0), drive(FOUR_WHEEL, moving(v), u, 2.0)
    np.testing.assert_allclose(ours[:, 3], theirs[:, 3], rtol=2e-3)
    np.testing.assert_allclose(ours[:, 5], theirs[:, 5], atol=0.02 * np.abs(theirs[:, 5]).max())


def test_without_torque_it_is_the_four_wheel_car_exactly() -> None:
    """Above the blend, with no drive force and all wheels down, the equations coincide."""
    rng = np.random.default_rng(3)
    zero = np.zeros(2000)
    x = CAR.State(
        zero,
        zero,
        zero,
        rng.uniform(5.0, 30.0, 2000),
        rng.uniform(-1.0, 1.0, 2000),
        rng.uniform(-1.0, 1.0, 2000),
        rng.uniform(-0.2, 0.2, 2000),
        *([zero] * 4),
    )
    down = FOUR_WHEEL.outputs(x, CAR.Input()).wheel_lift == 0.0
    assert down.sum() > 1000
    ours = np.stack(np.broadcast_arrays(*CAR.derivative(x, CAR.Input())))[:, down]
    theirs = np.stack(np.broadcast_arrays(*FOUR_WHEEL.derivative(x, CAR.Input())))[:, down]
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-10)


def hard_states(count: int = 20000):
    """Everything up to full lock, full torque on each wheel and large slip, also backwards."""
    rng = np.random.default_rng(5)
    zero = np.zeros(count)
    return CAR.State(
        zero,
        zero,
        zero,
        rng.uniform(-5.0, 35.0, count),
        rng.uniform(-3.0, 3.0, count),
        rng.uniform(-2.5, 2.5, count),
        rng.uniform(-0.5, 0.5, count),
        *rng.uniform(-276.75, 276.75, (4, count)),
    )


def wheel_columns(out) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.array(out[2:6]), np.array(out[10:14]), np.array(out[14:18])


def test_loads_are_never_negative_and_carry_the_car() -> None:
    x = hard_states()
    out = CAR.outputs(x, CAR.Input())
    F_z, _, _ = wheel_columns(out)
    assert 0.1 < out.wheel_lift.mean() < 0.3
    assert F_z.min() == 0.0
    assert np.array_equal(out.wheel_lift == 1.0, F_z.min(axis=0) == 0.0)
    total = P.m * P.g + 0.5 * P.C_down * x.v_x**2
    np.testing.assert_allclose(F_z.sum(axis=0), total, rtol=1e-12)


def test_a_car_that_tips_keeps_its_loads_in_range() -> None:
    """Where grip would tip the car there is no balance, but the loads stay possible ones."""
    tall = vehicles.formula_student(compat="0.1", z_cg=0.8)
    x = hard_states(5000)
    out = tall.outputs(x, CAR.Input())
    F_z, _, _ = wheel_columns(out)
    assert F_z.min() >= 0.0
    np.testing.assert_allclose(F_z.sum(axis=0), P.m * P.g + 0.5 * P.C_down * x.v_x**2, rtol=1e-12)
    assert np.isfinite(out.a_x).all()


def test_no_tyre_force_exceeds_friction() -> None:
    x = hard_states()
    F_z, F_x, F_y = wheel_columns(CAR.outputs(x, CAR.Input()))
    assert (np.hypot(F_x, F_y) - P.tyre.D * F_z).max() <= 1e-9
    demand = P.C_m0 * np.array(x[7:])
    assert (F_x * demand).min() >= 0.0


def test_forces_and_accelerations_obey_newton() -> None:
    x = hard_states(5000)
    out = CAR.outputs(x, CAR.Input())
    _, F_x, F_y = wheel_columns(out)
    drag = -(P.C_r0 + P.C_r1 * abs(x.v_x) + P.C_r2 * x.v_x**2) * np.tanh(x.v_x / P.v_0)
    ahead, left = F_x[2] + F_x[3] + drag, F_y[2] + F_y[3]
    for wheel in (0, 1):
        c, s = np.cos(x.steer), np.sin(x.steer)
        ahead = ahead + c * F_x[wheel] - s * F_y[wheel]
        left = left + s * F_x[wheel] + c * F_y[wheel]
    np.testing.assert_allclose(P.m * out.a_x, ahead, atol=1e-8)
    np.testing.assert_allclose(P.m * out.a_y, left, atol=1e-8)


def test_launch_and_braking_stay_within_grip() -> None:
    limit = P.tyre.D * P.use_max
    launch = drive(CAR, start(), [0.0, *[P.tau_max] * 4], 2.0)
    assert np.all(np.diff(launch[:, 3]) > 0.0)
    for x in launch[::50]:
        a_x = OUT(x, np.zeros(5)).full()[0, 0]
        assert P.m * a_x <= limit * (P.m * P.g + 0.5 * P.C_down * x[3] ** 2)
    brake = drive(CAR, start(v_x=25.0), [0.0, *[-P.tau_max] * 4], 0.5)
    lateral = np.abs(brake[:, [1, 2, 4, 5]])
    assert lateral.max() == 0.0
    assert 25.0 - brake[-1, 3] > 0.5 * 14.0


def test_hard_braking_into_a_turn_lifts_the_inner_rear_wheel() -> None:
    u = [0.12, *[-100.0] * 2, *[-20.0] * 2]
    path = drive(CAR, start(v_x=22.0), u, 1.0)
    assert np.isfinite(path).all()
    out = np.array([OUT(x, u).full().ravel() for x in path[::5]])
    F_z = out[:, 2:6]
    assert F_z.min() >= 0.0
    lifted = out[:, 18] == 1.0
    assert lifted.any()
    # Turning left: only the rear left wheel leaves the road.
    assert F_z[lifted, 2].max() == 0.0
    assert F_z[lifted][:, [0, 1, 3]].min() > 0.0
    drag = P.C_r0 + P.C_r1 * 22.0 + P.C_r2 * 22.0**2
    grip = P.tyre.D * (P.m * P.g + 0.5 * P.C_down * 22.0**2)
    assert P.m * np.hypot(out[:, 0], out[:, 1]).max() < grip + drag
