"""The group `proving_ground` with little work: names and units are there; speed is not judged."""

from __future__ import annotations

from typing import Any

import pytest

from skidpad.bench import GROUPS, campaigns, timing


def test_every_entry_has_a_time_and_what_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fresh processes are played: they take as long as they say."""
    told: dict[str, Any] = {"manoeuvres": 3.0, "report": 1.0, "count": 15, "drives": 500}
    monkeypatch.setattr(campaigns, "_job", lambda cache: told)
    monkeypatch.setattr(campaigns, "VARIANTS", 3)
    entries = {entry.name: entry for entry in campaigns.manoeuvre_entries(timing.QUICK)}
    assert "proving_ground" in GROUPS
    asked = {name: entry.details["asked"] for name, entry in entries.items()}
    assert asked == {
        "manoeuvres.two_track.cold": 60.0,
        "manoeuvres.two_track.cached": 5.0,
        "manoeuvres.report": 5.0,
        "step_steer.variants1000": 4.0,
    }
    assert all(entry.unit == "s" and entry.own.value > 0.0 for entry in entries.values())
