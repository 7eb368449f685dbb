"""The group `tyres` with little work: names, units and errors are there; speed is not judged."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from skidpad.bench import cars, timing
from skidpad.bench import peers_jax as jax_tyre
from skidpad.bench import work as tyre_work
from skidpad.bench.work import Device
from skidpad.compile.cpu import CpuMap
from skidpad.compile.program import Program
from skidpad.errors import InvalidValue

TINY = timing.Budget(
    vehicles=64,
    rk4_steps=20,
    radau_steps=4,
    checked=2,
    repeats=1,
    peer_seconds=0.001,
    weave=0.03,
    weave_repeats=1,
    fresh=1,
)
PLANTS = Path(__file__).parents[1] / "data" / "plants"


@pytest.fixture(autouse=True)
def without_jax(request, monkeypatch):
    if "jax" not in request.node.name:
        monkeypatch.setattr(jax_tyre, "tyre", lambda *_: "left out")


def test_every_entry_has_value_unit_and_error():
    entries = {entry.name: entry for entry in cars.tyre_entries(TINY)}
    units = {
        "tyre.mf61.float64.threads1": "evaluations/s",
        "tyre.mf61.float32.threads1": "evaluations/s",
        "tyre.call": "s",
        "tyre.car.mf61.float64.threads1": "steps/s",
        "tyre.car.load_sensitive.float64.threads1": "steps/s",
    }
    assert {name: entry.unit for name, entry in entries.items()} == units
    assert all(entry.own.value > 0.0 for entry in entries.values())
    double, single = (entries[f"tyre.mf61.{p}.threads1"] for p in ("float64", "float32"))
    assert double.own.error is not None
    assert double.own.error < 1e-14
    assert single.own.error is not None
    assert 1e-9 < single.own.error < 1e-5
    assert double.absent == {"jax": "left out"}
    assert set(entries["tyre.car.mf61.float64.threads1"].peers) == {
        "load_sensitive",
        "four_wheel",
    }


def test_a_device_has_its_entry():
    entry = cars.device_entry(Device.of("cpu"), tyre_work.tyre_program(), 300, TINY)
    assert (entry.name, entry.unit) == ("tyre.mf61.float32.cpu", "evaluations/s")
    assert entry.own.error is not None
    assert entry.own.error < 1e-5


@pytest.mark.slow
@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_jax_computes_the_same_forces():
    found = jax_tyre.tyre("cpu", "float64", 300, 2)
    assert not isinstance(found, str), found
    work = tyre_work.tyre_work(300)
    few = work._replace(columns=work.columns[:, : jax_tyre.TYRE_CHECKED])
    assert few.error(found["forces"]) < 1e-14
    assert len(found["times"]) == 2


def test_the_saved_program_is_what_would_be_traced_now():
    saved = Program.load(PLANTS / tyre_work.TYRE_FILE)
    assert saved.digest == tyre_work.traced_tyre().digest, "run python tools/make_plants.py"


def test_without_casadi_and_without_a_file_it_says_what_to_do(tmp_path):
    with pytest.raises(InvalidValue, match="install casadi, or write it"):
        tyre_work.tyre_program(tmp_path)


@pytest.mark.slow_cases("1-float32")
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("count", [1, 7, 16, 100])
def test_ports_that_are_shared_change_no_bits(precision, count):
    """What follows from the tyre's numbers alone is computed before the loop over contacts."""
    program, work = tyre_work.traced_tyre(), tyre_work.tyre_work(count).cast(precision)
    ports = [work.columns[None].swapaxes(1, 2), work.leaves()[None, None]]
    each, once = (
        CpuMap(program, precision, threads, shared).run(ports, count)[0]
        for threads, shared in ((1, ()), (2, (1,)))
    )
    assert np.isfinite(each).all()
    assert once.tobytes() == each.tobytes()
