"""What one does with a recording: look at it, plot it, analyse it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import skidpad as sp
from record_io.stages import full_stage, same_bits, small_stage, some_rows
from skidpad.errors import InvalidValue
from skidpad.recording import Recorder, Recording, read
from skidpad.stage import Body, Channel, Stage
from skidpad.stage.trajectory_stage import trajectory_stage

STAGE = full_stage()
TIMES = np.arange(100) / 50.0
ROWS = some_rows(STAGE, 100)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = tmp_path_factory.mktemp("recording") / "run.mcap"
    with Recorder(path, STAGE, meta={"seed": 4}) as writer:
        writer.add_rows(TIMES, ROWS)
        writer.add_scan(0, 0.5, [1.0, np.inf, np.nan, -np.inf, 3.0])
    return read(path)


def test_a_film_shows_all_of_it(recording: Recording) -> None:
    film = recording.film()
    assert film.stage == STAGE
    assert same_bits(film.times, TIMES)
    np.testing.assert_array_equal(film.rows, ROWS.astype(np.float32))
    (scan,) = film.scans
    assert scan.ranges.tolist() == [1.0, 20.0, 20.0, 0.0, 3.0], "beams end somewhere on a page"
    assert recording.film(fps=10.0).times.size == pytest.approx(20, abs=2)


def test_a_body_is_a_trajectory(recording: Recording) -> None:
    car = recording.trajectory("car")
    assert car.names == tuple(c.name for c in STAGE.channels if c.body == "car")
    assert same_bits(np.array(car["a_x"]), ROWS[:, STAGE.body("car").channels["a_x"]].copy())
    assert str(car.unit("a_x")) == "m/s²"
    assert car.unit("a_x").dimension == (1.0, 0.0, -2.0)
    assert {column.role for column in car.columns} == {"state", "input", "output"}
    assert car.meta == {"seed": 4}
    with pytest.raises(InvalidValue, match="there is no body 'bus'"):
        recording.trajectory("bus")


def test_a_run_of_a_simulator_comes_back_as_it_was(tmp_path: Path) -> None:
    car = sp.vehicles.four_wheel()
    simulator = sp.Simulator(car, dt=0.001)
    simulator.reset(v_x=5.0)
    run = simulator.run(lambda t, x: {"steer": 0.05}, duration=0.2)
    stage, times, rows = trajectory_stage({"car": run}, car)
    with Recorder(tmp_path / "car.mcap", stage) as writer:
        writer.add_rows(times, rows)
    read_back = read(tmp_path / "car.mcap").trajectory("car")
    assert [c[:3] for c in read_back.columns] == [c[:3] for c in run.columns]
    assert all(
        same_bits(a.values, b.values) for a, b in zip(read_back.columns, run.columns, strict=True)
    )


def test_one_table_has_a_row_per_body_and_time(recording: Recording, tmp_path: Path) -> None:
    recording.to_parquet(tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert table.num_rows == 4 * len(TIMES)
    frame = table.to_pandas()
    assert frame["body"].cat.categories.tolist() == ["car", "world", "car trailer", "crate"]
    for body in STAGE.bodies:
        part = frame[frame["body"] == body.name]
        assert same_bits(part["t"].to_numpy(), TIMES)
        for name, place in body.channels.items():
            assert same_bits(part[name].to_numpy(), ROWS[:, place].copy())
        others = set(frame.columns) - {"t", "body"} - set(body.channels)
        assert part[sorted(others)].isna().all().all()
    notes = table.schema.field("a_x").metadata
    assert (notes[b"unit"].decode(), notes[b"role"]) == ("m/s²", b"output")
    assert json.loads(table.schema.metadata[b"skidpad"])["meta"] == {"seed": 4}


def test_a_folder_has_a_file_per_body(recording: Recording, tmp_path: Path) -> None:
    recording.to_parquet(tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {f"{b.name}.parquet" for b in STAGE.bodies} | {"scans.parquet"}
    crate = sp.Trajectory.from_parquet(tmp_path / "run" / "crate.parquet")
    assert crate.same_data(recording.trajectory("crate"))
    scans = parquet.read_table(tmp_path / "run" / "scans.parquet").to_pylist()
    assert [(row["t"], row["body"], row["lidar"]) for row in scans] == [(0.5, "car", "front lidar")]
    np.testing.assert_array_equal(scans[0]["ranges"], [1.0, np.inf, np.nan, -np.inf, 3.0])


def test_columns_of_different_units_do_not_share_a_table(tmp_path: Path) -> None:
    channels = [Channel(n, "m", b, "state") for b in "ab" for n in ("x", "y", "yaw")]
    channels += [Channel("speed", "m/s", "a", "state"), Channel("speed", "rad/s", "b", "state")]
    shape = (((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)),)
    bodies = (Body("a", "vehicle", shape, 0, 1, 2), Body("b", "vehicle", shape, 3, 4, 5))
    stage = Stage("two", tuple(channels), bodies)
    with Recorder(tmp_path / "run.mcap", stage) as writer:
        writer.add_rows([0.0, 1.0], some_rows(stage, 2))
    read_back = read(tmp_path / "run.mcap")
    with pytest.raises(InvalidValue, match=r"b.speed is in rad/s, that of another body in m/s"):
        read_back.to_parquet(tmp_path / "run.parquet")
    assert not (tmp_path / "run.parquet").exists()
    read_back.to_parquet(tmp_path / "run")


def test_nothing_recorded_is_no_table(tmp_path: Path) -> None:
    Recorder(tmp_path / "run.mcap", small_stage()).close()
    with pytest.raises(InvalidValue, match="no samples"):
        read(tmp_path / "run.mcap").to_parquet(tmp_path / "run.parquet")
