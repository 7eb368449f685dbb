"""Estimators of vehicles: Jacobians, consistency, friction, and the bits of every compiled form."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import chi2

import skidpad as sp
from export.c_driver import Car, build, same
from skidpad import units as si
from skidpad.control import (
    ExtendedKalmanFilter,
    MovingHorizonEstimator,
    UnscentedKalmanFilter,
    estimate,
)
from skidpad.control.estimators.system import Path as Nodes
from skidpad.core import record
from skidpad.core.body import Pose, Velocity
from skidpad.core.model import NoDisturbance
from skidpad.export import Export
from skidpad.ops import clip

DT = 0.01
MEASURED = {"v_x": 0.05, "omega": 0.01, "a_y": 0.3}
NOISE = {"v_x": 0.1, "v_y": 0.1, "omega": 0.05, "steer": 0.005, "F_drive": 300.0, "load_a_x": 0.3}
SPREAD = {"v_x": 0.3, "v_y": 0.2, "omega": 0.05, "steer": 0.01, "F_drive": 200.0, "load_a_x": 0.3}
FILTERS = {"ekf": ExtendedKalmanFilter, "ukf": UnscentedKalmanFilter}


@pytest.fixture(scope="module")
def car() -> sp.Vehicle:
    return sp.vehicles.single_track()


def slalom(steps: int, amplitude: float = 0.05) -> np.ndarray:
    """Inputs (T, 2) of a slalom with changing drive force."""
    t = DT * np.arange(steps)
    return np.stack([amplitude * np.sin(4.4 * t), 500.0 * np.sin(1.9 * t) + 300.0], axis=-1)


class Held(NamedTuple):
    """State of a point with a hard limit that is sampled at the start of a step."""

    v: si.m_s = 1.0
    a: si.m_s2 = 0.5


class Pull(NamedTuple):
    """Its input."""

    a: si.m_s2 = 0.0


class Drag(NamedTuple):
    """Its parameters."""

    d: si.per_s = 0.4
    gain: si.one = 0.3


def held_point() -> sp.Vehicle:
    """A point whose drive depends on the speed at the start of the step, in five sub-steps."""

    def hold(x: Held, u: Pull, w: NoDisturbance, p: Drag) -> Pull:
        return Pull(u.a + p.gain * clip(x.v * x.v, 0.0, 4.0))

    def derivative(x: Held, u: Pull, w: NoDisturbance, p: Drag) -> Held:
        return Held(x.a - p.d * x.v * x.v, 3.0 * (u.a - x.a))

    model = sp.Model(
        name="held_point",
        State=Held,
        Input=Pull,
        Params=Drag,
        derivative=derivative,
        hold=hold,
        substeps=5,
    )
    return sp.Vehicle(model, Drag())


def placed(vehicle: sp.Vehicle, v: float) -> dict[str, float]:
    """A state in a bend."""
    x = record.build(vehicle.State)
    if vehicle.model.body is not None:
        motion = Velocity(v, 0.1, 0.2)
        x = vehicle.body.placed(x, Pose(0.0, 0.0, 0.0), motion, vehicle.params)
    if vehicle.model.settle is not None:
        x = vehicle.model.settle(x, vehicle.params)
    return dict(zip(record.names(vehicle.State), record.flatten(x), strict=True))


JACOBIANS: dict[str, tuple[Any, dict[str, float], dict[str, Any]]] = {
    "single_track": (
        lambda: sp.vehicles.single_track(),
        {"speed": 0.1, "a_y": 0.3, "sideslip": 0.01},
        {"parameters": ("mu", "m", "u_steer", "log.a_y_bias")},
    ),
    "implicit": (lambda: sp.vehicles.commonroad_st(), {"omega": 0.1, "v": 0.1}, {}),
    "held": (held_point, {"v": 0.1}, {"parameters": ("d", "u_a")}),
    "demand": (
        lambda: sp.vehicles.commonroad_ks(),
        {"v": 0.1, "omega": 0.1},
        {"parameters": ("demand_a",)},
    ),
    "large": (
        lambda: sp.vehicles.two_track(),
        {"v_x": 0.1, "omega": 0.01, "a_y": 0.3},
        {"states": ("v_x", "v_y", "omega", "spin_fl"), "parameters": ("mu",)},
    ),
}


@pytest.mark.slow_cases("large")
@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians_agree_with_finite_differences_of_the_simulator(name: str) -> None:
    make, measured, options = JACOBIANS[name]
    vehicle = make()
    ekf = ExtendedKalmanFilter(vehicle, DT, measured, **options)
    structure, fields = ekf._structure, record.names(vehicle.State)
    x = placed(vehicle, 12.0)
    u = np.full(record.size(vehicle.Input), 0.05)
    w = np.array(record.flatten(record.build(vehicle.Disturbance)))
    p = np.array(record.flatten(vehicle.params))
    z = np.array([x.get(n, 0.0) for n in ekf.names])
    ports = {"u": u, "w": w, "p": p}
    for k, targets in enumerate(structure.targets, len(structure.states)):
        port, place = targets[0]
        z[k] = 0.3 if port in "dy" else ports[port][place]

    def simulated(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Estimated states and measurements after a step of the simulator."""
        mine = {port: values.copy() for port, values in ports.items()}
        state = {**x, **dict(zip(structure.states, z, strict=False))}
        given = z[len(structure.states) :]
        biases = np.zeros(len(measured))
        for value, targets in zip(given, structure.targets, strict=True):
            for port, place in targets:
                if port == "y":
                    biases[place] = value
                elif port != "d":
                    mine[port][place] = value
        moved = vehicle.with_params(record.unflatten(vehicle.Params, mine["p"].tolist()))
        row = mine["u"]
        if structure.commanded:
            wish = sp.Demand(a=z[-1], v=state["v"])
            at = record.unflatten(vehicle.State, [state[n] for n in fields])
            row = np.array(record.flatten(moved.body.command(at, wish, moved.params)))
            row[0] = mine["u"][0]
        sim = sp.Simulator(moved, DT, ekf._method)
        sim.disturb(mine["w"])
        sim.reset([state[n] for n in fields])
        after = sim.step(row)._asdict()
        out = {**sim.outputs()._asdict(), **after}
        if "sideslip" in measured:
            out["speed"] = np.hypot(after["v_x"], after["v_y"])
            out["sideslip"] = np.arctan2(after["v_y"], after["v_x"])
        seen = np.array([out[n] for n in measured]) + biases
        return np.array([after[n] for n in structure.states]), seen

    lin = ekf._linearisation
    s = np.array([[x[n] for n in structure.simulated]] * 2)
    steps = lin.along(Nodes(np.array([z, z]), s, u[None]))
    after, _ = simulated(z)
    n = len(structure.states)
    assert steps.after[0, :n] == pytest.approx(after, rel=1e-9, abs=1e-12)
    for k in range(len(z)):
        far = 1e-5 * max(1.0, abs(z[k]))
        ends = [simulated(z + side * far * np.eye(len(z))[k]) for side in (1.0, -1.0)]
        slope = (ends[0][0] - ends[1][0]) / (2.0 * far)
        scale = 1e-6 * max(1.0, np.abs(slope).max())
        assert steps.A[0, :n, k] == pytest.approx(slope, rel=2e-5, abs=scale), ekf.names[k]
    kept = np.diag([1.0] * n + [1.0 / (1.0 + rate * DT) for _, rate in structure.returns])
    assert steps.A[0, n:] == pytest.approx(kept[n:], rel=1e-14)
    if structure.simulated:
        return
    # The measurements' slopes at the state after the step, chained with those of the step. The
    # speed is smoothed at standstill.
    looked = lin.along(Nodes(np.array([z, steps.after[0]]), s, u[None]))
    assert looked.y[0] == pytest.approx(simulated(z)[1], rel=1e-8)
    chained = looked.H[0] @ np.vstack([steps.A[0, :n], np.eye(len(z))[n:]])
    for k in range(len(z)):
        far = 1e-5 * max(1.0, abs(z[k]))
        ends = [simulated(z + side * far * np.eye(len(z))[k]) for side in (1.0, -1.0)]
        slope = (ends[0][1] - ends[1][1]) / (2.0 * far)
        scale = 1e-6 * max(1.0, np.abs(slope).max())
        assert chained[:, k] == pytest.approx(slope, rel=5e-5, abs=scale), ekf.names[k]


