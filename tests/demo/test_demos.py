"""The demos as they are performed: what they promise to show is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import skidpad as sp
from pages import ROOT, blocks
from printed import unlike
from skidpad import demo
from skidpad.demo import drift, fan, following, lap, trailers
from skidpad.demo.drift import balance
from skidpad.demo.lap import random_track
from skidpad.demo.performing import Figures, Outcome, perform, perform_into, run_table
from skidpad.demo.shows import Show
from skidpad.view.recording import read
from skidpad.view.recording.reading import Recording


class Performed:
    """A demo that was performed, with its recording."""

    def __init__(self, show: Show, outcome: Outcome, recording: Recording) -> None:
        self.show, self.outcome, self.recording = show, outcome, recording
        self.figures = {one.name: one for one in outcome.tally.figures()}

    def column(self, body: str, name: str) -> np.ndarray:
        stage = self.recording.stage
        return self.recording.rows[:, stage.body(body).channels[name]]


def performed(name: str, folder: Path, **options: Any) -> Performed:
    show = demo.get(name).show(0)
    kept = perform_into(show, folder, name, page=False, rate=1.0 / show.dt, **options)
    assert kept.recording is not None
    assert kept.outcome.error is None
    return Performed(show, kept.outcome, read(kept.recording))


def check_against_rows(run: Performed, names: tuple[str, ...]) -> None:
    """Distance, top speed and accelerations from what was recorded at every step."""
    dt = run.show.dt
    for name in names:
        x, y, yaw = (run.column(name, one) for one in ("x", "y", "yaw"))
        found: Figures = run.figures[name]
        steps = np.hypot(np.diff(x), np.diff(y))
        assert found.distance == pytest.approx(steps.sum(), rel=1e-9)
        # From positions alone, which knows nothing of the velocities that the table is made of.
        assert found.top_speed == pytest.approx(steps.max() / dt, rel=2e-3)
        a = np.diff([x, y], n=2) / dt**2
        along = np.cos(yaw[1:-1]) * a[0] + np.sin(yaw[1:-1]) * a[1]
        across = np.cos(yaw[1:-1]) * a[1] - np.sin(yaw[1:-1]) * a[0]
        assert found.a_along == pytest.approx(np.abs(along).max(), rel=0.1, abs=0.05)
        assert found.a_across == pytest.approx(np.abs(across).max(), rel=0.05, abs=0.05)


def test_every_demo_has_a_line_that_fits() -> None:
    assert len(demo.DEMOS) >= 6
    for one in demo.DEMOS.values():
        assert one.name.isidentifier()
        assert 20 < len(one.text) < 66
    with pytest.raises(sp.InvalidValue, match=r"no demo 'lapp'; did you mean 'lap'\?"):
        demo.get("lapp")


@pytest.fixture(scope="module")
def two_laps(tmp_path_factory: pytest.TempPathFactory) -> Performed:
    return performed("lap", tmp_path_factory.mktemp("lap"))


@pytest.mark.slow
def test_the_car_drives_two_laps_and_knocks_over_no_cone(two_laps: Performed) -> None:
    car = two_laps.figures["car"]
    assert car.lap_times is not None
    first, flying = car.lap_times
    ideal = lap.plan(lap.random_track(0)).time
    assert first > flying == pytest.approx(ideal, rel=0.03)
    assert car.collisions == 0
    assert car.a_across > 1.3 * 9.81
    check_against_rows(two_laps, ("car",))


def test_the_page_shows_the_table_of_the_lap(
    two_laps: Performed, capsys: pytest.CaptureFixture[str]
) -> None:
    text = blocks((ROOT / "docs" / "demo.md").read_text("utf-8"))[0].text
    Console(width=80).print(run_table(two_laps.outcome, ["car"]))
    table = capsys.readouterr().out.splitlines()
    assert not unlike(text[1 : 1 + len(table)], table)


def test_the_laps_are_those_between_passes_of_the_start_line(two_laps: Performed) -> None:
    line = two_laps.show.start_lines["car"]
    x, y = two_laps.column("car", "x"), two_laps.column("car", "y")
    ahead = (x - line.x) * np.cos(line.heading) + (y - line.y) * np.sin(line.heading)
    near = np.hypot(x - line.x, y - line.y) < 5.0
    passed = np.flatnonzero((ahead[:-1] < 0.0) & (ahead[1:] >= 0.0) & near[1:])
    lap_times = np.diff(two_laps.recording.times[passed + 1])
    assert lap_times == pytest.approx(two_laps.figures["car"].lap_times, abs=0.01)


def test_the_effort_is_that_of_the_recorded_inputs(two_laps: Performed) -> None:
    p = sp.vehicles.formula_student().params
    spans = {
        "u_steer": 2 * p.steer_max,
        **{f"u_tau_{w}": 2 * p.tau_max for w in ("fl", "fr", "rl", "rr")},
    }
    ways = [np.abs(np.diff(two_laps.column("car", n)[1:])).sum() / s for n, s in spans.items()]
    assert two_laps.figures["car"].effort == pytest.approx(sum(ways), rel=1e-9)


def test_the_car_stays_within_the_cones(two_laps: Performed) -> None:
    discs = np.array([(d.x, d.y) for d in two_laps.show.stage.discs])
    path = np.column_stack([two_laps.column("car", n) for n in ("x", "y")])[::5]
    gap = np.hypot(*(path[:, None] - discs).transpose(2, 0, 1)).min(axis=1)
    assert gap.min() > 0.5 * sp.vehicles.formula_student().params.track_f


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3])
def test_the_driver_follows_its_plan(seed: int) -> None:
    """From a standing start where the plan brakes, and hard into bends of a flying lap."""
    car, plan = sp.vehicles.formula_student(), lap.plan(random_track(seed))
    driver, start = lap.RacingDriver(plan, car.params, lap.DT), plan.at(-lap.RUN_UP)
    sim = sp.Simulator(car, lap.DT)
    sim.reset(x=start.x, y=start.y, yaw=start.heading)
    run = sim.run(driver, duration=round(lap.LAPS * plan.time + 3.0, 1))
    line = plan.line.points[None]
    gap = np.hypot(*(np.stack([run["x"], run["y"]], 1)[::20, None] - line).transpose(2, 0, 1))
    assert gap.min(axis=1).max() < 0.6
    assert driver.progress > lap.LAPS * plan.line.length


def test_the_seed_decides_the_track_and_nothing_else_does() -> None:
    def rows(seed: int) -> np.ndarray:
        show = demo.get("lap").show(seed)
        first = show.begin(1)
        return np.vstack([first.rows, show.advance(30).rows])

    np.testing.assert_array_equal(rows(3), rows(3))
    assert not np.array_equal(rows(3), rows(4))


@pytest.mark.slow_cases("drift", "eight", "trailers")
@pytest.mark.parametrize(
    "name",
    [pytest.param("fan", marks=pytest.mark.slow), *(name for name in demo.DEMOS if name != "fan")],
)
def test_a_seed_gives_the_same_run_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skidpad.demo.fan.RUNS", 40)
    monkeypatch.setattr("skidpad.demo.eight.CARS", 8)

    def rows(pieces: tuple[int, ...]) -> np.ndarray:
        show = demo.get(name).show(5)
        return np.vstack([show.begin(2).rows, *(show.advance(steps).rows for steps in pieces)])

    np.testing.assert_array_equal(rows((150,)), rows((60, 90)))


@pytest.mark.slow
def test_grip_decides_the_circle_of_a_drift(tmp_path: Path) -> None:
    run = performed("drift", tmp_path, duration=14.0)
    check_against_rows(run, ("55 % grip", "115 % grip"))
    late = slice(-200, None)
    for grip in drift.GRIPS:
        name = f"{100 * grip:.0f} % grip"
        radius = run.column(name, "v")[late] / run.column(name, "omega")[late]
        slip = run.column(name, "beta")[late]
        np.testing.assert_allclose(slip, drift.SLIP, atol=0.01)
        np.testing.assert_allclose(run.column(name, "v")[late], drift.SPEED, atol=0.05)
        held = balance(drift.car(grip), drift.SPEED, drift.SLIP)
        np.testing.assert_allclose(radius, held.radius, rtol=0.02)
        # Rear wheels spin, front wheels point out of the bend.
        assert held.z[4] > 1.2 * drift.SPEED / drift.car(grip).params.R_w
        assert held.z[5] < 0.0
        # Grip is what turns the car: v² / r grows with it.
        share = (drift.SPEED**2 / held.radius) / (grip * 9.81)
        assert 0.8 < share < 1.0
    laps = [run.figures[f"{100 * g:.0f} % grip"].lap_times for g in (0.85, 1.0, 1.15)]
    assert [len(one or ()) for one in laps] == sorted(len(one or ()) for one in laps)


def test_a_drift_that_is_not_there_is_an_error() -> None:
    with pytest.raises(sp.InvalidValue, match="no steady drift at v = 60"):
        balance(drift.car(0.2), 60.0, -1.4)


def test_the_later_the_steering_the_wider_the_lane_change(tmp_path: Path) -> None:
    run = performed("lane_change", tmp_path)
    names = list(run.figures)
    over = [
        run.column(name, "y").max() + following.ROAD * k - following.LANE
        for k, name in enumerate(names)
    ]
    assert over[0] < 0.2 < over[1] < 0.5 < over[2] < following.LANE
    # The commands are late, not other ones: what the steering does follows them by the delay.
    for name, delay in zip(names, following.DELAYS, strict=True):
        asked, done = run.column(name, "u_steer"), run.column(name, "steer")
        late = [np.corrcoef(asked[: len(asked) - k], done[k:])[0, 1] for k in range(60)]
        lag = following.LANE_CHANGE_DT * int(np.argmax(late))
        assert lag == pytest.approx(delay + 0.27, abs=0.12)
    check_against_rows(run, tuple(names))


@pytest.mark.slow
def test_trailers_end_in_their_docks_and_nothing_is_hit(tmp_path: Path) -> None:
    run = performed("trailers", tmp_path, duration=42.0)
    for name, side in (("trailer_1", -1.0), ("trailer_2", 1.0)):
        x, y, yaw = run.figures[name].pose
        assert (x, y) == pytest.approx((0.0, side * -trailers.DOCK), abs=0.8)
        # Its front looks out of the dock.
        assert np.cos(yaw + side * 0.5 * np.pi) > np.cos(np.radians(4.0))
        hitch = run.column(name.replace("trailer", "truck"), "yaw") - run.column(name, "yaw")
        assert np.degrees(np.abs(hitch)).max() < 80.0
    assert [one.collisions for one in run.figures.values()] == [0] * len(run.figures)
    train, last = run.figures["train"], run.figures["wagon_3"]
    assert len(train.lap_times or ()) == 1
    assert 0.9 * train.distance < last.distance < train.distance


@pytest.mark.slow
def test_robots_work_without_running_into_each_other() -> None:
    show = demo.get("warehouse").show(1)
    outcome = perform(show, duration=40.0)
    figures = outcome.tally.figures()
    assert len(figures) == 8
    assert min(one.distance for one in figures) > 10.0
    assert max(one.top_speed for one in figures) < 1.6
    met = {tuple(sorted((e.a, e.b))) for e in show.world.contact_events}
    assert not [pair for pair in met if not any("tote" in name for name in pair)]


def test_the_robots_have_scans_in_the_recording(tmp_path: Path) -> None:
    show = demo.get("warehouse").show(0)
    kept = perform_into(show, tmp_path, "w", page=False, duration=1.0)
    assert kept.recording is not None
    scans = read(kept.recording).scans
    assert {scan.index for scan in scans} == set(range(8))
    near = np.concatenate([scan.ranges for scan in scans])
    assert 0.5 < np.nanmin(near) < 1.5


@pytest.mark.slow
def test_the_fan_opens_with_less_grip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan, "RUNS", 60)
    run = performed("fan", tmp_path)
    assert len(run.figures) in (fan.SHOWN, fan.SHOWN + 1)
    road = sp.control.Reference.along(fan.bend(), fan.SPEED)
    grips = {name: float(name.split("(")[1].split(" %")[0]) for name in run.figures}
    off = {n: road.offset(run.column(n, "x"), run.column(n, "y")).min() for n in run.figures}
    little = [off[n] for n, grip in grips.items() if grip < 55.0]
    much = [off[n] for n, grip in grips.items() if grip > 90.0]
    assert little
    assert max(little) < -4.0
    assert much
    assert min(much) > -1.0
    # The tyres give what their grip allows, whatever was asked of them.
    for name, grip in grips.items():
        assert run.figures[name].a_across < 1.05 * (grip + 0.5) / 100.0 * 1.66 * 9.81 + 1.0
    share = run.show.remarks[0]
    assert share.startswith("off the lane: 0.")
    lines = {line.kind for line in run.show.stage.lines}
    assert "band" in lines


@pytest.mark.slow
def test_the_runs_of_the_fan_are_those_of_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    car = sp.vehicles.formula_student()
    road = sp.control.Reference.along(fan.bend(), fan.SPEED)
    grip = np.array([0.5, 0.8, 1.0])
    study = fan.run_many(car, road, grip)
    for k, again in enumerate(fan.driven(car, road, grip)):
        np.testing.assert_array_equal(again.states[-1], study.final[k, : again.states.shape[1]])


@pytest.mark.slow
def test_the_figure_of_eight_is_timed_at_the_gate(tmp_path: Path) -> None:
    run = performed("eight", tmp_path, duration=25.0)
    car = run.figures["car"]
    x, y, t = run.column("car", "x"), run.column("car", "y"), run.recording.times
    # At the gate x grows through 0; circle for circle the sides take turns, the right one first.
    gate = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    assert len(gate) == len(car.lap_times or ()) == 4
    for k, end in enumerate(gate):
        begin = 0 if k == 0 else gate[k - 1]
        assert np.sign(np.mean(y[begin:end])) == (-1 if k % 2 == 0 else 1)
    assert np.diff(np.append(0.0, t[gate])) == pytest.approx(car.lap_times, abs=0.02)
    assert car.collisions == 0
    assert car.a_across == pytest.approx(1.21 * 9.81, rel=0.02)
    assert "kept their lane" in run.show.remarks[0]
