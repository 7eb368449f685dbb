"""The group `export` with few steps: every form ends where the simulator does, to the bit."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skidpad.bench import export, timing, viewer
from skidpad.bench.timing import TIME

TINY = replace(timing.QUICK, repeats=1)


def test_entries_have_their_names_peers_and_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "STEPS", 20_000)
    monkeypatch.setattr(export, "CARS", {"kinematic_bicycle": "rk4"})
    monkeypatch.setattr(export, "CARS", {"kinematic_bicycle": "rk4"})
    monkeypatch.setattr(export, "installed_compilers", lambda: ["gcc"])
    found = {entry.name: entry for entry in export.entries(TINY)}
    kinds = ["c.gcc", "fmu.kernel", "fmu.step", "wasm.fused"]
    kinds += [] if viewer.why_not() else ["wasm.exact"]
    assert set(found) == {f"export.{kind}.kinematic_bicycle" for kind in kinds}
    for entry in found.values():
        json.dumps(entry.as_json(), allow_nan=False)
        assert entry.unit == TIME
        if not entry.absent:
            assert entry.own.error == 0.0
            assert min(peer.value for peer in entry.peers.values()) > 0.0


def test_the_cars_are_driven_and_turn() -> None:
    work = export.car("four_wheel")
    end = work.vehicle.State(*export.native(work)(200))
    assert end.x > 0.15 * export.SPEED
    assert end.yaw > 0.0
