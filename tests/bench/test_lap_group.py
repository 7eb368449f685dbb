"""The group `lap` with little work: both ways find the same lap; speed is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skidpad.bench import GROUPS, lap, timing


def test_plain_casadi_finds_the_same_lap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lap, "POINTS", 60)
    monkeypatch.setattr(lap, "LENGTH", 1000.0)
    entries = {entry.name: entry for entry in lap.entries(replace(timing.QUICK, repeats=1))}
    assert "lap" in GROUPS
    assert list(entries) == ["lap.circuit500", "lap.circuit500.derivatives"]
    whole = entries["lap.circuit500"]
    assert whole.own.error is not None
    assert whole.own.error < 1e-6
    assert all(entry.unit == "s" and entry.ratio("casadi") > 0.0 for entry in entries.values())
