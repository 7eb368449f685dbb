"""Record classes that are made at run time: pickled here, they are the same in a fresh process."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import skidpad as sp
from core.made_records import RECORDS, VALUES, VEHICLES, probe
from run.fleet.scripts import run
from skidpad import ops
from skidpad import units as si
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.sensors.models import MountedSensor, SelectedOutputs

THINGS = {f"record: {n}": f for n, f in RECORDS.items()} | {
    f"vehicle: {n}": f for n, f in VEHICLES.items()
}

FRESH = """
    import json, pickle, sys
    sys.path.insert(0, TESTS)
    pickles = pickle.loads(open(FILE, "rb").read())
    seen = {}
    for name, text in pickles.items():
        try:
            thing = pickle.loads(text)
            from core.made_records import probe
            seen[name] = probe(thing), probe(pickle.loads(pickle.dumps(thing)))
        except Exception as error:
            seen[name] = repr(error)
    print(json.dumps(seen))
"""


@cache
def made(name: str) -> Any:
    return THINGS[name]()


def pickled(thing: Any) -> Any:
    try:
        return pickle.dumps(thing)
    except Exception as error:  # told by the one test that it is about
        return pickle.dumps(repr(error))


@cache
def elsewhere() -> dict[str, Any]:
    """What a process sees of all of them that knows nothing but their pickles."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "pickles"
        file.write_bytes(pickle.dumps({name: pickled(made(name)) for name in THINGS}))
        tests = str(Path(__file__).parents[1])
        return json.loads(run(f"TESTS, FILE = {tests!r}, {str(file)!r}", FRESH))


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.slow_cases("record: linear grid of 1 axes")
@pytest.mark.parametrize("name", THINGS)
def test_it_is_the_same_in_a_fresh_process(name: str) -> None:
    wanted = as_json(probe(made(name)))
    assert elsewhere()[name] == [wanted, wanted]


@pytest.mark.parametrize("name", THINGS)
def test_copies_have_its_class(name: str) -> None:
    thing = made(name)
    wanted = probe(thing)
    for same in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert type(same) is type(thing)
        assert probe(same) == wanted


def test_a_spawned_worker_interpolates_as_its_parent() -> None:
    name = "record: cubic grid of 2 axes with units"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(probe, made(name)).result() == probe(made(name))


def on_map(method: str) -> Any:
    """A vehicle on a map, local to this function."""
    kind = ops.grid_type(1, method, (si.N, si.m))
    State = record.define("State", {"x": si.m, "v": si.m_s}, {"x": 0.0, "v": 1.0})
    Input = record.define("Input", {"F": si.N}, {"F": 0.0})
    Params = record.define("Params", {"m": si.kg, "map": kind}, {"m": 2.0})

    def derivative(x: Any, u: Any, w: Any, p: Any) -> Any:
        return State(x.v, (u.F - ops.interpolate(p.map, x.x)) / p.m)

    model = sp.Model("on_map", State, Input, Params, derivative=derivative)
    return sp.VehicleFactory(model)(map=force(method))


def force(method: str, scale: float = 1.0) -> Any:
    return ops.grid(scale * VALUES, method=method, units=(si.N, si.m))


@pytest.mark.parametrize("method", ops.METHODS)
def test_a_plant_from_a_file_knows_how_its_maps_are_interpolated(
    method: str, tmp_path: Path
) -> None:
    """A map of the other kind would be read as one of its own."""
    fleet = sp.Fleet(on_map(method), 0.01, "euler")
    fleet.save(tmp_path / "plant")
    loaded = sp.Fleet.load(tmp_path / "plant")
    (other,) = set(ops.METHODS) - {method}
    for there in (loaded, pickle.loads(pickle.dumps(loaded))):
        assert record.interpolation(type(there.plant.params.map)) == method
        record.build(there.plant.Params, base=there.plant.params, map=force(method, 2.0))
        with pytest.raises(InvalidValue, match=rf"Params\.map needs {method} .* whose .* {other}"):
            record.build(there.plant.Params, base=there.plant.params, map=force(other))


def test_a_plant_that_names_no_way_to_interpolate_is_refused(tmp_path: Path) -> None:
    sp.Fleet(on_map("cubic"), 0.01, "euler").save(tmp_path / "plant")
    text = (tmp_path / "plant").read_text()
    for wrong in ('{"map":"quintic"}', '{"map":1}', '{"nothing":"cubic"}', '["map"]'):
        (tmp_path / "damaged").write_text(text.replace('{"map":"cubic"}', wrong))
        with pytest.raises(InvalidValue, match="damaged plant file"):
            sp.Fleet.load(tmp_path / "damaged")


def test_grids_within_records_must_be_interpolated_as_declared() -> None:
    rough, smooth = (sp.Road.profile(VALUES, 0.5, method=method).record for method in ops.METHODS)
    kind = record.define("Params", {"m": si.kg, "road": type(rough)})
    record.build(kind, m=1.0, road=rough)
    with pytest.raises(InvalidValue, match=r"Params\.road\.surface\.profile needs linear"):
        record.build(kind, m=1.0, road=smooth)
    with pytest.raises(InvalidValue, match=r"Params\.road\.surface\.profile needs linear"):
        record.build(kind, base=kind(1.0, rough), **{"road.surface": smooth.surface})


@pytest.mark.parametrize("name", ["vehicle: wheeled robot", "vehicle: local"])
def test_runs_of_such_vehicles_are_pickled(name: str) -> None:
    first = sp.Simulator(made(name), 0.01, "euler").run({}, steps=3)
    for same in (pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert same.same_data(first)
        assert same.State is first.State
        assert same[1] == first[1]


SENSORS: dict[str, Any] = {
    "full state": lambda: sp.sensors.FullState.of(made("vehicle: wheeled robot")),
    "selected outputs": lambda: SelectedOutputs(made("vehicle: two_track"), ["v_x", "a_y"]),
    "mounted": lambda: MountedSensor(made("vehicle: two_track"), sp.sensors.Gnss()),
}


@pytest.mark.parametrize("name", SENSORS)
def test_sensors_are_pickled_after_use_as_before(name: str) -> None:
    """What they have made of the vehicle's records by then are classes of no module."""
    sensor = SENSORS[name]()
    fresh = pickle.dumps(sensor)
    used = (record.names(sensor.Truth), record.names(sensor.Reading))
    for same in (pickle.loads(fresh), pickle.loads(pickle.dumps(sensor)), copy.deepcopy(sensor)):
        assert (record.names(same.Truth), record.names(same.Reading)) == used
        assert same.rate == sensor.rate
