"""`vehicle.jax()`: the numbers of the model, and gradients that central differences confirm."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import skidpad as sp
from skidpad import vehicles
from skidpad.core import record


def start_of(car: sp.Vehicle) -> tuple[np.ndarray, np.ndarray]:
    turning = {"v_x": 9.0, "v": 9.0, "v_s": 9.0, "v_y": 0.1, "omega": 0.3, "steer": 0.05}
    x = np.array([turning.get(name, 0.0) for name in record.names(car.State)])
    u = np.array([0.06, 20.0, 25.0, 30.0, 35.0, 10.0, 12.0, 14.0, 16.0])
    return x, u[: record.size(car.Input)]


CONTINUOUS = [name for name in vehicles.names() if vehicles.get(name).model.continuous]
FEW = ("double_integrator", "kinematic_bicycle", "four_wheel")
"""Vehicles with and without tyres. JAX takes long for the four evaluations of RK4; its derivatives
of all vehicles are compared by `conformance`."""
STEPS = [
    *((name, "rk4") for name in FEW),
    ("formula_student", "euler"),
    *(pytest.param(n, "rk4", marks=pytest.mark.slow) for n in CONTINUOUS if n not in FEW),
]
FOUR_WHEELS = pytest.param("four_wheel", marks=pytest.mark.slow)


@pytest.mark.slow_cases(
    "commonroad_kinematic_bicycle-rk4", "commonroad_ks-rk4", "commonroad_kst-rk4"
)
@pytest.mark.parametrize(("name", "integrator"), STEPS)
def test_step_and_derivative_are_the_models(name: str, integrator: str) -> None:
    car = vehicles.get(name)()
    x, u = start_of(car)
    model = car.jax(integrator=integrator)
    with jax.enable_x64(True):
        rates, after = model.derivative(x, u), model.step(x, u, 0.0002)
        assert after.dtype == jnp.float64
    direct = car.derivative(car.State(*x.tolist()), car.Input(*u.tolist()))
    np.testing.assert_allclose(rates, record.flatten(direct), rtol=1e-12, atol=1e-12)
    expected = sp.Fleet(car, dt=0.0002, integrator=integrator).rollout(x, u[None], steps=1)[1, 0]
    np.testing.assert_allclose(after, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["kinematic_bicycle", FOUR_WHEELS])
def test_gradients_agree_with_central_differences(name: str) -> None:
    # One evaluation per step, as XLA takes 15 s to compile the gradient of four.
    model = vehicles.get(name)().jax(integrator="euler")
    x, u = start_of(vehicles.get(name)())
    weights = np.linspace(1.0, 2.0, 11)

    def after(x: object, u: object, p: object) -> object:
        return jnp.dot(model.step(x, u, 0.002, p=p), weights)

    with jax.enable_x64(True):
        found = jax.jit(jax.grad(after, argnums=(0, 1, 2)))(x, u, model.p_values)
        value = jax.jit(after)
        for which, argument in enumerate((x, u, model.p_values)):
            for k in range(0, len(argument), 3):
                h = 1e-5 * (abs(argument[k]) or 1.0)
                ends = []
                for side in (h, -h):
                    moved = [x, u, model.p_values]
                    moved[which] = argument.copy()
                    moved[which][k] += side
                    ends.append(float(value(*moved)))
                slope = (ends[0] - ends[1]) / (2.0 * h)
                assert float(found[which][k]) == pytest.approx(slope, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_gradients_are_finite_at_standstill() -> None:
    model = vehicles.formula_student().jax()
    rest, u = np.zeros(len(model.x_names)), np.zeros(len(model.u_names))
    jacobian = jax.jacfwd(lambda x: model.derivative(x, u))(rest)
    assert np.isfinite(jacobian).all()


@pytest.mark.parametrize("name", ["kinematic_bicycle", FOUR_WHEELS])
def test_the_step_is_for_jit_and_vmap_in_single_precision_too(name: str) -> None:
    car = vehicles.get(name)()
    model = car.jax()
    x, u = start_of(car)
    many = np.tile(x, (5, 1)).astype(np.float32)
    many[:, 3] += np.arange(5, dtype=np.float32)
    after = jax.jit(jax.vmap(lambda x: model.step(x, u, 0.001)))(many)
    assert after.shape == (5, 11)
    assert after.dtype == jnp.float32
    fleet = sp.Fleet(car, dt=0.001, precision="float32")
    expected = fleet.rollout(many, np.tile(u, (5, 1)), steps=1)[1]
    np.testing.assert_allclose(after, expected, rtol=1e-5, atol=1e-5)


def test_parameters_replace_by_name() -> None:
    model = vehicles.four_wheel().jax()
    p = np.asarray(model.parameters({"tyre.B": 11.0}))
    changed = np.flatnonzero(p != model.p_values.astype(p.dtype))
    assert [model.p_names[k] for k in changed] == ["tyre.B"]
    with pytest.raises(sp.InvalidValue, match=r"did you mean 'tyre\.B'"):
        model.parameters({"tyre.BB": 11.0})


def test_implicit_and_adaptive_methods_are_refused() -> None:
    for name in ("radau", "scipy:RK45"):
        with pytest.raises(
            sp.InvalidValue, match=rf"'{name}' does not run in JAX.*allowed are .*rk4"
        ):
            vehicles.four_wheel().jax(integrator=name)


def test_a_wrong_shape_names_the_fields() -> None:
    model = vehicles.four_wheel().jax()
    with pytest.raises(sp.InvalidValue, match=r"x has shape \(4, 11\); expected \(11,\).*jax.vmap"):
        model.step(np.zeros((4, 11)), np.zeros(5), 0.001)


def test_without_jax_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['jax'] = sys.modules['jax.numpy'] = None\n"
        "import skidpad as sp\n"
        "try:\n    sp.vehicles.four_wheel().jax()\n"
        "except sp.MissingExtra as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == (
        'Vehicle.jax needs jax, which is not installed: pip install "skidpad[jax]"\n'
    )
