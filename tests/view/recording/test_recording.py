"""What one does with a recording: look at it, plot it, analyse it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.sensors import Imu
from skidpad.sensors.motion import motion_along
from skidpad.sensors.sensor import Runner
from skidpad.view.recording import Recorder, SensorMount, read
from skidpad.view.recording.reading import Recording
from skidpad.view.stage import Body, Channel, Stage
from skidpad.view.stages import trajectory_stage
from skidpad.world.contact.solids import ContactEvent
from view.recording.stages import full_stage, same_bits, small_stage, some_rows

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
    assert names == {f"{b.name}.parquet" for b in STAGE.bodies} | {"sensors"}
    crate = sp.Trajectory.from_parquet(tmp_path / "run" / "crate.parquet")
    assert crate.same_data(recording.trajectory("crate"))


def test_every_sensor_has_a_table_that_says_its_units(tmp_path: Path) -> None:
    mounts = [
        SensorMount("unit", "car", "imu", 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, oriented=True),
        SensorMount("gps", "car", "gnss", z=1.5, deviations=(2.0, 4.0)),
        SensorMount("bumper", "world", "bumper"),
    ]
    together = [SensorMount("odometry", body, "odometry") for body in ("car", "world")]
    random, path = np.random.default_rng(5), tmp_path / "run.mcap"
    given = [random.normal(size=(4, n)) for n in (10, 3)]
    wheels, stamps = random.normal(size=(4, 10)), [0.013, 0.113, 0.213, 7.0]
    events = [
        ContactEvent("begin", 0.25, "car", "crate", 1.5, 2.5, 0.6, 0.8, 300.0, -20.0, 0.25),
        ContactEvent("end", 0.75, "car", "crate", 1.5, 2.5, 0.6, 0.8, 350.0, -25.0, 0.25),
        ContactEvent("begin", 0.75, "Wände", "car", 0.0, 0.0, -1.0, 0.0, 1.0, 0.0, 0.75),
    ]
    with Recorder(path, STAGE, sensors=[*mounts, together], contacts=True) as writer:
        writer.add_rows(TIMES, ROWS)
        writer.add_scan(1, 0.5, [1.0, np.inf, np.nan])
        writer.add_scan(0, 0.625, [1.0, np.inf, np.nan, -np.inf, 3.0])
        for k, t in enumerate(stamps):
            for sensor, values in enumerate(given):
                writer.add_reading(sensor, t, values[k])
            writer.add_reading(2, t, [k % 2])
            writer.add_reading(3, t, wheels[k])
        for event in events:
            writer.add_contact(event)
    recording = read(path)
    assert recording.contacts == tuple(events)
    assert [log.mount for log in recording.sensors] == [*mounts, *together]
    recording.to_parquet(tmp_path / "run")
    folder = tmp_path / "run" / "sensors"
    # In degrees on the globe, in SI units elsewhere.
    rates, forces = [["rad/s"] * 3, ["m/s²"] * 3]
    inertial = [f"{kind}_{axis}" for kind in ("omega", "f") for axis in "xyz"]
    expected = {
        "car/unit": (given[0], inertial, rates + forces),
        "car/gps": (given[1], ["latitude", "longitude", "altitude"], ["deg", "deg", "m"]),
        "car/odometry": (
            wheels[:, :5], ["x", "y", "yaw", "v_x", "omega"], ["m", "m", "rad", "m/s", "rad/s"]),
        "world/odometry": (
            wheels[:, 5:], ["x", "y", "yaw", "v_x", "omega"], ["m", "m", "rad", "m/s", "rad/s"]),
        "world/bumper": (np.array([[0], [1], [0], [1]]), ["touching"], ["1"]),
    }  # fmt: skip
    for name, (values, columns, units) in expected.items():
        table = parquet.read_table(folder / f"{name}.parquet")
        quaternion = [f"orientation_{axis}" for axis in "xyzw"] if name == "car/unit" else []
        assert table.column_names == ["t", *columns, *quaternion]
        assert table["t"].to_pylist() == stamps
        for k, (column, unit) in enumerate(zip(columns, units, strict=True)):
            assert table[column].to_pylist() == values[:, k].tolist()
            assert table.schema.field(column).metadata[b"unit"].decode() == unit
        about = json.loads(table.schema.metadata[b"sensor"])
        assert f"{about['body']}/{about['name']}" == name
    about = json.loads(parquet.read_schema(folder / "car" / "unit.parquet").metadata[b"sensor"])
    assert [about[k] for k in ("x", "y", "z", "roll", "pitch", "yaw")] == list(mounts[0][3:9])
    scans = parquet.read_table(folder / "car" / "front lidar.parquet")
    assert scans["t"].to_pylist() == [0.625]
    np.testing.assert_array_equal(scans["ranges"][0].as_py(), [1.0, np.inf, np.nan, -np.inf, 3.0])
    notes = scans.schema.field("ranges").metadata
    assert (notes[b"unit"], notes[b"angle_unit"]) == (b"m", b"rad")
    assert json.loads(notes[b"angles"]) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    contacts = parquet.read_table(folder / "contacts.parquet")
    assert [ContactEvent(time=row.pop("t"), **row) for row in contacts.to_pylist()] == events
    assert contacts.schema.field("normal_impulse").metadata[b"unit"].decode() == "N·s"


def test_sensors_of_one_name_on_any_disk_have_files_of_their_own(tmp_path: Path) -> None:
    units = [SensorMount(name, "car") for name in ("a/b", "a_b", "A_B")]
    with Recorder(tmp_path / "run.mcap", STAGE, sensors=units) as writer:
        writer.add_rows(TIMES, ROWS)
    read(tmp_path / "run.mcap").to_parquet(tmp_path / "run")
    names = {path.stem for path in (tmp_path / "run" / "sensors" / "car").iterdir()}
    assert names == {"a_b", "a_b_2", "A_B_3", "front lidar"}


def test_readings_of_a_sensor_with_delay_keep_their_stamps(tmp_path: Path) -> None:
    car = sp.vehicles.four_wheel()
    simulator = sp.Simulator(car, dt=0.01)
    simulator.reset(v_x=5.0)
    run = simulator.run(lambda t, x: {"steer": 0.05}, duration=1.0)
    stage, times, rows = trajectory_stage({"car": run}, car)
    imu = Imu(rate=50.0, delay=0.035, dropout=0.3)
    runner, given = Runner(imu, 1, 0), []
    motion = motion_along(run, car)
    units = [SensorMount("imu", "car")]
    with Recorder(tmp_path / "car.mcap", stage, rate=5.0, sensors=units) as writer:
        for k, t in enumerate(times):
            writer.add(t, rows[k])
            reading = runner.step(t, type(motion)(*(float(np.asarray(leaf)[k]) for leaf in motion)))
            if reading is not None:
                given.append([reading.stamp, *reading[3:6], *reading[:3]])
                writer.add_reading(0, reading.stamp, given[-1][1:])
    back = read(tmp_path / "car.mcap")
    log = back.sensor("car", "imu")
    assert back.times.size == 6
    assert 20 < len(given) < 45, "some were lost"
    np.testing.assert_allclose(log.times, [row[0] for row in given], atol=1e-9)
    assert log.values.tolist() == [row[1:] for row in given]


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
