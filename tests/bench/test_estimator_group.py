"""The group `estimators` with little work: names and units are there; speed is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skidpad.bench import GROUPS, estimators, timing


def test_every_entry_has_a_value_and_the_textbook_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "STEPS", 60)
    budget = replace(timing.QUICK, vehicles=64, repeats=1)
    entries = {entry.name: entry for entry in estimators.entries(budget)}
    assert "estimators" in GROUPS
    assert list(entries) == [
        "estimate.single_track.ekf",
        "estimate.single_track.ukf",
        "estimate.single_track.mhe",
        "estimate.single_track.ekf.fleet",
    ]
    assert all(entry.own.value > 0.0 for entry in entries.values())
    ekf = entries["estimate.single_track.ekf"]
    assert ekf.unit == "s"
    assert ekf.own.error is not None
    assert ekf.own.error < 1e-9
    assert ekf.ratio("numpy") > 0.0
    assert "filterpy" in ekf.absent
