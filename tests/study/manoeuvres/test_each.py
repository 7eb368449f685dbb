"""Vehicles that share rollouts: what comes of one has the bits that it has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Case, Kernels, StepSteer, Subject, perform
from skidpad.study.manoeuvres.case import straight
from skidpad.study.manoeuvres.kernels import concatenate_signals
from skidpad.study.manoeuvres.longitudinal import SplitBraking
from skidpad.study.manoeuvres.proving_ground import perform_each
from skidpad.study.manoeuvres.roads import Bump
from skidpad.study.manoeuvres.steady_state import ConstantRadius

FOUR_WHEEL, TWO_TRACK, FULL = sp.vehicles.four_wheel, sp.vehicles.two_track, sp.vehicles.full_car


def bits(result: Any) -> dict[str, bytes]:
    assert result.findings is not None, result.unfit
    found = {metric.name: metric.value.tobytes() for metric in result.findings.metrics}
    for run in result.last:
        found |= {f"{run.label} {name}": rows.tobytes() for name, rows in run.signals.items()}
    return found


@pytest.mark.slow_cases("bump", "grip", "circle")
@pytest.mark.parametrize(
    ("make", "manoeuvres", "params"),
    [
        # The radius of a manoeuvre, its length and the tyres' grip differ from row to row.
        (FOUR_WHEEL, [ConstantRadius(40.0), ConstantRadius(60.0)], [{"tyre.D": 1.0}, {}]),
        # The reference point moves on the body, and what the driver knows changes with it.
        (FOUR_WHEEL, [StepSteer(duration=2.0), StepSteer()], [{"l_f": 0.9}, {"steer_max": 0.4}]),
        # Disturbances: grip under each wheel.
        (TWO_TRACK, [SplitBraking(low=0.4), SplitBraking(low=0.5)], [{}, {}]),
        # Roads, whose heights are arrays.
        (FULL, [Bump(height=0.04), Bump(speed=6.0)], [{}, {}]),
    ],
    ids=["circle", "steps", "grip", "bump"],
)
def test_who_else_drives_does_not_show(make: Any, manoeuvres: Any, params: Any) -> None:
    vehicles = [make().with_params(own) for own in params]
    pairs = [(one, Subject(v)) for one, v in zip(manoeuvres, vehicles, strict=True)]
    together = perform_each(pairs, Kernels(threads=1))
    for (manoeuvre, _), vehicle, shared in zip(pairs, vehicles, together, strict=True):
        (alone,) = perform([manoeuvre], [Subject(vehicle)])
        assert bits(alone) == bits(shared)
    assert bits(together[0]) != bits(together[1])


def test_what_is_told_last_is_held_on() -> None:
    short, long = np.arange(6.0).reshape(2, 1, 3), np.arange(24.0).reshape(4, 2, 3)
    wide = concatenate_signals([short, long], [3, 2])
    assert wide.shape == (4, 5, 3)
    np.testing.assert_array_equal(wide[:2, :3], np.broadcast_to(short, (2, 3, 3)))
    np.testing.assert_array_equal(wide[2:, 1], np.broadcast_to(short[-1, 0], (2, 3)))
    np.testing.assert_array_equal(wide[:, 3:], long)


def test_one_that_is_refused_does_not_stop_the_others() -> None:
    cars = [Subject(FOUR_WHEEL()), Subject(FOUR_WHEEL()), Subject(FOUR_WHEEL())]
    fine, refused, also = perform_each(
        [(StepSteer(), cars[0]), (StepSteer(a_y=90.0), cars[1]), (StepSteer(), cars[2])],
        Kernels(threads=1),
    )
    assert "grip" in refused.unfit
    assert bits(fine) == bits(also)


def test_paths_of_a_first_drive_are_there() -> None:
    """Arrays of a path live as long as somebody holds it; nobody else does in a new process."""
    straight.cache_clear()
    kernels = Kernels(threads=1)
    (run,) = kernels.drive([(Subject(FOUR_WHEEL()), Case(label="on", duration=0.2, v=10.0))])
    assert np.isfinite(run["x"]).all()
