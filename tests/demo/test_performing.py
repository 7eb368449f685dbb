"""Performing shows: whole, in pieces, to an error; with what is kept of them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.demo.performing import perform, perform_into
from skidpad.demo.shows import (
    Driver,
    FilmBuffer,
    Segment,
    TrajectoryShow,
    WorldShow,
    driving_show,
    finished_show,
)
from skidpad.view.recording import read
from skidpad.view.stage import Disc
from skidpad.world.world import World
from skidpad.world.xml import loads
from unstable import unrefused

CAR = sp.vehicles.kinematic_bicycle()


def steered(t: float, x: Any) -> dict[str, float]:
    return {"steer": 0.2 * np.sin(2.0 * t), "tau_rl": 10.0, "tau_rr": 10.0}


def drive(**shown: Any) -> TrajectoryShow:
    given: dict[str, Any] = {"title": "A drive", "duration": 1.0} | shown
    start = {"v_x": 5.0}
    drivers = {"one": Driver(CAR, steered, start), "two": Driver(CAR, steered, {"y": 5.0})}
    return driving_show(drivers, dt=0.01, integrator="rk4", substeps=20, **given)


class Kept:
    """Everything that a show told."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    def add(self, segment: Segment) -> None:
        self.segments.append(segment)

    def whole(self, field: str) -> np.ndarray:
        return np.concatenate([getattr(one, field) for one in self.segments])


def told(show: Any, pieces: list[int], every: int = 1) -> Kept:
    kept = Kept()
    kept.add(show.begin(every))
    for steps in pieces:
        kept.add(show.advance(steps))
    return kept


ROBOT = (
    "<vehicle name='{name}'><init_pose>0 {y} 90</init_pose><init_vel>{v} 0 0</init_vel>"
    "<dynamics class='differential'><controller class='twist_ideal'><V>{v}</V></controller>"
    "</dynamics>{more}</vehicle>"
)
LIDAR = (
    "<sensor class='laser' name='s'><sensor_period>0.1</sensor_period><nrays>31</nrays></sensor>"
)
WALL = "<walls><shape><pt>-5 3</pt><pt>5 3</pt></shape></walls>"


def world() -> WorldShow:
    text = ROBOT.format(name="r", y=0, v=1, more=LIDAR) + ROBOT.format(
        name="q", y=-9, v=0.5, more=""
    )
    return WorldShow(World(loads(f"<mvsim_world version='1.0'>{text}{WALL}</mvsim_world>")))


@pytest.mark.parametrize("make", [drive, world])
@pytest.mark.parametrize("every", [1, 3])
def test_the_same_numbers_however_the_steps_are_divided(make: Any, every: int) -> None:
    one, many = told(make(), [40], every), told(make(), [1, 1, 5, 13, 20], every)
    for field in ("t", "motion", "inputs", "times", "rows"):
        np.testing.assert_array_equal(one.whole(field), many.whole(field))
    assert len(one.whole("t")) == 41
    assert len(one.whole("times")) == 1 + 40 // every


def test_rows_and_motion_of_driven_vehicles_are_those_of_their_simulators() -> None:
    kept, show = told(drive(), [30, 20]), drive()
    sim = sp.Simulator(CAR, 0.01, "rk4", substeps=20)
    sim.reset(y=5.0)
    run = sim.run(steered, steps=50)
    rows, body = kept.whole("rows"), show.stage.body("two")
    for name in ("x", "y", "yaw", "v_x", "omega", "steer", "a_y"):
        np.testing.assert_array_equal(rows[:, body.channels[name]], run[name])
    np.testing.assert_array_equal(rows[1:, body.channels["u_steer"]], run["u_steer"][:-1])
    motion = kept.whole("motion")[:, 1]
    speed = np.hypot(motion[:, 3], motion[:, 4])
    np.testing.assert_allclose(speed, np.hypot(run["v_x"], run["v_y"]), rtol=1e-12)
    # The velocity in world axes is the rate of the position.
    rate = np.gradient(motion[:, :2], 0.01, axis=0)
    np.testing.assert_allclose(motion[2:-2, 3:5], rate[2:-2], atol=2e-3)


def test_finished_runs_are_shown_as_they_are() -> None:
    sim = sp.Simulator(CAR, 0.01, "rk4", substeps=20)
    sim.reset(v_x=5.0)
    run = sim.run(steered, steps=50)
    show = finished_show({"one": run}, {"one": CAR}, title="Done", duration=0.5)
    assert show.dt == pytest.approx(0.01)
    kept = told(show, [20, 30])
    np.testing.assert_array_equal(kept.whole("rows")[:, 0], run["x"])
    np.testing.assert_array_equal(kept.whole("inputs"), run.inputs[:-1])
    later = run.starting_at(1.0)
    with pytest.raises(sp.InvalidValue, match="the same times"):
        finished_show({"one": run, "two": later}, {"one": CAR, "two": CAR}, title="", duration=1.0)


def test_a_world_counts_what_its_vehicles_run_into() -> None:
    show = world()
    outcome = perform(show, duration=4.0)
    q, r = outcome.tally.figures()
    assert (r.name, r.collisions, q.collisions) == ("r", 1, 0)
    begun = [e for e in show.world.contact_events if e.kind == "begin"]
    assert {name for e in begun for name in (e.a, e.b)} >= {"r"}
    assert r.a_along > 10.0
    assert q.distance == pytest.approx(2.0, abs=0.02)


