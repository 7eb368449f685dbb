"""Each step of a preparation undoes its fault, says how much, and can be left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from skidpad.core.arrays import Array
from skidpad.errors import InvalidValue
from skidpad.geometry.geodesy import Origin, place_in_world, position_in_world
from skidpad.study.logs.log import Channel, Log
from skidpad.study.logs.preparation import STEPS, Line, Prepared, prepare
from study.logs.faulty_logs import NAMES, NOISE, log_of, noisy, truth

T = truth()["t"]


def error(prepared: Prepared, name: str, true: Array | None = None) -> float:
    """Root mean square error of a channel, without half a second at the ends."""
    true = truth()[name] if true is None else true
    rest = prepared[name] - np.interp(prepared.t, T, true)
    return float(np.sqrt(np.nanmean(rest[50:-50] ** 2)))


def line_of(prepared: Prepared, step: str, channel: str) -> Line:
    (line,) = [
        one for one in prepared.lines if one.step == step and channel in one.channel.split(", ")
    ]
    return line


def both(log: Log, step: str, **settings: Any) -> tuple[Prepared, Prepared]:
    """A log prepared with a step and without it; only the first reports the step."""
    with_it = prepare(log, **settings)
    without = prepare(log, without=(step, "consistency"), **settings)
    assert any(line.step == step for line in with_it.lines)
    assert not any(line.step == step for line in without.lines)
    return with_it, without


@pytest.mark.parametrize("names", [NAMES, ("v_x", "omega", "a_x", "a_y", "steer")])
def test_nothing_changes_in_a_clean_log(names: tuple[str, ...]) -> None:
    columns = {"t": T, **{name: truth()[name] for name in names}}
    prepared = prepare(log_of(columns))
    assert not [line for line in prepared.lines if line.share > 0.0]
    assert prepared.channels.keys() == set(names)
    np.testing.assert_allclose(prepared.t, T, atol=1e-9)
    for name in names:
        np.testing.assert_allclose(prepared[name], truth()[name], atol=1e-7)
        assert prepared.noise[name] < 1e-6
    assert not prepared.gaps
    for name, latency in prepared.latency.items():
        assert abs(latency.value) < 0.003, name


def test_noise_of_sensors_is_measured_and_filtered() -> None:
    with_it, without = both(log_of(noisy()), "filter")
    for name, deviation in NOISE.items():
        assert with_it.noise[name] == pytest.approx(deviation, rel=0.1)
        assert error(without, name) == pytest.approx(deviation, rel=0.1)
        # What drives a replay is filtered, and a filter takes no more than it gives; what is
        # compared with a simulation is not.
        driving = name in ("v_x", "steer")
        assert error(with_it, name) < (0.6 if driving else 1.1) * deviation
        assert driving or error(with_it, name) > 0.9 * deviation
    assert "low-pass filter at" in line_of(with_it, "filter", "omega").text
    (line,) = [line for line in with_it.lines if line.step == "filter"]
    kept = line.text.split(" for the steps below, while the result keeps the noise")[0]
    assert "v_x" in kept.split("; ")[0]
    assert "omega" in kept.split("; ")[1]
    asked = prepare(log_of(noisy()), cutoff=5.0)
    assert "at 5 Hz" in line_of(asked, "filter", "omega").text
    assert error(asked, "omega") < 0.6 * NOISE["omega"]


def test_one_spike_does_not_move_an_error() -> None:
    """A spike of 32 rad/s in 60 s adds 0.41 rad/s to a root mean square error."""
    omega = truth()["omega"].copy()
    omega[3000] += 32.0
    with_it, without = both(log_of(noisy(omega=omega)), "spikes", cutoff=20.0)
    plain = error(prepare(log_of(noisy()), cutoff=20.0), "omega")
    assert error(with_it, "omega") == pytest.approx(plain, rel=0.05)
    assert error(without, "omega") > 10.0 * plain
    line = line_of(with_it, "spikes", "omega")
    assert line.text.startswith("1 of 6001 samples left out")
    assert "t = 30 s" in line.text


def test_spikes_of_three_samples_are_left_out_and_of_any_size() -> None:
    columns = noisy()
    for start, count, size in ((500, 1, 0.3), (1500, 2, -4.0), (2500, 3, 1e6)):
        columns["omega"][start : start + count] += size
    prepared = prepare(log_of(columns))
    assert line_of(prepared, "spikes", "omega").share == pytest.approx(6 / 6001)
    assert error(prepared, "omega") < 1.1 * NOISE["omega"]


def test_steps_and_impacts_are_no_spikes() -> None:
    """A step of the wheels, a pulse of 0.1 s, and a kerb that all accelerations feel at once."""
    columns = noisy()
    columns["steer"] = np.where(T > 20.0, 0.05, 0.0) + np.where((T > 30.0) & (T < 30.1), 0.1, 0.0)
    for name, shape in (("a_x", [-40.0]), ("a_y", [90.0]), ("a_z", [150.0])):
        columns.setdefault(name, 0.1 * np.sin(50.0 * T))[4000 : 4000 + len(shape)] += shape
    columns["a_y"][2000:2006] += [5.0, 30.0, 60.0, 25.0, -20.0, 8.0]
    prepared = prepare(log_of(columns), without=("filter", "consistency"))
    said = {line.channel: line.text for line in prepared.lines if line.step == "spikes"}
    assert said.keys() == {"a_x", "a_y", "a_z"}
    assert all(text.startswith("1 peaks kept, the first at t = 40 s") for text in said.values())
    np.testing.assert_array_equal(prepared["steer"], columns["steer"])
    assert prepared["a_y"][2002] > 40.0


def test_positions_that_jump_away_and_back_are_left_out() -> None:
    """A camera that sees something else for 8 s, with one true sample in between."""
    columns = noisy()
    away = (T > 20.0) & (T < 28.0) & (np.arange(len(T)) != 2500)
    for name, other in (("x", -40.0), ("y", 75.0), ("yaw", 2.0)):
        columns[name][away] = other + 0.01 * np.sin(np.arange(away.sum()))
    with_it, without = both(log_of(columns), "spikes")
    line = line_of(with_it, "spikes", "yaw")
    assert line.share == pytest.approx(away.mean())
    assert error(with_it, "x") < NOISE["x"]
    assert error(without, "x") > 10.0
    assert np.isnan(with_it["y"][2100:2400]).all()


def test_a_position_that_stays_where_it_jumped_to_is_kept() -> None:
    columns = noisy()
    columns["x"][3000:] += 30.0
    assert np.isfinite(prepare(log_of(columns), without=("consistency",))["x"]).all()


def test_a_value_that_is_missing_for_long_is_unknown() -> None:
    columns = noisy()
    columns["omega"][[100, 101, 102, 500]] = np.nan
    columns["omega"][700] = np.inf
    columns["omega"][2000:2200] = np.nan
    prepared = prepare(log_of(columns))
    line = line_of(prepared, "gaps", "omega")
    assert "no value in 205 of 6001 samples (1 of them infinite), the first at t = 1 s" in line.text
    assert "interpolated, over 0.04 s at most" in line.text
    assert "from t = 19.99 to 22 s" in line.text
    assert line.share == pytest.approx(205 / 6001)
    assert np.isnan(prepared["omega"][2000:2199]).all()
    assert np.isfinite(np.delete(prepared["omega"], range(2000, 2200))).all()
    assert not prepared.gaps  # the other channels are known
    filled = prepare(log_of(columns), without=("gaps",))
    assert np.isfinite(filled["omega"]).all()


def test_a_pause_of_the_logger_is_a_gap() -> None:
    paused = (T < 20.0) | (T > 27.0)
    log = log_of({name: values[paused] for name, values in noisy().items()})
    prepared = prepare(log)
    ((begin, end),) = prepared.gaps
    assert (begin, end) == pytest.approx((20.0, 27.0), abs=0.03)
    assert len({line.text for line in prepared.lines if line.step == "gaps"}) == 1


def test_a_command_keeps_its_own_times_and_holds_across_missing_values() -> None:
    values = np.repeat([0.0, 1.0, np.nan, 2.0], 10)
    command = Channel(0.5 + np.arange(40.0), values, "rad")
    log = log_of(noisy())
    prepared = prepare(Log("drive", {**log.channels, "u_steer": command}))
    np.testing.assert_array_equal(prepared.commands["u_steer"].values, values[~np.isnan(values)])
    assert "the last value is held" in line_of(prepared, "gaps", "u_steer").text
    assert "u_steer" not in prepared.channels


def test_one_of_samples_with_the_same_stamp_is_kept() -> None:
    stamps = T.copy()
    stamps[[100, 2000, 2001]] = stamps[[99, 1999, 1999]]
    stamps[[3000, 3001]] = stamps[[3001, 3000]]
    prepared = prepare(log_of(noisy(), stamps), without=("filter",))
    said = [line.text for line in prepared.lines if line.step == "stamps"]
    assert said == [
        "3 of 6001 samples left out, whose stamps repeat that of another",
        "1 of 6001 samples left out, whose stamps are out of order or no numbers",
    ]
    assert error(prepared, "omega") < 1.1 * NOISE["omega"]


def test_a_clock_that_is_set_back_runs_on() -> None:
    stamps = np.where(np.arange(len(T)) < 2000, T, T - 3.6)
    prepared = prepare(log_of(noisy(), stamps))
    line = line_of(prepared, "stamps", "omega")
    assert "set back by 3.6 s at t = 19.99 s" in line.text
    assert line.share == pytest.approx(4001 / 6001)
    assert error(prepared, "omega") < 1.1 * NOISE["omega"]


def test_rows_that_repeat_a_slow_sensor_are_left_out() -> None:
    """An inertial unit of 10 Hz in rows of 100 Hz, which repeat its last value."""
    held = 10 * (np.arange(len(T)) // 10)
    columns = noisy(without=("v_y", "steer"))
    columns |= {name: columns[name][held] for name in ("omega", "a_x", "a_y", "v_x")}
    with_it, without = both(log_of(columns), "repeats")
    line = line_of(with_it, "repeats", "omega")
    assert "a clock of 10 Hz in 100 rows a second" in line.text
    assert line.share == pytest.approx(0.9, abs=0.001)
    # Held values are late by half of their period, as if all others were early.
    assert abs(with_it.latency["yaw"].value) < 0.004
    assert without.latency["yaw"].value == pytest.approx(-0.045, abs=0.004)
    assert error(with_it, "omega") < 0.2 * error(without, "omega")


def test_a_sensor_that_hangs_is_unknown_meanwhile() -> None:
    columns = noisy()
    columns["omega"][3000:3400] = columns["omega"][3000]
    with_it, without = both(log_of(columns), "frozen")
    line = line_of(with_it, "frozen", "omega")
    assert "from t = 30 to 33.99 s while the vehicle moves: 399 of 6001 samples" in line.text
    assert np.isnan(with_it["omega"][3005:3395]).all()
    assert error(without, "omega") > 5.0 * error(with_it, "omega")


def test_a_sensor_at_rest_does_not_hang() -> None:
    """Ten seconds of standing still: speeds are exactly zero, and nothing else moves either."""
    rest = np.zeros(1000)
    columns = {
        name: np.concatenate([rest + values[0] * (name in ("x", "y", "yaw")), values])
        for name, values in noisy().items()
        if name != "t"
    }
    columns |= {n: v + NOISE[n] * np.sin(7.0 * np.arange(7001)) for n, v in columns.items()
                if n.startswith("a_")}  # fmt: skip
    columns["t"] = 0.01 * np.arange(7001)
    prepared = prepare(log_of(columns), without=("consistency",))
    assert not [line for line in prepared.lines if line.step == "frozen"]


def test_a_lateral_velocity_that_is_always_zero_is_none() -> None:
    columns = noisy(without=("x", "y"))
    columns["v_y"] = 0.0 * T
    prepared = prepare(log_of(columns))
    assert "v_y" not in prepared
    assert "no measurement" in line_of(prepared, "frozen", "v_y").text
    # Unless the positions are those of an axle that rolls.
    yaw, speed = truth()["yaw"], truth()["v_x"]
    for axis, part in (("x", np.cos(yaw)), ("y", np.sin(yaw))):
        columns[axis] = np.concatenate([[0.0], np.cumsum((speed * part)[1:] * 0.01)])
    columns["yaw"] = yaw
    np.testing.assert_array_equal(prepare(log_of(columns), without=("consistency",))["v_y"], 0.0)


def test_latencies_are_taken_out() -> None:
    delays = {"v_x": 0.12, "yaw": 0.05, "x": 0.2, "y": 0.2}
    late = {name: np.interp(T - delay, T, truth()[name]) for name, delay in delays.items()}
    columns = {name: values[50:] for name, values in noisy(**late).items()}
    with_it, without = both(log_of(columns), "latency")
    for name, delay in delays.items():
        found = with_it.latency[name]
        assert found.value == pytest.approx(delay, abs=0.006)
        assert error(with_it, name) < 0.2 * error(without, name)
        assert f"{found.value:.4f} s" in line_of(with_it, "latency", name).text
    assert not without.latency
    # The stretch at the ends that not all channels have is not used.
    assert with_it.t[-1] == pytest.approx(60.0 - 0.2, abs=0.03)
    assert line_of(with_it, "grid", "t").share > 0.0


def test_commands_keep_their_dead_time() -> None:
    log = log_of(noisy())
    command = Channel(T, np.interp(T - 0.3, T, truth()["steer"]), "rad")
    prepared = prepare(Log("drive", {**log.channels, "u_steer": command}))
    np.testing.assert_array_equal(prepared.commands["u_steer"].t, T)
    assert "u_steer" not in prepared.latency


def test_latitude_and_longitude_become_axes_to_east_and_north() -> None:
    origin = Origin(48.1, 11.5, 510.0)
    places = [place_in_world(origin, x, y, 0.0) for x, y in
              zip(truth()["x"][::10], truth()["y"][::10], strict=True)]  # fmt: skip
    log = log_of(noisy(without=("x", "y", "yaw", "v_y")))
    gnss = {
        name: Channel(T[::10], np.array([place[k] for place in places]), "deg")
        for k, name in enumerate(("latitude", "longitude", "height"))
    }
    prepared = prepare(Log("drive", {**log.channels, **gnss}))
    for name in ("x", "y"):
        assert error(prepared, name) < 0.01
    assert "latitude 48.1000000, longitude 11.5000000" in line_of(prepared, "gnss", "x").text
    # The direction of the track is no heading.
    assert "yaw" not in prepared
    course = truth()["yaw"] + np.arctan2(truth()["v_y"], truth()["v_x"])
    assert error(prepared, "course", course) < 0.005
    assert position_in_world(origin, places[5])[:2] == pytest.approx(
        (truth()["x"][50], truth()["y"][50]), abs=1e-6
    )


def test_an_antenna_is_moved_to_the_reference_point() -> None:
    yaw = truth()["yaw"]
    columns = noisy()
    columns["x"] = columns["x"] + 1.5 * np.cos(yaw) - 0.4 * np.sin(yaw)
    columns["y"] = columns["y"] + 1.5 * np.sin(yaw) + 0.4 * np.cos(yaw)
    prepared = prepare(log_of(columns), antenna=(1.5, 0.4))
    assert error(prepared, "x") < NOISE["x"]
    assert error(prepared, "y") < NOISE["y"]
    assert "(1.5, 0.4) m" in line_of(prepared, "derive", "x").text


def test_wheel_speeds_become_a_speed_by_positions() -> None:
    columns = noisy(without=("v_x", "v_y", "yaw"))
    rng = np.random.default_rng(4)
    for wheel in ("fl", "fr", "rl", "rr"):
        columns[f"spin_{wheel}"] = truth()["v_x"] / 0.31 + 0.1 * rng.normal(size=len(T))
    with_it, without = both(log_of(columns), "wheels")
    assert error(with_it, "v_x") < 0.02
    assert line_of(with_it, "wheels", "spin_fl").text.startswith("radius 0.3")
    assert "v_x" not in without
    given = prepare(log_of(columns), wheel_radius=0.3)
    assert np.nanmean(given["v_x"] / with_it["v_x"]) == pytest.approx(0.3 / 0.31, rel=2e-3)


def test_what_follows_from_other_channels_is_derived() -> None:
    with_it, without = both(log_of(noisy(without=("v_x", "v_y", "omega"))), "derive")
    assert line_of(with_it, "derive", "v_x").channel == "v_x, v_y"
    assert error(with_it, "v_x") < 0.1
    assert error(with_it, "v_y") < 0.1
    assert error(with_it, "omega") < 0.02
    assert not {"v_x", "v_y", "omega"} & without.channels.keys()
    speed = np.hypot(truth()["v_x"], truth()["v_y"])
    columns = noisy(without=("v_x", "v_y", "x", "y"), speed=speed)
    assert error(prepare(log_of(columns)), "v_x") < 0.06
    sideslip = np.arctan2(truth()["v_y"], truth()["v_x"])
    columns = noisy(without=("v_y", "x", "y"), sideslip=sideslip)
    assert error(prepare(log_of(columns)), "v_y") < 0.01


def test_an_acceleration_is_never_made_of_speed_and_yaw_rate() -> None:
    prepared = prepare(log_of(noisy(without=("a_x", "a_y", "v_y", "x", "y"))))
    assert not {"a_x", "a_y"} & prepared.channels.keys()


def test_channels_that_contradict_each_other_are_refused() -> None:
    columns = noisy()
    columns["a_y"] = -columns["a_y"]
    with pytest.raises(InvalidValue, match="a_y likely has its sign reversed"):
        prepare(log_of(columns))
    assert prepare(log_of(columns), without=("consistency",))["a_y"] is not None
    columns["a_y"] = np.random.default_rng(6).normal(0.0, 3.0, len(T))
    prepared = prepare(log_of(columns), without=("filter",))
    assert "hardly agree" in line_of(prepared, "consistency", "a_y").text


def test_a_common_grid_has_the_period_of_the_fastest_channel_or_the_given_one() -> None:
    """Three streams with clocks of their own: 50 Hz with jitter, 20 Hz and 200 Hz."""
    rng = np.random.default_rng(8)
    streams = {("omega",): (0.02, 0.003), ("x", "y", "yaw"): (0.05, 0.0), ("v_x",): (0.005, 0.0)}
    channels: dict[str, Channel] = {}
    for names, (period, jitter) in streams.items():
        t = np.arange(0.1, 59.9, period)
        t = t + jitter * rng.uniform(-1.0, 1.0, len(t))
        channels |= {name: Channel(t, np.interp(t, T, truth()[name])) for name in names}
    prepared = prepare(Log("drive", channels))
    assert prepared.dt == 0.01  # not finer than needed
    assert line_of(prepared, "grid", "v_x").text == "200 samples a second averaged to 100"
    for name in channels:
        assert error(prepared, name) < 0.002 * np.ptp(truth()[name])
    slow = prepare(Log("drive", channels), period=0.04)
    np.testing.assert_allclose(np.diff(slow.t), 0.04)


def test_heading_has_no_jumps_of_a_turn() -> None:
    columns = noisy()
    columns["yaw"] = (columns["yaw"] + 2.6) % (2.0 * np.pi) - np.pi
    assert np.abs(np.diff(prepare(log_of(columns))["yaw"])).max() < 0.1


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"without": ("spike",)}, "without = 'spike': allowed are stamps, repeats, gaps"),
        ({"period": 0.0}, "period = 0"),
        ({"cutoff": -1.0}, "cutoff = -1"),
        ({"gap": np.nan}, "gap = nan"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        prepare(log_of(truth()), **settings)


def test_a_log_without_motion_or_with_few_samples_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"no channel of a motion.* It has gear"):
        prepare(Log("drive", {"gear": Channel(T, 0.0 * T)}))
    short = {name: values[:5] for name, values in truth().items()}
    with pytest.raises(InvalidValue, match="has 5 samples"):
        prepare(log_of(short))
    with pytest.raises(InvalidValue, match="has no channel 'roll'"):
        prepare(log_of(truth()))["roll"]


def test_the_log_itself_stays_as_it_is() -> None:
    columns = noisy()
    columns["omega"][3000] += 32.0
    columns["yaw"] = (columns["yaw"] + 2.6) % (2.0 * np.pi)
    before = {name: values.copy() for name, values in columns.items()}
    prepare(log_of(columns))
    for name, values in before.items():
        np.testing.assert_array_equal(columns[name], values)


def test_every_step_is_listed_in_the_module() -> None:
    from skidpad.study.logs import preparation

    assert preparation.__doc__ is not None
    rows = [row for row in preparation.__doc__.splitlines() if row.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(STEPS)


def test_what_a_recording_reports_comes_before_its_states() -> None:
    columns = {"t": T, **{name: truth()[name] for name in ("v_x", "omega", "a_y", "x")}}
    columns["out_omega"] = columns["omega"] + 0.001
    prepared = prepare(log_of(columns), without=("imu",))
    np.testing.assert_allclose(prepared["omega"], truth()["omega"] + 0.001, atol=1e-9)
    assert "out_omega" not in prepared


def test_the_bank_of_a_road_is_a_channel_if_asked_for() -> None:
    """Accelerometers on a bank of -0.2 rad show 9.81 sin(0.2) m/s² less."""
    banked = noisy(a_y=truth()["a_y"] + 9.80665 * np.sin(-0.2))
    prepared = prepare(log_of(banked), bank=True)
    assert np.median(prepared["bank"]) == pytest.approx(-0.2, abs=0.02)
    assert "bank" in prepared.derived
    assert "degrees" in line_of(prepared, "bank", "bank").text
    assert "bank" not in prepare(log_of(banked))
    with pytest.raises(InvalidValue, match="omega"):
        prepare(log_of({n: v for n, v in banked.items() if n not in ("omega", "yaw")}), bank=True)
