"""The group `identify` with a short log: values and units are there; speed is not judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skidpad.bench import GROUPS, estimators, timing


def test_the_fit_and_scipy_find_the_car(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimators, "DURATION", 15.0)
    # Fresh processes compile, which other groups show.
    monkeypatch.setattr(estimators, "cold_and_cached", lambda job, repeats: {})
    (entry,) = estimators.fit_entries(replace(timing.QUICK, repeats=1))
    assert "identify" in GROUPS
    assert entry.name == "fit.single_track"
    assert entry.unit == "s"
    assert entry.ratio("scipy") > 0.0
    assert entry.own.error is not None
    assert entry.own.error < 0.2
    peer = entry.peers["scipy"].error
    assert peer is not None
    assert entry.own.error < 2.0 * peer + 0.05