class Runs(NamedTuple):
    """Simulated runs of a fleet with process and measurement noise."""

    truth: np.ndarray
    """States (T + 1, B, nx) of the vehicle."""
    inputs: np.ndarray
    measurements: np.ndarray


@pytest.fixture(scope="module")
def runs(car: sp.Vehicle) -> Runs:
    rng, names, B, steps = np.random.default_rng(1), record.names(car.State), 1000, 100
    noise = np.array([NOISE.get(name, 0.0) for name in names]) * np.sqrt(DT)
    spread = np.array([SPREAD.get(name, 0.0) for name in names])
    x = spread * rng.standard_normal((B, len(names)))
    x[:, names.index("v_x")] += 20.0
    u, fleet = slalom(steps), sp.Fleet(car, DT)
    states, seen = [x], []
    for k in range(steps):
        held = np.tile(u[k], (B, 1))
        x = fleet.rollout(x, held, steps=1)[-1]
        x = x + noise * rng.standard_normal(x.shape)
        a_y = fleet.outputs(x, held)[:, 1]
        exact = np.stack([x[:, names.index("v_x")], x[:, names.index("omega")], a_y], axis=-1)
        seen.append(exact + [*MEASURED.values()] * rng.standard_normal(exact.shape))
        states.append(x)
    return Runs(np.array(states), np.broadcast_to(u[:, None], (steps, B, 2)), np.array(seen))


