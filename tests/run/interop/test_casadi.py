"""`vehicle.casadi()`: the same numbers as the model, in the forms other tools take."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from skidpad import Model, Vehicle, vehicles
from skidpad.core import record


def sample(vehicle: Vehicle) -> tuple[np.ndarray, np.ndarray]:
    """A moving, turning state and an input, as flat arrays."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-0.2, 0.2, record.size(vehicle.State))
    names = record.names(vehicle.State)
    x[names.index(next(name for name in ("v_x", "v", "v_s") if name in names))] = min(
        9.0, vehicle.limits.v_max
    )
    low = [leaf.allowed.low if leaf.allowed else -0.2 for leaf in record.fields(vehicle.Input)]
    return x, rng.uniform(low, 0.2)


def flat(value: object) -> np.ndarray:
    return np.array(value, dtype=float).reshape(-1)


@pytest.mark.parametrize("name", [n for n in vehicles.names() if vehicles.get(n).model.continuous])
def test_explicit_and_implicit_form_are_the_derivative(name: str) -> None:
    car = vehicles.get(name)()
    x, u = sample(car)
    model = car.casadi()
    direct = flat(
        record.flatten(
            car.derivative(
                record.unflatten(car.State, x.tolist()), record.unflatten(car.Input, u.tolist())
            )
        )
    )
    scale = 1e-12 * np.maximum(1.0, np.abs(direct))
    assert np.all(np.abs(flat(model.derivative(x, u)) - direct) <= scale)
    given = x, direct, u, model.w_values, model.p_values
    assert np.all(np.abs(flat(model.functions["f_impl"](*given))) <= scale)
    # The implicit form is linear in xdot with slope one: what an index-0 DAE solver relies on.
    assert ca.jacobian(model.f_impl, model.xdot).is_eye()


# Expressions of implicit steps take casadi long to build: those with and without tyres show it.
IMPLICIT = ("kinematic_bicycle", "commonroad_dynamic_bicycle", "double_integrator")
STEPS = [
    *((name, "rk4") for name in vehicles.names()),
    *((name, "radau") for name in IMPLICIT),
    *(
        pytest.param(name, "radau", marks=pytest.mark.slow)
        for name in vehicles.names()
        if name not in IMPLICIT
    ),
]


@pytest.mark.slow_cases("single_track-radau")
@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.002 s is unstable for 'commonroad_")
@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.002 s is unstable for 'two_track'")
@pytest.mark.parametrize(("name", "integrator"), STEPS)
def test_the_discrete_form_is_the_simulators_step(name: str, integrator: str) -> None:
    car = vehicles.get(name)()
    x, u = sample(car)
    sim = sp.Simulator(car, dt=0.002, integrator=integrator)
    x = flat(record.flatten(sim.reset(x)))
    expected = flat(record.flatten(sim.step(u)))
    found = flat(car.casadi(integrator=integrator).step(x, u, 0.002))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_symbols_are_columns_with_the_names_of_the_records() -> None:
    car = vehicles.four_wheel()
    model = car.casadi(integrator="rk4")
    for letter in ("x", "u", "w", "p"):
        symbols = getattr(model, letter)
        assert symbols.shape == (len(getattr(model, f"{letter}_names")), 1)
        assert symbols.is_valid_input()
    assert model.x_names == record.names(car.State)
    assert model.p_names == record.names(type(car.params))
    assert {"m", "tyre.B", "tyre.E"} <= set(model.p_names)
    assert [s.name() for s in ca.vertsplit(model.u)] == list(model.u_names)
    assert model.y.shape == (len(model.y_names), 1)
    for expression in (model.f_expl, model.f_impl, model.f_disc):
        assert expression.shape == (11, 1)


def test_a_vehicle_without_disturbance_has_an_empty_column() -> None:
    model = vehicles.kinematic_bicycle().casadi()
    assert model.w.shape == (0, 1)
    assert model.w_values.shape == (0,)


def test_parameters_can_be_symbols() -> None:
    model = vehicles.kinematic_bicycle().casadi()
    m = ca.MX.sym("m")
    p = model.parameters({"m": m})
    x, u = np.zeros(11), np.zeros(5)
    x[record.names(vehicles.kinematic_bicycle().State).index("tau_rl")] = 100.0
    accelerate = ca.Function("a", [m], [model.derivative(x, u, p=p)[3]])
    # At rest on a straight a = F / m, and 100 N·m at wheels of 0.20809 m are 481 N.
    assert float(accelerate(100.0)) == pytest.approx(1.0 / 0.20809)
    assert float(accelerate(200.0)) == pytest.approx(0.5 / 0.20809)
    with pytest.raises(sp.InvalidValue, match=r"'mass'\. There are 15; the closest are m$"):
        model.parameters({"mass": 1.0})


def test_a_model_without_the_form_asked_for_says_so() -> None:
    model = vehicles.kinematic_bicycle().casadi()
    assert model.f_disc is None
    with pytest.raises(sp.InvalidValue, match=r"no f_disc; name an integrator"):
        model.step(np.zeros(11), np.zeros(5), 0.01)
    with pytest.raises(sp.InvalidValue, match=r"'scipy:RK45'.*allowed are euler"):
        vehicles.kinematic_bicycle().casadi(integrator="scipy:RK45")


def test_a_discrete_model_has_its_own_step() -> None:
    bicycle = vehicles.kinematic_bicycle().model

    def update(x: object, u: object, w: object, p: object, dt: float) -> object:
        return x._replace(x=x.x + dt * x.v_x)  # type: ignore[attr-defined]

    counter = Model("drift", bicycle.State, bicycle.Input, bicycle.Params, update=update)
    model = Vehicle(counter, bicycle.Params()).casadi()
    start = np.zeros(11)
    start[3] = 2.0
    assert float(model.step(start, np.zeros(5), 0.25)[0]) == 0.5
    assert model.f_expl is None
    with pytest.raises(sp.InvalidValue, match="it is a discrete model, which has step"):
        model.derivative(start, np.zeros(5))
