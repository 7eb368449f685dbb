"""Measured logs: the same drive gives the same numbers, and what is lacking follows or is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.arrays import Array
from skidpad.errors import InvalidValue
from skidpad.study.logs import Log, read_log
from skidpad.study.logs.log import Channel
from skidpad.study.manoeuvres import (
    Acceleration,
    Case,
    Findings,
    Manoeuvre,
    Performing,
    Result,
    SlowRamp,
    StepSteer,
    Subject,
    adapt,
    drive_of_log,
    measured_reference,
    perform,
)
from skidpad.study.manoeuvres.case_run import CaseRun
from skidpad.study.manoeuvres.linear_handling import SineSweep
from skidpad.study.manoeuvres.logs import measure_drive
from skidpad.study.manoeuvres.longitudinal import BrakingInTurn
from skidpad.study.manoeuvres.steady_state import ConstantRadius
from skidpad.study.manoeuvres.transient_response import SingleSine, moved_aside
from study.manoeuvres.fakes import COARSE

CAR = Subject(sp.vehicles.single_track())


@cache
def step() -> Result:
    (result,) = perform([StepSteer(duration=2.0)], [CAR])
    return result


def written(folder: Path, run: CaseRun, *names: str, late: float = 7.3) -> Path:
    """A drive as a table, its times later."""
    columns = [run.t + late, *(run[name][:, 0] for name in names)]
    file = folder / "log.csv"
    heading = ",".join(["t", *names])
    np.savetxt(
        file, np.column_stack(columns), delimiter=",", header=heading, comments="", fmt="%.17g"
    )
    return file


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_simulated_drive_read_back_gives_its_own_metrics(tmp_path: Path, side: str) -> None:
    """Whatever the times of the log, and to either side."""
    run = next(run for run in step().runs if run.label == side)
    file = written(tmp_path, run, "v_x", "v_y", "omega", "steer", "a_y")
    drive, _ = drive_of_log(read_log(file))
    reference = measured_reference(drive, [step()])
    assert not reference.missing
    found = reference.of(CAR.name, "step_steer")
    assert found is not None
    for metric in found.metrics:
        np.testing.assert_allclose(metric.value, step()[metric.name], rtol=2e-3, atol=1e-6)
    assert {curve.kind for chart in found.charts for curve in chart.curves} == {"measured"}


def test_what_a_log_lacks_follows_from_the_rest(tmp_path: Path) -> None:
    run = next(run for run in step().runs if run.label == "left")
    log = read_log(written(tmp_path, run, "v_x", "v_y", "yaw", "steer", late=0.0))
    drive, (note,) = drive_of_log(log)
    assert "from its other columns: x, y, omega, speed, sideslip, a_x, a_y" in note
    inner = slice(5, -5)  # differences are one-sided at the ends
    for name in ("omega", "speed", "sideslip"):
        error = np.abs(drive[name] - run[name])[inner].max()
        assert error < 0.01 * np.abs(run[name]).max() + 1e-4, name
    for name in ("x", "y"):
        moved = run[name] - run[name][0]
        np.testing.assert_allclose(drive[name], moved, atol=2e-3 * np.abs(run["x"]).max())
    # A step of the wheels is a corner of the acceleration, which samples cut.
    assert np.median(np.abs(drive["a_y"] - run["a_y"])) < 0.01


def test_metrics_of_what_is_unknown_are_missing_and_said(tmp_path: Path) -> None:
    run = next(run for run in step().runs if run.label == "left")
    drive, notes = drive_of_log(read_log(written(tmp_path, run, "v_x", "omega", "steer")))
    assert "metrics that need it are missing: v_y, sideslip" in notes[-1]
    found = measure_drive(StepSteer(duration=2.0), CAR, drive, step().runs)
    assert np.isnan(found["tb_factor"].value).all()
    np.testing.assert_allclose(
        found["yaw_rate_rise_time"].value, step()["yaw_rate_rise_time"], rtol=1e-3
    )


STEADY = ("v_x", "omega", "steer")
"""Columns that tell a_y in a steady turn alone."""


def test_how_a_y_changes_is_not_known_without_sideways_motion(tmp_path: Path) -> None:
    """v_x omega lacks the change of v_y: it rises earlier, and further, than a_y does."""
    run = next(run for run in step().runs if run.label == "left")
    log = read_log(written(tmp_path, run, *STEADY))
    for at in (None, 7.3):
        drive, notes = drive_of_log(log, at)
        assert [note for note in notes if "a_y is v_x times omega" in note]
        found = measure_drive(StepSteer(duration=2.0), CAR, drive, step().runs)
        for name in ("lateral_acceleration_rise_time", "lateral_acceleration_overshoot"):
            assert np.isnan(found[name].value).all(), name
        steady = "steady_lateral_acceleration"
        np.testing.assert_allclose(found[steady].value, step()[steady], rtol=5e-3)


@pytest.mark.parametrize("more", ["a_y", "v_y", "sideslip"])
def test_one_column_of_sideways_motion_tells_how_a_y_changes(tmp_path: Path, more: str) -> None:
    run = next(run for run in step().runs if run.label == "left")
    drive, notes = drive_of_log(read_log(written(tmp_path, run, *STEADY, more)))
    assert not [note for note in notes if "a_y is v_x times omega" in note]
    found = measure_drive(StepSteer(duration=2.0), CAR, drive, step().runs)
    rise = "lateral_acceleration_rise_time"
    np.testing.assert_allclose(found[rise].value, step()[rise], rtol=0.02)


def weaving() -> CaseRun:
    """A yaw rate that follows an angle of growing frequency with 5 1/s, by hand."""
    t = np.arange(0.0, 30.0, 0.01)
    angle = 0.02 * np.sin(2.0 * np.pi * (0.1 + 0.05 * t) * t)
    columns = {"v_x": 25.0 + 0.0 * t, "steer": angle, "omega": 5.0 * angle}
    return drive_of_log(Log("weave.csv", {n: Channel(t, c) for n, c in columns.items()}))[0]


def test_of_a_frequency_response_the_slow_gain_is_left() -> None:
    found = measure_drive(SineSweep(speed=25.0), CAR, weaving())
    known = {m.name for m in found.metrics if np.isfinite(m.value).all()}
    assert {name for name in known if name.startswith("lateral")} == {
        "lateral_acceleration_steady_gain"
    }
    np.testing.assert_allclose(found["lateral_acceleration_steady_gain"].value, 125.0)
    assert "yaw_rate_phase_at_1_hz" in known
    assert not [chart for chart in found.charts if "lateral" in chart.title]


def test_a_single_sine_needs_the_peak_that_it_is_driven_to() -> None:
    t = np.arange(0.0, 8.0, 0.01)
    angle = 0.02 * np.where((t > 2.0) & (t < 4.0), np.sin(np.pi * t), 0.0)
    columns = {"v_x": 22.0 + 0.0 * t, "steer": angle, "omega": 5.0 * angle}
    drive, _ = drive_of_log(Log("sine.csv", {n: Channel(t, c) for n, c in columns.items()}))
    with pytest.raises(InvalidValue, match="no column a_y, nor v_y or sideslip to make it from"):
        adapt(SingleSine(), drive)
    sideways = Channel(t, 0.0 * t)
    series = {n: Channel(t, c) for n, c in columns.items()} | {"v_y": sideways}
    assert isinstance(adapt(SingleSine(), drive_of_log(Log("sine.csv", series))[0]), SingleSine)


def test_the_way_aside_needs_sideways_motion_or_places() -> None:
    """By hand: a car that slides to the left at 2 m/s without turning."""
    t = np.arange(0.0, 8.0, 0.01)
    columns = {"v_x": 20.0 + 0.0 * t, "omega": 0.0 * t}
    known = {"v_y": {"v_y": 2.0 + 0.0 * t}, "places": {"x": 20.0 * t, "y": 2.0 * t}, "none": {}}
    aside = {
        kind: moved_aside(drive_of_log(Log("l", {n: Channel(t, c) for n, c in all_.items()}))[0])
        for kind, all_ in ((kind, columns | more) for kind, more in known.items())
    }
    assert aside["v_y"] == pytest.approx(2.0 * 1.07)
    assert aside["places"] == pytest.approx(2.0 * 1.07)
    assert np.isnan(aside["none"])


@pytest.mark.parametrize(
    ("test", "renamed", "says"),
    [
        (StepSteer(), {"omega": "YawRate"},
         r"no column a_y, nor omega or yaw .* not used: YawRate; .*--map YawRate=omega "),
        (StepSteer(), {"omega": "Gier", "steer": "delta"},
         r"no column steer: .* not used: delta, Gier; .*--map delta=steer "),
        (SlowRamp(), {"omega": "YawRate"}, r"no column a_y, .*--map YawRate=omega "),
        (BrakingInTurn(), {"omega": "YawRate"}, r"no column a_y, .*--map YawRate=omega "),
    ],
)  # fmt: skip
def test_a_column_that_was_not_mapped_is_named(
    test: Manoeuvre, renamed: dict[str, str], says: str
) -> None:
    t = np.arange(0.0, 12.0, 0.02)
    angle: Array = np.where(t > 3.0, 0.02, 0.0)
    v: Array = np.interp(t, [0.0, 6.67, 10.0], [20.0, 20.0, 0.0])
    columns = {"v_x": v, "steer": angle, "omega": 5.0 * angle}
    series = {renamed.get(n, n): Channel(t, c) for n, c in columns.items()}
    drive, notes = drive_of_log(Log("log.csv", series))
    assert f"columns of the log that are not used: {', '.join(drive.source.unused)}" in notes
    with pytest.raises(InvalidValue, match=says):
        adapt(test, drive)


def test_steady_turns_are_not_sought_in_a_log_that_tells_none() -> None:
    t = np.arange(0.0, 12.0, 0.02)
    drive, _ = drive_of_log(Log("log.csv", {n: Channel(t, 20.0 + 0.0 * t) for n in ("v_x", "r")}))
    with pytest.raises(InvalidValue, match=r"which turns are steady is unknown.* not used: r;"):
        measure_drive(ConstantRadius(), CAR, drive)


def noise_log(signal: float, noise: float, *, ramp: float = 0.0) -> Log:
    """Random angles for 60 s, a yaw rate that is `signal` times them and noise of its own, white up
    to half of the sample rate; after 30 s the speed grows by `ramp`."""
    t = np.arange(0.0, 60.0, 0.02)
    angle, own = np.random.default_rng(7).normal(size=(2, len(t)))
    columns = {
        "v_x": 20.0 + ramp * np.maximum(t - 30.0, 0.0),
        "steer": 0.02 * angle,
        "omega": signal * 0.02 * angle + noise * own,
    }
    return Log("log.csv", {n: Channel(t, c) for n, c in columns.items()})


def test_noise_has_no_frequency_response() -> None:
    """An angle and a yaw rate that have nothing in common: whatever chance makes of them."""
    drive, _ = drive_of_log(noise_log(0.0, 0.1))
    found = measure_drive(SineSweep(speed=20.0), CAR, drive)
    known = {m.name for m in found.metrics if np.isfinite(m.value).all()}
    assert not {name for name in known if not name.endswith("coherence")}
    assert found["yaw_rate_coherence"].value < 0.1
    (note,) = [note for note in found.notes if note.startswith("yaw_rate has a coherence of 0.8")]
    assert "no steady gain" in note


def test_coherent_frequencies_of_a_noisy_log_are_told() -> None:
    """A gain of 5 with a tenth of its amplitude in noise: a coherence of 1 / 1.01 everywhere."""
    drive, _ = drive_of_log(noise_log(5.0, 0.01))
    found = measure_drive(SineSweep(speed=20.0), CAR, drive)
    assert found["yaw_rate_steady_gain"].value == pytest.approx(5.0, rel=0.1)
    assert found["yaw_rate_phase_at_1_hz"].value == pytest.approx(0.0, abs=0.1)
    assert np.isnan(found["yaw_rate_bandwidth"].value).all()


def test_a_frequency_response_is_that_of_one_speed() -> None:
    drive, _ = drive_of_log(noise_log(5.0, 0.0, ramp=0.5))
    # 30 s at 20 m/s, and 4 s in which it grows to 22 m/s.
    as_driven = adapt(SineSweep(), drive)
    assert isinstance(as_driven, SineSweep)
    assert as_driven.speed == pytest.approx((30.0 * 20.0 + 4.0 * 21.0) / 34.0, rel=1e-3)
    found = measure_drive(adapt(SineSweep(), drive), CAR, drive)
    assert any("within 10 % of its median" in note for note in found.notes)
    fast, _ = drive_of_log(noise_log(5.0, 0.0))
    v = 5.0 + 0.5 * fast.t[:, None]
    fast = CaseRun(fast.label, fast.t, {**fast.signals, "v_x": v}, source=fast.source)
    with pytest.raises(InvalidValue, match=r"speeds from 5\.0 to 35\.0 m/s and .* of 20\.0 m/s"):
        measure_drive(SineSweep(), CAR, fast)


def test_a_slow_ramp_without_sideways_motion_lacks_only_what_needs_it(tmp_path: Path) -> None:
    (ramp,) = perform([SlowRamp(sides=("left",))], [CAR], COARSE)
    run = ramp.runs[-1]
    for columns, lacks in (
        (("v_x", "omega", "steer", "a_y"), {"sideslip_at_limit"}),
        (("v_x", "omega", "steer"), {"sideslip_at_limit", "rear_gives_way"}),
    ):
        drive, _ = drive_of_log(read_log(written(tmp_path, run, *columns)))
        found = measure_drive(adapt(SlowRamp(), drive), CAR, drive)
        none = {m.name for m in found.metrics if np.isnan(m.value).any()}
        assert none == lacks
        for name in ("max_lateral_acceleration", "understeer_gradient", "angle_at_limit"):
            np.testing.assert_allclose(found[name].value, ramp[name], rtol=0.02)
        missing = f"without v_y or sideslip in the log: no {', '.join(sorted(lacks))}"
        assert missing in found.notes


def test_a_log_that_tells_no_metric_is_not_compared() -> None:
    (own,) = perform([SineSweep(speed=20.0)], [CAR], COARSE)
    drive, _ = drive_of_log(noise_log(0.0, 0.1))
    less = replace(own, findings=_without(own.findings, "coherence"))
    reference = measured_reference(drive, [less])
    assert not reference.findings
    assert "nothing can be compared with log.csv" in reference.missing["sine_sweep"]
    assert "coherence" in reference.missing["sine_sweep"]


def _without(findings: Findings | None, end: str) -> Findings:
    assert findings is not None
    return Findings([m for m in findings.metrics if not m.name.endswith(end)])


def test_holes_of_a_channel_are_filled_or_leave_it_out(tmp_path: Path) -> None:
    """By hand: a yaw rate that grows evenly; short holes are linear, a long one is none of ours."""
    t = np.arange(0.0, 20.0, 0.02)
    columns = {"t": t, "v_x": 20.0 + 0.0 * t, "omega": 0.01 * t, "yaw": 0.005 * t * t}
    cells = {name: [repr(float(v)) for v in values] for name, values in columns.items()}
    for k in (*range(100, 110), 300):
        cells["omega"][k] = ""
    path = tmp_path / "log.csv"
    rows = [",".join(cells), *map(",".join, zip(*cells.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n")
    drive, notes = drive_of_log(read_log(path))
    np.testing.assert_allclose(drive["omega"][:, 0], columns["omega"], atol=1e-12)
    assert notes[0] == (
        "omega has no value in 11 of 1000 samples, the first at t = 2 s: interpolated, over 0.22 s "
        "at most"
    )
    for k in range(300, 400):
        cells["omega"][k] = ""
    rows = [",".join(cells), *map(",".join, zip(*cells.values(), strict=True))]
    path.write_text("\n".join(rows) + "\n")
    drive, notes = drive_of_log(read_log(path))
    assert notes[0].startswith("omega is left out: omega has no value from t = 5.98 to 8 s; gaps")
    np.testing.assert_allclose(drive["omega"][5:-5, 0], columns["omega"][5:-5], atol=1e-9)


@pytest.mark.parametrize("L", [2.0, 2.8])
def test_the_wheelbase_that_a_gradient_is_with_is_said_or_given(L: float) -> None:
    """Wheels at L / R + K a_y by hand: with another wheelbase the gradient is another one."""
    own = float(CAR.wheel_base[0])
    found = measure_drive(ConstantRadius(), CAR, turns(0.002, L=L), wheel_base=L)
    assert found["understeer_gradient"].value == pytest.approx(0.002, abs=2e-6)
    assert not any("has no wheelbase" in note for note in found.notes)
    found = measure_drive(ConstantRadius(), CAR, turns(0.002, L=L))
    wrong = float(found["understeer_gradient"].value[0])
    assert abs(wrong - 0.002) > 1e-4
    # Another length does not undo the first one, so it is not taken for one that matters.
    lengths = CAR.with_lengths(wheel_base=L).with_lengths(l_r=1.6)
    assert (lengths.wheel_base == L).all()
    assert (lengths.l_r == 1.6).all()
    (note,) = [note for note in found.notes if "has no wheelbase" in note]
    assert f"{own:.4g} m: understeer_gradient {wrong:.4g} (10 % more" in note
    assert "--wheelbase gives another" in note


def turns(K: float, noise: float = 0.0, L: float = float(CAR.wheel_base[0])) -> CaseRun:
    """Turns of 60 m at several speeds with wheels at L / R + K a_y, by hand."""
    rng = np.random.default_rng(1)
    R, dt = 60.0, 0.02
    a_y = np.repeat([*np.linspace(-3.0, -0.4, 14), *np.linspace(0.4, 3.0, 14)], 400)
    v = np.sqrt(np.abs(a_y) * R)
    columns = {
        "v_x": v,
        "omega": a_y / v,
        "a_y": a_y,
        "steer": np.arctan(L / R) * np.sign(a_y) + K * a_y,
    }
    t: Array = dt * np.arange(len(a_y), dtype=float)
    noisy = {n: c + noise * np.abs(c).max() * rng.normal(size=len(t)) for n, c in columns.items()}
    log = Log("turns.csv", {name: Channel(t, column) for name, column in noisy.items()})
    return drive_of_log(log)[0]


@pytest.mark.parametrize("K", [0.002, 0.0, -0.001])
def test_the_gradient_of_turns_written_by_hand_is_found(K: float) -> None:
    found = measure_drive(ConstantRadius(), CAR, turns(K))
    assert found["understeer_gradient"].value == pytest.approx(K, abs=2e-6)
    assert found["largest_steady_lateral_acceleration"].value == pytest.approx(3.0)
    found = measure_drive(ConstantRadius(), CAR, turns(K, 0.02))
    assert found["understeer_gradient"].value == pytest.approx(K, abs=2e-4)


def test_a_drive_straight_on_is_no_steady_turn() -> None:
    t = np.linspace(0.0, 60.0, 3001)
    still = Log("straight", {"v_x": Channel(t, 0.0 * t + 20.0), "yaw": Channel(t, 0.0 * t)})
    reference = measured_reference(drive_of_log(still)[0], perform([ConstantRadius()], [KINEMATIC]))
    assert "no tyres" in reference.missing["constant_radius"]
    with pytest.raises(InvalidValue, match=r"has 0 steady turns of 3 s .*; gradients need 4"):
        measure_drive(ConstantRadius(), CAR, drive_of_log(still)[0])


KINEMATIC = Subject(sp.vehicles.kinematic_bicycle())
T = np.linspace(0.0, 10.0, 101)


@pytest.mark.parametrize(
    ("series", "says"),
    [
        ({"spd": Channel(T, T)}, "log has no column v_x .* say which one it is with --map"),
        ({"v_x": Channel(T, T, "km/h")}, "v_x is in km/h; it must be in m/s"),
        ({"v_x": Channel(T, np.full(T.shape, np.nan))}, "v_x .* has no value in any sample"),
        ({"v_x": Channel(T, T), "omega": Channel(T + 9.9, T)}, "has 2 samples at which all"),
        ({"v_x": Channel(T, T), "omega": Channel(T + 99.0, T)}, "has 0 samples at which all"),
    ],
)
def test_logs_that_say_too_little(series: dict[str, Channel], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        drive_of_log(Log("log", series))


def test_a_log_that_ends_early_is_refused() -> None:
    short = Log("short", {"v_x": Channel(T * 0.1, T)})
    with pytest.raises(InvalidValue, match=r"to 0.* which lasts 30 s from time 0"):
        measure_drive(Acceleration(), CAR, drive_of_log(short)[0])


@dataclass(frozen=True)
class Search:
    """Asks without end."""

    name: ClassVar[str] = "search"
    title: ClassVar[str] = "Search"
    source: ClassVar[str] = "no standard"

    def unfit(self, car: Subject) -> str:
        return ""

    def perform(self, car: Subject) -> Performing:
        while True:
            yield [Case(label="again", duration=1.0)]
        return Findings(())


def test_a_search_is_not_answered_by_one_log() -> None:
    drive, _ = drive_of_log(Log("log", {"v_x": Channel(T, T)}))
    with pytest.raises(InvalidValue, match="a single log cannot"):
        measure_drive(Search(), CAR, drive)


def test_the_time_at_which_a_test_begins_may_be_said() -> None:
    log = Log("log", {"v_x": Channel(T, T)})
    assert drive_of_log(log, at=3.0)[0].t[0] == -3.0


def test_a_vertical_accelerometer_is_without_gravity() -> None:
    still, moving = Channel(T, 9.8 + 0.3 * np.sin(T)), Channel(T, 0.3 * np.sin(T))
    for a_z, noted in ((still, True), (moving, False)):
        drive, notes = drive_of_log(Log("log", {"v_x": Channel(T, T), "a_z": a_z}))
        expected = a_z.values - 9.80665 * noted
        np.testing.assert_allclose(drive["a_z"][:, 0], expected[: len(drive.t)], atol=1e-9)
        assert any(note.startswith("a_z: gravity taken out") for note in notes) is noted


def test_the_speed_stands_in_for_the_velocity_ahead() -> None:
    drive, notes = drive_of_log(Log("log", {"speed": Channel(T, T)}))
    np.testing.assert_allclose(drive["v_x"][:, 0], T)
    assert any("v_x is the speed" in note for note in notes)
