"""One run of a Monte Carlo again, alone, as a trajectory."""

from __future__ import annotations

import numpy as np

from ... import record
from ...trajectory.columns import Column
from ...trajectory.trajectory import Trajectory
from .experiment import Experiment


def replayed(experiment: Experiment, run: int, seed: int) -> Trajectory:
    """States, inputs, outputs and disturbances (`w_...`) of one run; it ends where it diverged."""
    runner, dt = experiment.runner, experiment.dt
    plant = runner.plant
    moments = list(experiment.moments(np.array([run])))
    good = [m for m in moments if np.isfinite(m.states).all()]
    states = np.array([m.states[:, 0] for m in good])
    # The last sample has no step of its own: it shows what acted in the one before.
    acted = [m for m in moments if m.inputs is not None and m.disturbances is not None]
    acted = [acted[min(k, len(acted) - 1)] for k in range(len(good))]
    inputs = np.array([m.inputs[0] for m in acted if m.inputs is not None])
    w = np.array([m.disturbances[0] for m in acted if m.disturbances is not None])
    own = experiment.parameters(np.array([run]))
    traj = Trajectory.from_arrays(
        dt * np.arange(len(good)),
        states=(plant.State, states),
        inputs=(plant.Input, inputs),
        outputs=(plant.Outputs, runner.outputs(states, inputs, None, own, w)),
        name=plant.name,
        meta={"seed": seed, "dt": dt},
    )
    leaves = record.fields(plant.Disturbance)
    disturbances = tuple(
        Column(f"w_{leaf.name}", leaf.unit, "disturbance", w[:, k]) for k, leaf in enumerate(leaves)
    )
    return Trajectory(
        traj.t, (*traj.columns, *disturbances), traj.name, traj.meta, None, plant.State
    )
