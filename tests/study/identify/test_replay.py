"""Replays of simulated logs: what drives them, what is compared, and their derivatives."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Demand, Pose, Velocity
from skidpad.errors import InvalidValue
from skidpad.sensors.motion import motion_along
from skidpad.study.identify.replay import HORIZONS, Direction, Guess, Replay
from skidpad.study.identify.window_errors import errors_by_horizon, replayed_log
from skidpad.study.logs.log import Channel
from skidpad.vehicles.parts.trailers import Trailer

DT = 0.01
NAMES = ("x", "y", "yaw", "v_x", "v_y", "omega", "steer", "a_x", "a_y")


def drive_of(
    vehicle: Any,
    steer: Any,
    force: Any,
    *,
    commands: bool = False,
    v_x: float = 20.0,
    **changes: Any,
) -> Any:
    """A log of a simulated drive, as a preparation of a clean log would return it."""
    t = DT * np.arange(len(steer))
    inputs = record.names(vehicle.Input)
    table = np.zeros((len(t), len(inputs)))
    table[:, inputs.index("steer")] = steer
    table[:, inputs.index("F_drive")] = force
    simulator = sp.Simulator(vehicle, dt=DT)
    simulator.reset(v_x=v_x)
    run = simulator.run(table)
    channels = {name: run[name] for name in NAMES} | changes
    given = {f"u_{n}": Channel(t, table[:, k]) for k, n in enumerate(inputs)} if commands else {}
    return SimpleNamespace(
        name="drive",
        t=run.t,
        dt=DT,
        channels=channels,
        commands=given,
        gaps=(),
        derived=(),
        noise={},
    )


def waves(seconds: float) -> tuple[Any, Any]:
    t = DT * np.arange(round(seconds / DT))
    return 0.03 * np.sin(1.6 * t) * np.sin(0.3 * t), 300.0 + 200.0 * np.sin(0.5 * t)


@pytest.fixture(scope="module")
def car() -> Any:
    return sp.vehicles.single_track()


@pytest.fixture(scope="module")
def drive(car: Any) -> Any:
    return drive_of(car, *waves(20.0))


def largest(replay: Replay, guess: Guess | None = None) -> dict[str, float]:
    errors = replay.errors(replay.run([guess or Guess()]))[0]
    return {name: float(np.abs(errors[k]).max()) for k, name in enumerate(replay.channels)}


def test_logged_motion_drives_a_car_that_shows_its_own_log(car: Any, drive: Any) -> None:
    replay = Replay(car, drive, window=4.0)
    assert (replay.way.steer, replay.way.speed) == ("prescribed", "tracked")
    assert set(replay.channels) == {"x", "y", "yaw", "v_y", "omega", "a_y"}
    found = largest(replay)
    # What remains: the axle loads at the start, and rates that are constant over a period.
    assert found["omega"] < 5e-4
    assert found["v_y"] < 2e-3
    assert found["a_y"] < 0.01
    wrong = largest(Replay(car.with_params(I_z=2.0 * car.params.I_z), drive, window=4.0))
    assert wrong["omega"] > 10.0 * found["omega"]


def test_given_calibration_and_delays_hold_for_guesses_without_them(car: Any, drive: Any) -> None:
    values, delays = {"steer_ratio": 1.1, "omega_bias": 0.02}, {"steer": 0.03, "omega": -0.02}
    given = Replay(car, drive, window=4.0, sensors=values, delays=delays)
    plain = Replay(car, drive, window=4.0, longest=0.03)
    guess = Guess({f"log.{name}": value for name, value in values.items()}, delays)
    np.testing.assert_allclose(given.run(), plain.run([guess]), atol=1e-12)
    assert given.delay_of("omega") == -0.02
    slopes = given.slopes(Guess(), [Direction(delay="steer")])
    expected = plain.slopes(guess, [Direction(delay="steer")])
    np.testing.assert_allclose(slopes.by, expected.by, atol=1e-9)


def test_commands_of_the_log_drive_the_car_through_its_actuators(car: Any) -> None:
    drive = drive_of(car, *waves(12.0), commands=True)
    replay = Replay(car, drive, window=4.0)
    assert replay.way.uses_commands
    assert {"v_x", "steer", "a_x"} <= set(replay.channels)
    found = largest(replay)
    assert found["omega"] < 1e-4
    assert found["v_x"] < 0.02


def test_the_logged_speed_is_tracked_by_a_force_or_prescribed(car: Any, drive: Any) -> None:
    tracked = largest(Replay(car, drive, window=4.0, channels=["v_x", "omega"]))
    exact = largest(Replay(car, drive, window=4.0, speed="prescribed", channels=["v_x", "omega"]))
    assert tracked["v_x"] < 0.03
    assert exact["v_x"] < 1e-12
    # Without the force that rolling resistance takes, the front tyres have more grip left.
    assert tracked["omega"] < 0.2 * exact["omega"]


@pytest.mark.parametrize("name", ["kinematic_bicycle", "two_track"])
def test_other_vehicles_replay_the_same_log(drive: Any, name: str) -> None:
    vehicle = sp.vehicles.get(name)()
    replay = Replay(vehicle, drive, window=4.0, channels=["omega"])
    assert largest(replay)["omega"] < 2.0 * np.abs(drive.channels["omega"]).max()


def own_log(vehicle: Any, v: float, *, commands: bool) -> Any:
    """A log of a vehicle that its own body drives in waves at a constant speed."""
    body = vehicle.body
    rest = record.build(vehicle.State)
    simulator = sp.Simulator(vehicle, dt=DT)
    simulator.reset(body.placed(rest, Pose(0.0, 0.0, 0.0), Velocity(v, 0.0, 0.0), vehicle.params))

    def drive(now: float, x: Any) -> Any:
        a = v - body.velocity(x, record.build(vehicle.Input), vehicle.params).v_x
        return body.command(x, Demand(steer=0.04 * np.sin(1.5 * now), v=v, a=a), vehicle.params)

    run = simulator.run(drive, duration=6.0)
    motion = motion_along(run, vehicle)
    names = ("x", "y", "yaw", "v_x", "v_y", "omega", "steer")
    channels = {name: np.asarray(getattr(motion, name)) for name in names}
    given = {n: Channel(run.t, run[n]) for n in run.names if n.startswith("u_")}
    return SimpleNamespace(
        name="own",
        t=run.t,
        dt=DT,
        channels=channels,
        commands=given if commands else {},
        gaps=(),
        derived=(),
        noise={},
    )


@pytest.mark.parametrize("name", ["brains2", "commonroad_ks", "commonroad_st"])
def test_every_vehicle_shows_its_own_log_of_commands(name: str) -> None:
    vehicle = sp.vehicles.get(name)()
    replay = Replay(vehicle, own_log(vehicle, 12.0, commands=True), window=2.0, at="body point")
    assert replay.way.uses_commands
    found = largest(replay)
    assert found["omega"] < 1e-3
    assert found["y"] < 0.01


@pytest.mark.slow
def test_a_trailer_behind_a_car_follows_the_log_of_the_car() -> None:
    caravan = sp.vehicles.two_track(trailers=Trailer(m=700.0, I_z=900.0, l_axle=3.2, l_cg=3.0))
    log = own_log(caravan, 12.0, commands=False)
    with_trailer = largest(Replay(caravan, log, window=3.0, lead=1.5, channels=["omega"]))
    car = sp.vehicles.two_track()
    alone = largest(Replay(car, log, window=3.0, lead=1.5, channels=["omega"]))
    assert with_trailer["omega"] < 0.3 * alone["omega"]


def test_a_log_describes_the_point_that_is_named(car: Any, drive: Any) -> None:
    at_rear = {"v_y": drive.channels["v_y"] - car.params.l_r * drive.channels["omega"]}
    moved = SimpleNamespace(**vars(drive) | {"channels": drive.channels | at_rear})
    named = Replay(car, moved, window=4.0, channels=["v_y"], at="rear axle")
    assert (
        largest(named)["v_y"]
        < 0.2 * largest(Replay(car, moved, window=4.0, channels=["v_y"]))["v_y"]
    )
    with pytest.raises(InvalidValue, match="rear axle"):
        Replay(car, drive, at="front wing")


def test_the_bank_of_the_road_holds_a_car_in_its_turn(car: Any) -> None:
    bank = -0.3  # the right side is higher: a banked turn to the left
    on_bank = sp.vehicles.on_road(car, sp.Road.plane(bank=np.tan(bank)))
    t = DT * np.arange(300)
    simulator = sp.Simulator(on_bank, dt=DT)
    simulator.reset(v_x=20.0)
    table = np.zeros((len(t), len(record.names(on_bank.Input))))
    table[:, 0] = 0.01 * np.sin(2.0 * t)
    run = simulator.run(table)
    level = {name: run[name] for name in ("v_x", "v_y", "omega", "steer")}
    known = level | {"bank": np.full(len(run.t), bank)}

    def log(channels: Any) -> Any:
        return SimpleNamespace(
            name="bank",
            t=run.t,
            dt=DT,
            channels=channels,
            commands={},
            gaps=(),
            derived=(),
            noise={},
        )

    without, with_bank = (largest(Replay(car, log(c), window=2.0)) for c in (level, known))
    # The plane does not turn with the car, whose heading changes by 0.2 rad on it.
    assert np.abs(run["yaw"]).max() < 0.25
    assert with_bank["v_y"] < 0.15 * without["v_y"]


def test_derivatives_are_those_of_the_replay(car: Any, drive: Any) -> None:
    replay = Replay(car, drive, window=4.0)
    guess = Guess({"I_z": 1500.0}, {"steer": 0.013, "omega": 0.007})
    sizes = {"m": 1000.0, "l_f": 1.0, "log.steer_ratio": 1.0}
    directions = [Direction(params={name: size}) for name, size in sizes.items()]
    directions += [Direction(delay="steer"), Direction(delay="omega"), Direction(state="v_y")]
    slopes = replay.slopes(guess, directions)
    np.testing.assert_array_equal(slopes.channels, replay.run([guess])[0])
    place = record.names(car.State).index("v_y")
    for direction, by in zip(directions, slopes.by, strict=True):
        ends: list[Guess] = []
        for step in (1e-4, -1e-4):
            starts = np.zeros_like(replay.starts)
            starts[:, place] = step * (direction.state == "v_y")
            own = {"I_z": 1500.0, "m": car.params.m, "l_f": car.params.l_f, "log.steer_ratio": 1.0}
            params = {n: v + step * direction.params.get(n, 0.0) for n, v in own.items()}
            delays = {n: v + step * (n == direction.delay) for n, v in guess.delays.items()}
            ends.append(Guess(params, delays, starts))
        above, below = replay.run(ends)
        np.testing.assert_allclose(
            by, (above - below) / 2e-4, rtol=0.0, atol=1e-6 * np.abs(by).max()
        )


def test_a_delay_of_the_log_is_taken_out(car: Any, drive: Any) -> None:
    late = {"omega": np.interp(drive.t - 0.05, drive.t, drive.channels["omega"])}
    shifted = SimpleNamespace(**vars(drive) | {"channels": drive.channels | late})
    replay = Replay(car, shifted, window=4.0, channels=["omega"], longest=0.1)
    assert largest(replay)["omega"] > 5e-3
    assert largest(replay, Guess(delays={"omega": 0.05}))["omega"] < 5e-4


def test_a_sensor_ahead_of_the_centre_feels_the_yaw_acceleration(car: Any, drive: Any) -> None:
    rate = np.gradient(drive.channels["omega"], drive.t)
    moved = {"a_y": drive.channels["a_y"] + 1.2 * rate}
    shifted = SimpleNamespace(**vars(drive) | {"channels": drive.channels | moved})
    replay = Replay(car, shifted, window=4.0, channels=["a_y"])
    assert largest(replay, Guess({"log.imu_x": 1.2}))["a_y"] < 0.3 * largest(replay)["a_y"]


def test_windows_leave_out_gaps(car: Any, drive: Any) -> None:
    holed = drive.channels["v_x"].copy()
    holed[1000:1010] = np.nan
    gappy = SimpleNamespace(**vars(drive) | {"channels": drive.channels | {"v_x": holed}})
    replay = Replay(car, gappy, window=4.0)
    whole = Replay(car, drive, window=4.0)
    assert replay.windows == whole.windows - 1
    assert np.isfinite(replay.run()).all()


def test_errors_by_horizon_grow_with_a_wrong_model(car: Any, drive: Any) -> None:
    replay = Replay(car.with_params(m=1.3 * car.params.m), drive, window=5.0, stride=1.0)
    run = replayed_log("car", replay, Guess(), np.ones(replay.windows, dtype=bool))
    errors = errors_by_horizon(["car"], [run], HORIZONS)
    found = {e.horizon: e.rmse for e in errors if e.channel == "yaw" and e.horizon}
    assert list(found) == [0.5, 1.0, 2.0, 5.0]
    assert found[0.5] < found[5.0]


def test_what_the_log_lacks_is_named(car: Any, drive: Any) -> None:
    def without(*names: str) -> Any:
        channels = {n: v for n, v in drive.channels.items() if n not in names}
        return SimpleNamespace(**vars(drive) | {"channels": channels})

    with pytest.raises(InvalidValue, match="u_steer"):
        Replay(car, without("steer"))
    with pytest.raises(InvalidValue, match="v_x"):
        Replay(car, without("v_x"))
    with pytest.raises(InvalidValue, match="omegaa"):
        Replay(car, drive, channels=["omegaa"])
    with pytest.raises(InvalidValue, match="at least"):
        Replay(car, drive, span=(1.0, 1.2))


def test_a_hand_wheel_angle_is_scaled_by_the_steering_ratio(car: Any, drive: Any) -> None:
    channels = {n: v for n, v in drive.channels.items() if n != "steer"}
    channels["steering_wheel"] = 15.0 * drive.channels["steer"] + 0.02
    log = SimpleNamespace(**vars(drive) | {"channels": channels})
    replay = Replay(car, log, window=4.0)
    found = replay.observed.params.log
    assert found.steer_ratio == pytest.approx(1.0 / 15.0, rel=0.02)
    assert found.steer_offset == pytest.approx(-0.02 / 15.0, abs=1e-4)
    exact = Guess({"log.steer_ratio": 1.0 / 15.0, "log.steer_offset": -0.02 / 15.0})
    assert largest(replay, exact)["omega"] < 5e-4
    straight = channels | {"omega": 0.0 * drive.t}
    with pytest.raises(InvalidValue, match="steer_ratio"):
        Replay(car, SimpleNamespace(**vars(drive) | {"channels": straight}))


def test_steps_that_are_unstable_at_rest_only_are_taken(drive: Any) -> None:
    """As in a fit, whose first parameters are stable at rest and whose later ones are not."""
    car = sp.vehicles.single_track("sports")
    slow = car.with_params(I_z=1.3 * car.params.I_z)
    replay = Replay(slow, drive, window=4.0)
    assert replay.method.name == "rk4"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runs = replay.run([Guess(), Guess({"I_z": 0.9 * car.params.I_z})])
    assert np.isfinite(runs).all()


def test_a_path_from_an_unknown_place_is_not_compared(car: Any, drive: Any) -> None:
    whole = Replay(car, drive, window=4.0)
    x = drive.channels["x"].copy()
    row = whole.begins[1] - whole.lead
    x[row - 5 : row + 5] = np.nan
    holed: Any = SimpleNamespace(**vars(drive) | {"channels": drive.channels | {"x": x}})
    replay = Replay(car, holed, window=4.0)
    assert replay.windows == whole.windows
    known: Any = np.isfinite(replay.measured).any(axis=2)
    assert not known[replay.channels.index("x"), 1]
    assert known.sum() == known.size - 1
    errors = replay.errors(replay.run())[0, replay.channels.index("x")]
    assert np.nanmax(np.abs(errors)) <= largest(whole)["x"]