def estimator(car: sp.Vehicle, kind: str = "ekf", **options: Any) -> Any:
    return FILTERS[kind](car, DT, MEASURED, process=NOISE, deviations=SPREAD, **options)


def share_inside(values: np.ndarray, degrees: int) -> float:
    """Share of the times at which the mean of chi-square values (T, B) is within its 95 % band."""
    B = values.shape[1]
    low, high = chi2.ppf([0.025, 0.975], B * degrees) / B
    means = values.mean(axis=1)
    return float(np.mean((means > low) & (means < high)))


@pytest.mark.slow_cases("ukf-float64")
@pytest.mark.parametrize(
    ("kind", "precision"), [("ekf", "float64"), ("ekf", "float32"), ("ukf", "float64")]
)
def test_errors_are_as_large_as_the_covariance_says(
    kind: str, precision: str, car: sp.Vehicle, runs: Runs
) -> None:
    """Mean NEES over 1,000 runs within its 95 % chi-square band, at 9 of 10 times at least."""
    made = estimator(car, kind, precision=precision)
    fleet = sp.Fleet(made.vehicle, DT, precision=precision)
    rows = made.inputs(runs.inputs, runs.measurements)
    begin = made.initial_state(v_x=20.0)
    result = made.unpack(fleet.rollout(begin, rows), rows)
    names = record.names(car.State)
    truth = runs.truth[..., [names.index(name) for name in made.names]]
    assert set(made.names) == set(NOISE)
    assert share_inside(result.nees(truth), 6) >= 0.9
    assert share_inside(result.nis[1:], 3) >= 0.9
    inside = np.abs(truth - result.values) < 1.96 * result.deviations
    assert 0.94 < inside.mean() < 0.96
    if precision == "float64":
        # The band is narrow enough to see noise that is declared a tenth too small.
        params = {f"process.{name}": np.full(1000, 0.9 * sd) for name, sd in NOISE.items()}
        wrong = made.unpack(fleet.rollout(begin, rows, params=params), rows)
        assert share_inside(wrong.nees(truth)[20:], 6) < 0.2


