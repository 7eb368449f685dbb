"""The example of the lane change, with few runs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "examples" / "lane_change.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lane_change_example", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_it_changes_the_lane_and_draws_it(
    example: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = example.drive(60, 3)
    offset = run.road.offset(run.nominal["x"], run.nominal["y"])
    assert np.abs(offset).max() < 0.3
    assert abs(offset[-1]) < 0.01
    low, high = run.runs.band("offset")
    assert (low[20:] < np.asarray(offset)[20:]).all()
    assert (high[20:] > np.asarray(offset)[20:]).all()
    furthest = np.abs(run.road.offset(run.worst["x"], run.worst["y"])).max()
    assert furthest >= np.abs([low, high]).max()
    figure = example.figure(run)
    assert [axes.get_xlabel() for axes in figure.axes] == ["x [m]", "t [s]", "t [s]", "t [s]"]
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(example, "drive", lambda *given: asked.append(given) or run)
    example.main(["--runs", "60", "--seed", "3", "--out", str(tmp_path / "lane.png")])
    assert asked == [(60, 3)]
    assert (tmp_path / "lane.png").stat().st_size > 50_000
    assert "60 runs of 6.4 s" in capsys.readouterr().out
