"""Figures of vehicles whose motion is known in closed form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.demo.performing import Figures, Tally
from skidpad.demo.shows import InputColumn, Segment, StartLine, input_columns

DT = 0.01


def show(inputs: tuple[InputColumn, ...] = (), **fields: Any) -> Any:
    given: dict[str, Any] = {
        "vehicles": ("a",),
        "inputs": inputs,
        "start_lines": {},
        "meets": True,
    }
    return SimpleNamespace(**given | fields)


def counted(
    one: Any, motion: np.ndarray, inputs: np.ndarray | None = None, piece: int = 7
) -> list[Figures]:
    """Figures of a motion (T + 1, B, 6), handed over in pieces."""
    t = DT * np.arange(len(motion))
    given = np.zeros((len(motion) - 1, len(one.inputs))) if inputs is None else inputs
    none = np.zeros(len(one.vehicles), np.int64)

    def segment(begin: int, end: int) -> Segment:
        commanded = given[max(begin - 1, 0) : end - 1]
        return Segment(t[begin:end], motion[begin:end], commanded, none, t[:0], np.empty((0, 0)))

    tally = Tally(one, segment(0, 1))
    for begin in range(1, len(motion), piece):
        tally.add(segment(begin, min(begin + piece, len(motion))))
    assert tally.steps == len(motion) - 1
    return tally.figures()


def circling(radius: float, v: float, seconds: float) -> np.ndarray:
    """A steady circle: pose and velocity in world axes, (T + 1, 1, 6)."""
    t = DT * np.arange(round(seconds / DT) + 1)
    omega = v / radius
    a = omega * t
    columns = [radius * np.sin(a), radius - radius * np.cos(a), a, v * np.cos(a), v * np.sin(a)]
    return np.column_stack([*columns, np.full(len(t), omega)])[:, None]


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_a_steady_circle(piece: int) -> None:
    line = StartLine(0.0, 0.0, 0.0, 1.0)
    one = show(start_lines={"a": line})
    (found,) = counted(one, circling(10.0, 8.0, 20.0), piece=piece)
    assert found.distance == pytest.approx(160.0, rel=1e-5)
    assert found.top_speed == pytest.approx(8.0)
    # v²/r across; along only what a chord of a step differs from its tangent.
    assert found.a_across == pytest.approx(6.4, rel=1e-4)
    assert found.a_along == pytest.approx(6.4 * 0.5 * 0.8 * DT, rel=1e-2)
    # 160 m are two and a half times round.
    assert found.lap_times == pytest.approx([2.0 * np.pi * 10.0 / 8.0] * 2, rel=1e-4)
    assert found.pose == pytest.approx((10.0 * np.sin(16.0), 10 - 10 * np.cos(16.0), 16.0))
    assert (found.collisions, found.effort) == (0, 0.0)


def test_braking_is_along_the_vehicle_whichever_way_it_points() -> None:
    t = DT * np.arange(101)
    for yaw in (0.0, 2.0, -1.1):
        v, x = 20.0 - 5.0 * t, 20.0 * t - 2.5 * t * t
        c, s = np.cos(yaw), np.sin(yaw)
        full = np.full_like(t, yaw)
        motion = np.column_stack([c * x, s * x, full, c * v, s * v, 0 * t])[:, None]
        (found,) = counted(show(), motion)
        assert (found.a_along, found.a_across) == pytest.approx((5.0, 0.0), abs=1e-9)
        assert found.distance == pytest.approx(17.5)
        assert found.top_speed == 20.0


def test_a_vehicle_without_start_line_or_things_to_touch_has_neither() -> None:
    (found,) = counted(show(meets=False), circling(5.0, 3.0, 1.0))
    assert (found.lap_times, found.collisions) == (None, None)


def test_effort_is_the_way_of_the_inputs_in_spans() -> None:
    columns = (
        InputColumn(0, "steer", "m", 1.0),
        InputColumn(0, "tau", "m", None),
        InputColumn(1, "tau", "m", None),
    )
    motion = np.repeat(circling(5.0, 3.0, 0.04), 2, axis=1)
    inputs = np.array([[0.5, 0.0, 10.0], [0.0, 4.0, 10.0], [0.25, 0.0, 10.0], [0.25, 0.0, 10.0]])
    first, second = counted(show(columns, vehicles=("a", "b")), motion, inputs, piece=2)
    # steer goes 0.5 + 0.25 of 1.0; tau goes 8 of the 10 that both vehicles went through.
    assert first.effort == pytest.approx(0.75 + 0.8)
    assert second.effort == 0.0


@pytest.mark.parametrize(
    ("vehicle", "name", "expected"),
    [
        (sp.vehicles.formula_student(), "steer", 1.0),
        (sp.vehicles.formula_student(), "tau_rl", 2.0 * 276.75),
        (sp.vehicles.commonroad_std(), "a", 23.0),
        (sp.vehicles.ackermann_truck(), "velocity", 1.3),
        (sp.vehicles.ackermann_truck(), "acceleration", None),
        (sp.vehicles.double_integrator(), "a_s", 23.0),
    ],
)
def test_spans_of_inputs(vehicle: sp.Vehicle, name: str, expected: float | None) -> None:
    (column,) = [one for one in input_columns(vehicle, 0) if one.name == name]
    assert column.span == (None if expected is None else pytest.approx(expected))