@pytest.mark.parametrize("kind", FILTERS)
def test_friction_as_a_state_has_honest_intervals(kind: str, car: sp.Vehicle) -> None:
    """Runs whose friction is a random walk: intervals hold, and the mean NEES is nearly right.

    Friction acts nonlinearly, and a slalom far below the limit shows little of it, so the mean NEES
    is 3 to 4 % too large, which the band of a mean over many runs resolves.
    """
    rng, names, B, steps, walk = np.random.default_rng(1), record.names(car.State), 300, 150, 0.1
    noise = np.array([NOISE.get(name, 0.0) for name in names]) * np.sqrt(DT)
    x = np.array([SPREAD.get(name, 0.0) for name in names]) * rng.standard_normal((B, len(names)))
    x[:, names.index("v_x")] += 20.0
    mu = 1.0 + walk * rng.standard_normal(B)
    fields = record.names(car.Disturbance)
    w = np.tile(record.flatten(record.build(car.Disturbance)), (B, 1))
    places = [fields.index("mu_f"), fields.index("mu_r")]
    u, fleet, states, seen = slalom(steps), sp.Fleet(car, DT), [np.column_stack([x, mu])], []
    for k in range(steps):
        held = np.tile(u[k], (B, 1))
        w[:, places] = mu[:, None]
        x = fleet.rollout(x, held, steps=1, disturbances=w)[-1]
        x = x + noise * rng.standard_normal(x.shape)
        mu = mu + walk * np.sqrt(DT) * rng.standard_normal(B)
        w[:, places] = mu[:, None]
        a_y = fleet.outputs(x, held, disturbances=w)[:, 1]
        exact = np.stack([x[:, names.index("v_x")], x[:, names.index("omega")], a_y], axis=-1)
        seen.append(exact + [*MEASURED.values()] * rng.standard_normal(exact.shape))
        states.append(np.column_stack([x, mu]))
    made = FILTERS[kind](
        car, DT, MEASURED, process=NOISE, deviations={**SPREAD, "mu": walk}, parameters={"mu": walk}
    )
    rows = made.inputs(np.broadcast_to(u[:, None], (steps, B, 2)), np.array(seen))
    result = made.unpack(sp.Fleet(made.vehicle, DT).rollout(made.initial_state(v_x=20.0), rows))
    truth = np.array(states)[..., [(*names, "mu").index(name) for name in made.names]]
    inside = np.abs(truth - result.values) < 1.96 * result.deviations
    assert (np.abs(inside.mean(axis=(0, 1)) - 0.95) < 0.025).all()
    assert 0.95 < result.nees(truth).mean() / len(made.names) < 1.06


@pytest.mark.parametrize("commands", [True, False])
def test_friction_stays_within_its_intervals_where_little_of_it_is_used(
    commands: bool, car: sp.Vehicle
) -> None:
    """A sine with 4.3 m/s² at most, for which 0.43 of the friction suffices."""
    rng, t, sim = np.random.default_rng(0), DT * np.arange(2000), sp.Simulator(car, DT)
    sim.reset(v_x=20.0)
    u = np.column_stack([0.03 * np.sin(1.5 * t), np.full(t.size, 400.0)])
    run = sim.run(u)
    assert 4.1 < np.abs(run["a_y"]).max() < 4.4
    noise = {"v_x": 0.05, "omega": 0.01, "a_y": 0.3, "steer": 0.002}
    seen = {name: run[name] + sd * rng.standard_normal(len(run)) for name, sd in noise.items()}
    if commands:
        held = np.vstack([u, u[-1:]])
        seen |= {"u_steer": held[:, 0], "u_F_drive": held[:, 1]}
    for smooth in (False, True):
        found = estimate(car, seen, DT, ("v_y", "mu"), measured=noise, smooth=smooth)
        for name, true in (("v_y", run["v_y"]), ("mu", 1.0)):
            low, high = found.interval(name)
            assert np.mean((low < true) & (true < high)) > 0.88, name
        assert found["mu"].min() > 0.43
        # Nothing shows the part of the friction that is not used.
        assert found.deviation("mu").mean() > 0.1


def test_friction_without_information_returns_to_its_usual_value(car: sp.Vehicle) -> None:
    ekf = ExtendedKalmanFilter(car, DT, {"v_x": 0.05}, states=("v_x",), parameters={"mu": 0.3})
    ekf.reset(v_x=20.0, mu=0.6, deviations={"mu": 0.01})
    log = ekf.run(np.tile([0.0, 200.0], (3000, 1)), np.full((3000, 1), np.nan))
    assert log["mu"][-1] == pytest.approx(1.0, abs=0.01)
    assert log.deviation("mu")[-1] == pytest.approx(0.5, rel=0.01)
    constant = ExtendedKalmanFilter(car, DT, {"v_x": 0.05}, parameters={"mu": 0.0})
    constant.reset(v_x=20.0, mu=0.6)
    now = constant.step((0.0, 200.0), (None,))
    assert now["mu"] == 0.6


