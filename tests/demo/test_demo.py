"""The demo as `skidpad demo` runs it, once for all tests of this file."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.demo import LAPS, main
from skidpad.demo.drive import Run, gate_times, summary
from skidpad.demo.figure_of_eight import SKIDPAD
from skidpad.demo.report import sweep_table
from skidpad.demo.sweep import Sweep


class Shown(NamedTuple):
    """What the demo printed and the folder it wrote into."""

    text: str
    folder: Path


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    folder = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as text:
        patch.setenv("COLUMNS", "80")
        patch.setenv("NO_COLOR", "1")
        main(folder)
    return Shown(text.getvalue(), folder)


@pytest.fixture(scope="module")
def recorded(shown: Shown) -> sp.Trajectory:
    return sp.Trajectory.from_parquet(shown.folder / "figure_of_eight.parquet")


def test_the_table_names_the_figures_within_80_columns(shown: Shown) -> None:
    *table, plot, recording = shown.text.splitlines()
    assert max(len(line) for line in table) <= 80
    for name in ("laps", "speed", "lateral acceleration", "distance to", "real-time factor"):
        assert sum(line.startswith(name) for line in table) >= 1
    assert plot.endswith(str(shown.folder / "figure_of_eight.png"))
    assert recording.endswith(str(shown.folder / "figure_of_eight.parquet"))


def test_it_writes_a_plot_and_a_recording_and_nothing_else(shown: Shown) -> None:
    files = sorted(path.name for path in shown.folder.iterdir())
    assert files == ["figure_of_eight.parquet", "figure_of_eight.png"]
    assert (shown.folder / "figure_of_eight.png").read_bytes().startswith(b"\x89PNG")


def test_the_car_stays_on_the_line(recorded: sp.Trajectory) -> None:
    assert recorded.error is None
    from_centres = [np.hypot(recorded.x, recorded.y - side * 9.125) for side in (-1, 1)]
    off = np.minimum(*(np.abs(d - 9.125) for d in from_centres))
    assert off.max() < 0.3


def test_the_pace_is_spirited_and_the_wheels_stay_down(recorded: sp.Trajectory) -> None:
    assert recorded.v_x[0] == 0.0
    assert 0.8 * 9.81 < np.abs(recorded.a_y).max() < 1.3 * 9.81
    assert not recorded.wheel_lift.any()
    # Once rolling the speed hardly changes, not even where the car turns over.
    assert np.ptp(recorded.between(5.0, recorded.t[-1]).v_x) < 0.3


def test_the_laps_alternate_between_the_circles(recorded: sp.Trajectory) -> None:
    assert len(summary(Run(recorded, SKIDPAD, 1.0)).lap_times) == LAPS
    for k, (begin, end) in enumerate(pairwise([0.0, *gate_times(recorded)])):
        assert np.sign(np.mean(recorded.between(begin, end).y)) == (-1 if k % 2 == 0 else 1)


def test_the_steering_is_smooth(recorded: sp.Trajectory) -> None:
    turning = np.diff(recorded.steer)
    reversals = np.count_nonzero(turning[1:] * turning[:-1] < -1e-10)
    # A swing from one circle to the other has an overshoot and its return.
    assert reversals <= 2 * 2 * LAPS


def circling(laps: float, period: float = 8.0) -> sp.Trajectory:
    """The ideal line at constant speed; `period` is the time for a lap of both circles."""
    t = np.linspace(0.0, laps * period, round(laps * 500) + 1)
    angle = 4.0 * np.pi * t / period
    side = np.where(np.mod(t, period) < 0.5 * period, -1.0, 1.0)
    states = np.zeros((t.size, 11))
    states[:, 0], states[:, 1] = 9.125 * np.sin(angle), side * 9.125 * (1.0 - np.cos(angle))
    car = sp.vehicles.formula_student()
    return sp.Trajectory.from_arrays(t, (car.State, states))


def test_gate_times_of_the_ideal_line() -> None:
    np.testing.assert_allclose(gate_times(circling(2.3)), [4.0, 8.0, 12.0, 16.0], atol=1e-3)
    assert gate_times(circling(0.4)).size == 0


def test_a_fleet_with_no_loss_or_no_success_is_reported() -> None:
    grip = np.array([0.5, 0.75, 1.0])
    for kept, words in (((1, 1, 1), "all"), ((0, 0, 0), "none"), ((0, 1, 1), "above 50 % grip")):
        table = sweep_table(Sweep(grip, np.array(kept, dtype=bool), 10.0, 1e6))
        assert words in rendered(table)


def rendered(table: object) -> str:
    from rich.console import Console

    with redirect_stdout(io.StringIO()) as text:
        Console(width=80).print(table)
    return text.getvalue()


def test_a_file_in_the_way_of_the_folder_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("not a folder", encoding="utf-8")
    with pytest.raises(sp.InvalidValue, match=r"cannot write into .*out"):
        main(tmp_path / "out")