def test_cones_are_counted_as_collisions() -> None:
    show = drive(discs=(Disc(3.0, 0.0, 0.1), Disc(50.0, 0.0, 0.1)))
    one, two = perform(show).tally.figures()
    assert (one.collisions, two.collisions) == (1, 0)


def test_samples_come_at_the_rate_and_scans_once() -> None:
    kept, show = Kept(), world()
    perform(show, duration=1.0, rate=20.0, keepers=[kept.add])
    np.testing.assert_allclose(kept.whole("times"), 0.05 * np.arange(21), atol=1e-9)
    scans = [scan for one in kept.segments for scan in one.scans]
    times = [scan.time for scan in scans]
    assert times == sorted(set(times))
    assert 9 <= len(times) <= 11
    assert all(scan.ranges.shape == (31,) for scan in scans)


def test_watchers_see_time_pass_to_the_end() -> None:
    seen: list[float] = []
    outcome = perform(drive(), watch=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    assert (outcome.done, outcome.stopped, outcome.error) == (pytest.approx(1.0), False, None)


@pytest.mark.filterwarnings("ignore:rk4 with dt = 0.01 s is unstable")
def test_a_vehicle_that_diverges_ends_the_show_with_what_was_there(tmp_path: Path) -> None:
    # Its motors react in 1 ms, which takes shorter steps with this method.
    driver = Driver(
        unrefused(CAR), lambda t, x: {"tau_rl": 10.0 if t > 0.2 else 0.0}, {"v_x": 10.0}
    )
    show = driving_show({"car": driver}, dt=0.01, integrator="rk4", title="Too fast", duration=5.0)
    kept = perform_into(show, tmp_path, "fast")
    assert isinstance(kept.outcome.error, sp.SimulationDiverged)
    assert 0.0 < kept.outcome.done < 5.0
    recording = read(tmp_path / "fast.mcap")
    assert recording.complete
    assert recording.times[-1] == pytest.approx(kept.outcome.done)
    assert np.isfinite(recording.rows[:, recording.stage.body("car").x]).all()
    assert (tmp_path / "fast.html").is_file()


def test_what_is_kept_is_what_happened(tmp_path: Path) -> None:
    kept = perform_into(world(), tmp_path / "made" / "anew", "w", duration=1.0, rate=200.0)
    assert kept.recording == tmp_path / "made" / "anew" / "w.mcap"
    recording = read(kept.recording)
    steps = told(world(), [200])
    np.testing.assert_allclose(recording.times, steps.whole("t"), atol=1e-9)
    np.testing.assert_allclose(recording.rows, steps.whole("rows"), rtol=0.0, atol=1e-12)
    assert [scan.time for scan in recording.scans] == pytest.approx(
        [scan.time for one in steps.segments for scan in one.scans]
    )
    page = (tmp_path / "made" / "anew" / "w.html").read_text("utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")


def test_nothing_is_written_unless_wanted(tmp_path: Path) -> None:
    kept = perform_into(drive(), tmp_path / "none", "d", record=False, page=False, duration=0.1)
    assert (kept.recording, kept.page) == (None, None)
    assert not (tmp_path / "none").exists()
    kept = perform_into(drive(), tmp_path / "page", "d", record=False, duration=0.1)
    assert [file.name for file in (tmp_path / "page").iterdir()] == ["d.html"]


def test_a_file_in_the_way_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("not a folder", "utf-8")
    with pytest.raises(sp.InvalidValue, match=r"cannot write into .*out"):
        perform_into(drive(), tmp_path / "out", "d")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"duration": -1.0}, "duration = -1.0 s must be"),
        ({"duration": np.nan}, "duration = nan s must be"),
        ({"rate": 0.0}, "rate = 0.0 Hz must be"),
        ({"rate": np.inf}, "rate = inf Hz must be"),
    ],
)
def test_bad_numbers_are_named(given: dict[str, float], said: str) -> None:
    with pytest.raises(sp.InvalidValue, match=said):
        perform(drive(), **given)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no way to send SIGINT to oneself only")
def test_ctrl_c_ends_between_two_steps_and_the_handler_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)

    def pressed(time: float) -> None:
        if time > 0.5:
            os.kill(os.getpid(), signal.SIGINT)

    outcome = perform(drive(), duration=1e5, watch=pressed)
    assert outcome.stopped
    assert 0.5 < outcome.done < 1e4
    assert signal.getsignal(signal.SIGINT) is before


def test_a_film_that_gets_too_long_keeps_every_second_sample() -> None:
    show, kept = world(), Kept()
    buffer = FilmBuffer(show.stage, most=60 * len(show.stage.channels))
    perform(show, duration=2.0, rate=100.0, keepers=[buffer.add, kept.add])
    film = buffer.film("a note")
    every = np.diff(film.times)
    np.testing.assert_allclose(every, every[0])
    assert every[0] in (pytest.approx(0.04), pytest.approx(0.08))
    at = np.searchsorted(kept.whole("times"), film.times - 1e-9)
    np.testing.assert_array_equal(film.rows, kept.whole("rows")[at].astype(np.float32))
    assert film.rows.size <= 60 * len(show.stage.channels)
    assert film.note == "a note"
