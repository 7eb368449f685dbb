"""The recorded derivatives and trajectories of the brains2 models, as upstream and corrected.

The recordings have no command limiter, so the limits of `four_wheel` and `kinematic_bicycle` are
raised and `brains2` is entered behind its limiter, with the model choice given.
"""

from __future__ import annotations

import numpy as np
import pytest

from skidpad import vehicles
from skidpad.core import record
from skidpad.vehicles.brains2_sim import Held
from validation.reference import (
    NO_LIMITS,
    columns,
    compiled,
    load,
    relative_error,
    table,
    trajectory,
    vehicle,
)

DYNAMIC = {"dyn": 1.0, "kin": 0.0}


def corrected(kind: str, params: np.ndarray):
    factory = vehicles.four_wheel if kind == "dyn" else vehicles.kinematic_bicycle
    return vehicle(factory, params, **NO_LIMITS)


@pytest.mark.parametrize("car", ["P0", "P1"])
@pytest.mark.parametrize("kind", ["dyn", "kin"])
def test_corrected_derivative_at_random_points(kind: str, car: str) -> None:
    data = load(f"rhs_{kind}")
    model = corrected(kind, data[f"{car}/params"])
    x, u = columns(model.State, data["x"]), columns(model.Input, data["u"])
    rate = table(model.derivative(x, u))
    assert relative_error(rate, data[f"{car}/corrected/xdot"]) < 1e-12
    out = model.outputs(x, u)
    a = np.stack([out.a_x, out.a_y], axis=1)
    assert relative_error(a, data[f"{car}/corrected/a_body"]) < 1e-12


@pytest.mark.parametrize("car", ["P0", "P1"])
def test_four_wheel_loads_slip_and_lift_flag_at_random_points(car: str) -> None:
    data = load("rhs_dyn")
    model = corrected("dyn", data[f"{car}/params"])
    out = model.outputs(columns(model.State, data["x"]), columns(model.Input, data["u"]))
    F_z = np.stack([out.F_z_fl, out.F_z_fr, out.F_z_rl, out.F_z_rr], axis=1)
    alpha = np.stack([out.alpha_fl, out.alpha_fr, out.alpha_rl, out.alpha_rr], axis=1)
    expected = data[f"{car}/corrected/Fz"]
    assert relative_error(F_z, expected) < 1e-12
    assert relative_error(alpha, data[f"{car}/corrected/alpha"]) < 1e-12
    lifted = (expected < 0.0).any(axis=1)
    assert 0 < lifted.sum() < len(lifted)
    assert np.array_equal(out.wheel_lift, lifted.astype(float))


@pytest.mark.parametrize("car", ["P0", "P1"])
@pytest.mark.parametrize("kind", ["dyn", "kin"])
def test_upstream_derivative_and_published_accelerations(kind: str, car: str) -> None:
    data = load(f"rhs_{kind}")
    brains2 = vehicle(vehicles.brains2, data[f"{car}/params"])
    x = columns(brains2.State, data["x"])
    held = Held(*data["u"].T, dynamic=np.full(len(data["u"]), DYNAMIC[kind]))
    rate = table(brains2.model.derivative(x, held, None, brains2.params))
    assert relative_error(rate, data[f"{car}/code/xdot"]) < 1e-12
    out = brains2.model.outputs(x, held, None, brains2.params)
    published = data[f"{car}/code/" + ("a_pub" if kind == "dyn" else "a_body")]
    assert relative_error(np.stack([out.a_x, out.a_y], axis=1), published) < 1e-12


def test_corrections_matter_in_the_recordings() -> None:
    """The two variants differ enough for the tests above to tell them apart."""
    for kind, car in (("dyn", "P0"), ("dyn", "P1"), ("kin", "P0"), ("kin", "P1")):
        data = load(f"rhs_{kind}")
        assert relative_error(data[f"{car}/code/xdot"], data[f"{car}/corrected/xdot"]) > 1e-3


def recorded_runs(kind: str, variant: str) -> list[str]:
    runs = {key.rpartition("/")[0] for key in load(f"traj_{kind}")}
    return sorted(run for run in runs if run.startswith(f"{variant}/"))


@pytest.mark.parametrize("run", recorded_runs("dyn", "corrected") + recorded_runs("dyn", "code"))
def test_dynamic_trajectory(run: str) -> None:
    check_trajectory("dyn", run)


@pytest.mark.parametrize("run", recorded_runs("kin", "corrected") + recorded_runs("kin", "code"))
def test_kinematic_trajectory(run: str) -> None:
    check_trajectory("kin", run)


def check_trajectory(kind: str, run: str) -> None:
    data = load(f"traj_{kind}")
    variant, car, _ = run.split("/")
    params = load("rhs_dyn")[f"{car}/params"]
    t, x, u = (data[f"{run}/{name}"] for name in "txu")
    if variant == "corrected":
        model = corrected(kind, params)
        w = record.build(model.model.Disturbance)
        f = compiled(model.model.derivative, model.State, model.Input, model.params, w)
    else:
        model = vehicle(vehicles.brains2, params)
        f = compiled(model.model.derivative, model.State, Held, model.params, None)
        u = np.column_stack([u, np.full(len(u), DYNAMIC[kind])])
    # This one spins and ends backwards: it magnifies the recording's own error of 1e-11.
    tolerance = 1e-4 if run == "code/P1/step_steer_15_limit" else 1e-7
    assert relative_error(trajectory(f, x[0], u, t), x) < tolerance