def test_single_precision_stays_positive_definite(car: sp.Vehicle) -> None:
    """With nearly exact measurements, where the subtractions of a textbook filter fail."""
    sharp = {name: 1e-5 * sd for name, sd in MEASURED.items()}
    ekf = ExtendedKalmanFilter(car, DT, sharp, parameters=("mu",), precision="float32")
    ekf.reset(v_x=20.0)
    sim = sp.Simulator(car, DT)
    sim.reset(v_x=20.0)
    u, seen = slalom(300), []
    for row in u:
        x = sim.step(row)
        seen.append((x.v_x, x.omega, sim.outputs().a_y))
    result = ekf.run(u, np.array(seen))
    assert (np.linalg.eigvalsh(_correlations(result.covariances)) > 0.0).all()
    assert np.abs(result["v_x"][1:] - np.array(seen)[:, 0]).max() < 1e-3


def _correlations(covariances: np.ndarray) -> np.ndarray:
    sds = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / sds[:, :, None] / sds[:, None, :]


@pytest.mark.slow_cases("mhe")
@pytest.mark.parametrize("kind", ["ekf", "ukf", "mhe"])
def test_friction_is_found_where_it_changes(kind: str, car: sp.Vehicle) -> None:
    """A slalom at the limit, with the friction of the road falling to 0.6 after 3 s."""
    rng, steps = np.random.default_rng(4), 600
    u, sim = slalom(steps, 0.09), sp.Simulator(car, DT)
    x = sim.reset(v_x=20.0)
    seen, v_y = [], [x.v_y]
    for k, row in enumerate(u):
        sim.disturb(**dict.fromkeys(("mu_f", "mu_r"), 1.0 if k < 300 else 0.6))
        x = sim.step(row)
        seen.append((x.v_x, x.omega, sim.outputs().a_y))
        v_y.append(x.v_y)
    y = np.array(seen) + [*MEASURED.values()] * rng.standard_normal((steps, 3))
    options: dict[str, Any] = {"process": NOISE, "deviations": SPREAD, "parameters": {"mu": 0.3}}
    kinds = {**FILTERS, "mhe": MovingHorizonEstimator}
    made = kinds[kind](car, DT, MEASURED, **options)
    made.reset(v_x=20.0)
    result = made.run(u, y)
    assert result["mu"][200:300].mean() == pytest.approx(1.0, abs=0.05)
    assert result["mu"][450:].mean() == pytest.approx(0.6, abs=0.05)
    low, high = result.interval("v_y")
    v_y = np.array(v_y)
    assert np.mean((low < v_y) & (v_y < high)) > 0.85


def test_every_compiled_form_has_the_same_bits(car: sp.Vehicle, tmp_path: Path) -> None:
    made = estimator(car)
    rng, steps = np.random.default_rng(2), 50
    u = slalom(steps)
    y = np.stack([np.full(steps, 20.0), u[:, 0] * 4.0, u[:, 0] * 80.0], axis=-1)
    y += 0.01 * rng.standard_normal(y.shape)
    y[10:20, 0] = y[15, 2] = np.nan
    rows, start = made.inputs(u, y), made.initial_state(v_x=20.0)
    sim = sp.Simulator(made.vehicle, DT)
    sim.reset(start)
    alone = sim.run(rows).states
    made.reset(v_x=20.0)
    assert np.array_equal(made.run(u, y).values, made.unpack(alone).values)
    for lanes in (1, 4):
        fleet = sp.Fleet(made.vehicle, DT, lanes=lanes)
        many = fleet.rollout(np.tile(start, (11, 1)), np.repeat(rows[:, None], 11, axis=1))
        assert np.array_equal(many, np.repeat(alone[:, None], 11, axis=1))
    exported = Export(made.vehicle, DT, name="estimator")
    in_c = Car(exported, build([exported], tmp_path, flags=("-O1",)))
    assert in_c.reset(start, 0.0) == 0
    for k, row in enumerate(rows):
        assert in_c.step(row) == 0
        same(in_c.member("state"), alone[k + 1], f"step {k}")
    assert in_c.outputs() == pytest.approx(
        [*made.estimate.deviations, made.estimate.nis], rel=1e-12
    )
