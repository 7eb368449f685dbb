"""`skidpad campaign` called in a folder of its own, and a small plan to call it with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skidpad.cli import main

PLAN = """
name: rolling
drive:
  vehicle: double_integrator
  dt: 0.1
  duration: 2
  controls: {a_s: 0.5}
  metrics: {way: {last: s}}
  events: {far: "s > 9"}
factors:
  x0.v_s: {range: [1, 5]}
design: {sobol: 16}
keep: {highest: {way: 2}}
"""


def in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, folder: Path, columns: int) -> None:
    """Without colours, on a terminal so wide, in a folder that has `PLAN` as `plan.yaml`."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "plan.yaml").write_text(PLAN)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    with pytest.raises(SystemExit) as stop:
        main(["campaign", *arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err
