"""Vehicles driven by commands: delay, lag and steady error after a step and a ramp.

The vehicle takes an angle of its front wheels or a yaw rate, and a speed or an acceleration. Each
command is varied while the others are constant, without feedback. `Lag` is the theory: a dead time
and a rate-limited first-order lag, as the parameters of command-driven models describe them.

The accuracy of robots is tested by turning on the spot, driving straight, in an arc and round a
square. They are commanded a speed and a yaw rate over time, without feedback. The path by wheel
odometry is compared with the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...units import m, m_s, m_s2, rad, rad_s, s
from .case import Case, Signal, before
from .case_run import SIDES, CaseRun, cumulative_integral, first_time, params_of, values_at
from .manoeuvre import (
    LABELS,
    Chart,
    Curve,
    Findings,
    Metric,
    Performing,
    StandardManoeuvre,
    chart,
    curve,
)
from .subject import Subject, loop_needed, takes, tyres_needed


@dataclass(frozen=True, eq=False)
class Lag:
    """Rate-limited first-order lag after a dead time; each field (V,).

    y' = (target - y) / time_constant, with |y'| no larger than `rate`.
    """

    dead_time: Array
    time_constant: Array
    rate: Array
    """Largest rate; infinite without a limit."""
    asked: float
    """Height of the command step from zero; positive."""
    factor: Array
    """Factor on the command."""
    bias: Array
    """Offset of the model's own measurement."""
    band: Array
    """Dead band: error below which it does not move."""

    @property
    def start(self) -> Array:
        """Value of the lagged quantity before the step."""
        return self._end(0.0, 0.0)

    @property
    def change(self) -> Array:
        """Total change of the value by the step; positive."""
        return self._end(self.start, self.asked) - self.start

    @property
    def steady_error(self) -> Array:
        """Steady value after the step, less the command."""
        return self.start + self.change - self.asked

    def _end(self, at: Any, command: float) -> Array:
        goal = self.factor * command - self.bias
        return goal + np.clip(at - goal, -self.band, self.band)

    @property
    def _slow(self) -> Array:
        """Remaining change of the value below which the rate is no longer limited."""
        return np.minimum(self.change, self.rate * self.time_constant)

    @property
    def to_63_percent(self) -> Array:
        """Time in s from the end of the dead time to 63 % of the change."""
        left, slow = self.change * np.exp(-1.0), self._slow
        limited = (self.change - np.maximum(left, slow)) / self.rate
        return limited + self.time_constant * np.log(np.maximum(slow / left, 1.0))

    def step(self, t: Array) -> Array:
        """Response of the first variant to the step at time zero, at times (T,)."""
        tau, rate, slow = self.time_constant[0], self.rate[0], self._slow[0]
        goal, since = self.change[0], np.maximum(t - self.dead_time[0], 0.0)
        bend = (goal - slow) / rate
        after = slow * np.exp(-np.maximum(since - bend, 0.0) / tau)
        # The rate may be infinite, so products with it are avoided.
        limited = goal - (goal - slow) * since / bend if bend > 0.0 else after
        return self.start[0] + goal - np.where(since < bend, limited, after)

    def behind_ramp(self, slope: float) -> Array:
        """Delay in s behind a rising ramp of the command, once steady.

        NaN where the rate limit or a scaling factor keeps the value from following.
        """
        follows = (slope < self.rate) & (self.factor == 1.0)
        behind = self.dead_time + self.time_constant + (self.bias + self.band) / slope
        return np.where(follows, behind, np.nan)

    def way_to_rest(self, v: m_s, share: float) -> Array:
        """Distance in m from a command of zero speed until the speed falls to `share` of `v`.

        Applies to a lag of the speed.
        """
        tau, rate = self.time_constant, self.rate
        slow = np.minimum(v, rate * tau)
        limited = (v * v - np.maximum(slow, share * v) ** 2) / (2.0 * rate)
        return v * self.dead_time + limited + tau * np.maximum(slow - share * v, 0.0)

    def braking_way(self, v: m_s, share: float) -> Array:
        """Distance in m from a command of the deceleration `asked` until the speed falls to
        `share`.

        Applies to a lag of the deceleration that has settled long before the vehicle stops.
        """
        tau, a, lost = self.time_constant, self.change, (1.0 - share) * v
        end = lost / a + tau
        return v * self.dead_time + v * end - a * (0.5 * end * end - tau * end + tau * tau)


def lag_of(car: Subject, named: str, asked: float) -> Lag | None:
    """Lag of an input according to the parameters of the vehicle; None if they do not describe one.

    Dead times are parameters such as `steer_time_delay`, next to `steer_time_constant`.
    """
    late = car.vehicle.model.dead_times.get(named)
    constant = f"{(late or '').removesuffix('delay')}constant"
    if late is None or not hasattr(car.vehicle.params, constant):
        return None

    def values(name: str, usual: float) -> Array:
        own = [getattr(vehicle.params, name, usual) for vehicle in car.each]
        return np.array(own, dtype=float)

    prefix = late.removesuffix("_time_delay")
    rates = {"steer": "steer_rate_lim", "vel": "vel_rate_lim"}
    factors = {"steer": "debug_steer_scaling_factor", "acc": "debug_acc_scaling_factor"}
    steers = prefix == "steer"
    return Lag(
        dead_time=values(late, 0.0),
        time_constant=np.maximum(values(constant, 0.0), values("least_time_constant", 0.0)),
        rate=values(rates.get(prefix, ""), np.inf),
        asked=asked,
        factor=np.maximum(values(factors.get(prefix, ""), 1.0), 0.0),
        bias=values("steer_bias" if steers else "", 0.0),
        band=values("steer_dead_band" if steers else "", 0.0),
    )


AVERAGED: s = 0.5
"""Time at the end of a run over which a steady value is averaged."""
STOPPED = 0.01
"""Share of the initial speed below which a vehicle counts as stopped."""


def why_rough(car: Subject) -> str:
    """Reason why metrics that depend on the dead time are not smooth in the parameters; empty if
    they are."""
    late = ", ".join(car.vehicle.model.dead_times)
    return f"commands act late by whole steps of the simulation ({late})" if late else ""


def commands_needed(car: Subject, test: Any = None) -> str:
    """Requirement: a vehicle without tyres that takes a commanded speed or acceleration."""
    if not tyres_needed(car):
        return f"{car.name} has tyres: the tests of cars are for it"
    return "" if takes(car, "v") or takes(car, "a") else f"{car.name} takes neither speed nor drive"


class _Channel(NamedTuple):
    """Command of the vehicle and the signal that responds to it."""

    name: str
    signal: str
    unit: str
    demand: str
    """Field of `Case` that holds the command."""
    rest: float
    """Command before the step."""
    change: float
    lag: Lag | None
    """Lag according to the parameters of the vehicle; None if they do not describe one."""

    @property
    def words(self) -> str:
        return "steering angle" if self.name == "steer" else self.name.replace("_", " ")


@dataclass(frozen=True)
class CommandSteps(StandardManoeuvre):
    """A step and a ramp of each command of the vehicle."""

    speed: m_s = 5.0
    """Speed of the test for vehicles that reach at least twice this speed; others drive at half of
    their top speed."""
    steer: rad = 0.1
    omega: rad_s = 0.5
    """Yaw rate for a vehicle that turns on the spot."""
    a: m_s2 = 1.0
    duration: s = 6.0
    """Duration of the step, and of the ramp to the same value."""
    name = "command_steps"
    title = "Steps and ramps of commands"
    source = "ISO 11342:1994 (paraphrased): dead time, time constant and accuracy"
    needs = (commands_needed,)

    def perform(self, car: Subject) -> Performing:
        """Drive all commands at once, each in a run of its own."""
        channels = self._channels(car)
        shapes: dict[str, Signal] = {
            "step": lambda t: (t >= 0.0).astype(float),
            "ramp": lambda t: np.clip(t / self.duration, 0.0, 1.0),
        }
        runs = yield [self._case(car, one, *shape) for shape in shapes.items() for one in channels]
        pairs = list(zip(channels, runs, runs[len(channels) :], strict=False))
        metrics = [m for one, step, ramp in pairs for m in self._metrics(car, one, step, ramp)]
        return Findings(metrics, [_chart(one, step) for one, step, _ in pairs])

    def _channels(self, car: Subject) -> list[_Channel]:
        v = self._speed(car)
        channels: list[_Channel] = []

        def add(name: str, signal: str, unit: str, demand: str, rest: float, change: float) -> None:
            own = lag_of(car, named, change)
            channels.append(_Channel(name, signal, unit, demand, rest, change, own))

        if (named := takes(car, "steer")) and car.vehicle.body.steer is not None:
            angle = min(self.steer, 0.5 * car.abilities.steer_max)
            add("steer", "steer", "rad", "steer", 0.0, angle)
        elif named := takes(car, "omega"):
            lock = car.abilities.steer_max  # such a vehicle steers to reach a yaw rate
            most = v * np.tan(lock) / car.abilities.wheel_base if lock else car.limits.omega_max
            add("yaw_rate", "omega", "rad/s", "omega", 0.0, min(self.omega, 0.5 * float(most)))
        if named := takes(car, "v"):
            add("speed", "v_x", "m/s", "speed", v, 0.4 * v)
        elif named := takes(car, "a"):
            room = (car.limits.v_max - v) / self.duration
            a = min(self.a, 0.5 * car.limits.a_max, 0.5 * room)
            add("acceleration", "a_x", "m/s²", "a", 0.0, a)
        return channels

    def _speed(self, car: Subject) -> m_s:
        most = car.limits.v_max if car.limits.v_max < inf else 2.0 * self.speed
        return min(self.speed, 0.5 * most)

    def _case(self, car: Subject, one: _Channel, kind: str, shape: Any) -> Case:
        v = self._speed(car)
        asked: Any = {"speed": v, one.demand: lambda t: one.rest + one.change * shape(t)}
        return Case(f"{one.name} {kind}", self.duration, v, hold=0.0, run_in=2.0, **asked)

    def _metrics(self, car: Subject, one: _Channel, step: CaseRun, ramp: CaseRun) -> list[Metric]:
        kept = step.since(0.0)
        start = step.since(-0.1, -0.01)[one.signal].mean(axis=0)
        final = kept.since(kept.t[-1] - AVERAGED)[one.signal].mean(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shape = (kept[one.signal] - start) / (final - start)
        # Find the start of the response from its first hundredths, which are straight for every
        # lag.
        begins = 2.0 * first_time(kept.t, shape, 0.01) - first_time(kept.t, shape, 0.02)
        begins = np.maximum(begins, 0.0)
        late = first_time(kept.t, shape, 1.0 - np.exp(-1.0)) - begins
        end = ramp.since(self.duration - AVERAGED, self.duration)
        told = (end.t / self.duration)[:, None]
        behind = ((told - (end[one.signal] - one.rest) / one.change) * self.duration).mean(axis=0)
        name, words, own, rough = one.name, one.words, one.lag, why_rough(car)
        dead = to_63 = none = error = delay = None
        if own is not None:
            dead, to_63, none, error = own.dead_time, own.to_63_percent, 0.0, own.steady_error
            delay = own.behind_ramp(one.change / self.duration)
        overshoot = np.maximum(np.nanmax(shape, axis=0) - 1.0, 0.0)
        return [
            Metric(f"{name}_dead_time", begins, "s",
                   f"From a step of the command to where the {words} begins to follow.",
                   dead, rough),
            Metric(f"{name}_time_constant", late, "s",
                   "From there to 63 % of the change, to a sample.", to_63),
            Metric(f"{name}_overshoot", overshoot, "",
                   "Peak of the change over its steady value, less one.", none),
            Metric(f"{name}_steady_error", final - one.rest - one.change, one.unit,
                   "Steady value less the command.", error),
            Metric(f"{name}_ramp_delay", behind, "s",
                   "How far it is behind a ramp of the command in the last half second.",
                   delay, rough),
        ]  # fmt: skip


def _chart(one: _Channel, run: CaseRun) -> Chart:
    told: Array = np.where(run.t >= 0.0, one.rest + one.change, one.rest)
    curves = [curve(run, "t", one.signal, "answer"), Curve(run.t, told, "command", "limit")]
    if one.lag is not None:
        theory = one.rest + one.lag.step(run.t)
        curves.append(Curve(run.t, theory, "lag of its parameters", "theory"))
    return Chart(f"Step of the {one.words}", LABELS["t"], f"{one.words} in {one.unit}", curves)


@dataclass(frozen=True)
class StopFromSpeed(StandardManoeuvre):
    """A stop from a speed by the command alone, without feedback."""

    speed: m_s = 10.0
    """Largest initial speed; slower vehicles start at 0.8 of their highest speed."""
    a: m_s2 = 2.0
    """Demanded deceleration for vehicles with a commanded acceleration."""
    name = "stop_from_speed"
    title = "Stop from speed"
    source = "ISO 21994:2007, for vehicles driven by commands (paraphrased)"
    needs = (commands_needed,)
    METRICS = """
    stopping_time [s]: Time from the command until 1 % of the speed is left.
    stopping_distance [m]: Distance driven in that time.
    peak_deceleration [m/s²]: Largest deceleration in that time.
    """

    def perform(self, car: Subject) -> Performing:
        v = min(self.speed, 0.8 * car.limits.v_max)
        a = min(self.a, -0.8 * car.limits.a_min)
        by_speed = takes(car, "v")
        named = by_speed or takes(car, "a")
        # Brakes operated by a pedal have a separate time constant.
        own = None if named == "accel" else lag_of(car, named, v if by_speed else a)
        # The run is evaluated only until rest, as the vehicle may roll backwards afterwards.
        pedal: Signal = 0.0 if by_speed else lambda t: np.where(t >= 0.0, -a, 0.0)
        told: Any = {"speed": lambda t: v * before(t), "a": pedal, "hold": 0.0}
        (run,) = yield [Case("stop", 2.0 * v / a + 5.0, v, rests=True, run_in=2.0, **told)]
        kept = run.since(0.0)
        when = first_time(kept.t, -kept["v_x"], -STOPPED * v)
        way = values_at(kept.t, cumulative_integral(kept.t, kept["speed"]), when, np.nan)
        theory = None
        if own is not None:
            theory = own.way_to_rest(v, STOPPED) if by_speed else own.braking_way(v, STOPPED)
        hardest = np.nanmax(-kept["a_x"], axis=0)
        way = np.where(np.isfinite(when), way, np.nan)
        metrics = self.metrics(
            {"stopping_time": when, "stopping_distance": way, "peak_deceleration": hardest},
            {"stopping_distance": theory},
            dict.fromkeys(("stopping_time", "stopping_distance"), why_rough(car)),
        )
        notes = () if np.isfinite(when).all() else ("Where a time is missing, it did not stop.",)
        shown = run if np.isnan(when[0]) else run.since(run.t[0], when[0])
        answer = chart("Stop from speed", "t", "v_x", curve(shown, "t", "v_x", "answer"))
        return Findings(metrics, [answer], notes)

    def adapted_to(self, drive: CaseRun) -> StopFromSpeed:
        """Return the test with the speed and the deceleration of a log."""
        slowing = drive.slowdown()
        return replace(self, speed=slowing.v, a=slowing.deceleration)


@dataclass(frozen=True, eq=False)
class Track:
    """Pose of the point midway between the axles, relative to the start, each (T, V)."""

    label: str
    x: Array
    """Position along the start heading, in m."""
    y: Array
    """Position to the left of the start heading, in m."""
    yaw: Array
    """Heading in rad, not wrapped."""

    @property
    def distance(self) -> Array:
        """Distance from the start, in m."""
        return np.hypot(self.x, self.y)

    @property
    def travelled(self) -> Array:
        """Length of the path, in m."""
        steps = np.hypot(np.diff(self.x, axis=0), np.diff(self.y, axis=0))
        return np.concatenate([np.zeros_like(self.x[:1]), np.cumsum(steps, axis=0)])

    @classmethod
    def of(cls, car: Subject, run: CaseRun) -> Track:
        """True track from time zero on."""
        kept = run.since(0.0)
        com = car.geometry.centre_of_mass
        ahead, aside = _middle(car) - com[0], -com[1]
        c, s = np.cos(kept["yaw"]), np.sin(kept["yaw"])
        x, y = kept["x"] + ahead * c - aside * s, kept["y"] + ahead * s + aside * c
        return cls._from_start(run.label, x, y, kept["yaw"])

    @classmethod
    def by_odometry(cls, car: Subject, run: CaseRun) -> Track:
        """Track by dead reckoning with `Body.odometry`, sample by sample."""
        vehicle, kept = car.vehicle, run.since(0.0)
        assert vehicle.body.odometry is not None
        assert kept.states is not None
        assert kept.inputs is not None
        x = record.unflatten(vehicle.State, list(np.moveaxis(kept.states, -1, 0)))
        u = record.unflatten(vehicle.Input, list(np.moveaxis(kept.inputs, -1, 0)))
        measured: Any = vehicle.body.odometry(x, u, params_of(vehicle, car.params))
        v_x, v_y, omega = (np.broadcast_to(part, kept["yaw"].shape) for part in measured)
        yaw = kept["yaw"][:1] + cumulative_integral(kept.t, omega)
        c, s = np.cos(yaw), np.sin(yaw)
        v_y = v_y + _middle(car) * omega
        to_x = cumulative_integral(kept.t, v_x * c - v_y * s)
        to_y = cumulative_integral(kept.t, v_x * s + v_y * c)
        return cls._from_start(run.label, to_x, to_y, yaw)

    @classmethod
    def _from_start(cls, label: str, x: Array, y: Array, yaw: Array) -> Track:
        c, s = np.cos(yaw[:1]), np.sin(yaw[:1])
        x, y = x - x[:1], y - y[:1]
        return cls(label, c * x + s * y, c * y - s * x, yaw - yaw[:1])


def _middle(car: Subject) -> float:
    """Position of the point midway between the axles, forward of the reference point, in m."""
    return 0.5 * (car.geometry.front_axle + car.geometry.rear_axle)


RISE: s = 0.2
"""Time in which a command changes from one value to the next."""
PAUSE: s = 1.0
"""Time at rest after a run, or between two parts of it."""
STEADY: s = 1.0
"""Time at the end of a run over which a rate is averaged."""


def robot_needed(car: Subject, test: Any = None) -> str:
    """Requirement: a robot that turns on the spot."""
    turns = not car.steers and car.limits.omega_max > 0.0 and bool(takes(car, "omega"))
    return "" if turns else f"{car.name} does not turn on the spot"


@dataclass(frozen=True)
class SpinInPlace(StandardManoeuvre):
    """Whole turns on the spot, in both directions."""

    omega: rad_s = 1.0
    """Commanded yaw rate; slower robots turn at half of their highest yaw rate."""
    turns: float = 2.0
    name = "spin_in_place"
    title = "Spin in place"
    source = "ISO 18646-1:2016 (paraphrased): turning of wheeled robots"
    needs = (robot_needed,)
    METRICS = """
    yaw_error [rad]: Angle turned minus {test.turns:g} turns, in the direction with the larger
        error.
    yaw_rate_share []: Steady yaw rate relative to the commanded one, mean of both directions.
    centre_drift [m]: Largest distance of the centre of the wheels from its start.
    odometry_yaw_error [rad]: Angle turned by wheel odometry minus the true angle, in the worse
        direction.
    """

    def perform(self, car: Subject) -> Performing:
        omega = min(self.omega, 0.5 * car.limits.omega_max)
        lasts = 2.0 * np.pi * self.turns / omega

        def turning(t: Array) -> Array:
            return omega * _during(t, 0.0, lasts)

        runs = yield [
            _commanded(side, lasts + RISE + PAUSE, 0.0, lambda t, k=sign: k * turning(t))
            for side, sign in SIDES.items()
        ]
        asked = 2.0 * np.pi * self.turns
        tracks = [Track.of(car, run) for run in runs]
        errors = np.stack([np.abs(track.yaw[-1]) - asked for track in tracks])
        drift = np.stack([track.distance.max(axis=0) for track in tracks])
        rates = [run.since(lasts - STEADY, lasts)["omega"].mean(axis=0) for run in runs]
        shares = np.abs(rates) / omega
        worst, column = np.argmax(np.abs(errors), axis=0), np.arange(car.variants)
        values = {"yaw_error": errors[worst, column], "yaw_rate_share": shares.mean(axis=0)}
        values["centre_drift"] = drift.max(axis=0)
        if seen := _odometry_tracks(car, runs):
            values["odometry_yaw_error"] = _yaw_error(seen, tracks)
        return Findings(self.metrics(values), [_path_chart("Middle of the wheels", tracks, seen)])


STRAIGHT = ("deviation", "heading_error", "arc_asymmetry")
"""Metrics of `StraightAndArc` that are zero for an exact robot."""


@dataclass(frozen=True)
class StraightAndArc(StandardManoeuvre):
    """A straight line and an arc to either side, at one speed."""

    length: m = 10.0
    radius: m = 2.0
    """Radius for robots that turn on the spot; others use 1.5 times their tightest turn."""
    speed: m_s = 1.0
    """Speed of robots that turn on the spot; slower ones drive at half of their top speed."""
    car_speed: m_s = 3.0
    """Speed of vehicles that steer."""
    name = "straight_and_arc"
    title = "Straight and arc"
    source = "ISO 18646-2:2019 (paraphrased): accuracy of motion of wheeled robots"
    METRICS = """
    deviation [m]: Lateral deviation at the end of the straight line, positive to the left.
    heading_error [rad]: Heading at the end of the straight line.
    speed_share []: Steady speed relative to the commanded one.
    radius_error []: Radius of the steady arcs relative to the commanded one, minus one.
    arc_asymmetry []: Radius of the left arc minus that of the right arc, relative to the
        commanded one.
    odometry_distance_error []: Distance by wheel odometry relative to the true distance, minus
        one, on the straight line.
    odometry_yaw_error [rad]: Angle turned by wheel odometry minus the true angle, in the worse
        direction.
    """

    def unfit(self, car: Subject) -> str:
        if not robot_needed(car):
            return ""
        if car.vehicle.body.odometry is None:
            return f"{car.name} neither turns on the spot nor has odometry"
        return loop_needed(car)

    def perform(self, car: Subject) -> Performing:
        wanted = self.car_speed if car.steers else self.speed
        v, radius = min(wanted, 0.5 * car.limits.v_max), self._radius(car)
        lasts = self.length / v
        # A steered vehicle is commanded the angle, from which its yaw rate follows.
        angle = float(np.arctan(car.geometry.wheel_base / radius)) if car.steers else 0.0
        omega = 0.0 if car.steers else v / radius
        turns = {"straight": 0.0, "left arc": 1.0, "right arc": -1.0}
        runs = yield [
            _commanded(
                label,
                lasts + RISE,
                lambda t: v * _during(t, 0.0, 2.0 * lasts),
                lambda t, k=sign: k * omega * _during(t, 0.0, 2.0 * lasts),
                sign * angle,
            )
            for label, sign in turns.items()
        ]
        tracks = [Track.of(car, run) for run in runs]
        radii = np.stack([_radius(run, lasts) for run in runs[1:]])
        straight = tracks[0]
        values = {
            "deviation": straight.y[-1],
            "heading_error": straight.yaw[-1],
            "speed_share": runs[0].since(lasts - STEADY)["v_x"].mean(axis=0) / v,
            "radius_error": np.abs(radii).mean(axis=0) / radius - 1.0,
            "arc_asymmetry": (np.abs(radii[0]) - np.abs(radii[1])) / radius,
        }
        if seen := _odometry_tracks(car, runs):
            far = straight.travelled[-1]
            values["odometry_distance_error"] = seen[0].travelled[-1] / far - 1.0
            values["odometry_yaw_error"] = _yaw_error(seen[1:], tracks[1:])
        metrics = self.metrics(values, dict.fromkeys(STRAIGHT, 0.0))
        return Findings(metrics, [_path_chart("Straight and arcs", tracks, seen)])

    def _radius(self, car: Subject) -> m:
        if not car.steers:
            return self.radius
        tightest = car.geometry.wheel_base / np.tan(car.abilities.steer_max)
        return float(max(self.radius, 1.5 * tightest))


@dataclass(frozen=True)
class SquarePath(StandardManoeuvre):
    """Square path in both directions: end position, true and by odometry."""

    side: m = 4.0
    speed: m_s = 0.5
    """Speed on the sides; slower robots drive at half of their top speed."""
    omega: rad_s = 0.5
    """Yaw rate in the corners; slower robots turn at half of their highest yaw rate."""
    name = "square_path"
    title = "Square, both ways round"
    source = "J. Borenstein, L. Feng: UMBmark, University of Michigan, 1994"
    needs = (robot_needed,)
    METRICS = """
    closing_error [m]: Distance from the start to the end of the driven square, the larger of
        both directions.
    closing_yaw_error [rad]: Magnitude of the angle turned minus one turn, the larger of both
        directions.
    odometry_error_ccw [m]: Distance between the true end and the end by wheel odometry,
        counterclockwise.
    odometry_error_cw [m]: Distance between the true end and the end by wheel odometry,
        clockwise.
    odometry_error [m]: The larger of the two: systematic odometry error after UMBmark.
    """

    def perform(self, car: Subject) -> Performing:
        v = min(self.speed, 0.5 * car.limits.v_max)
        omega = min(self.omega, 0.5 * car.limits.omega_max)
        go, turn = self.side / v, 0.5 * np.pi / omega
        leg = go + turn + 2.0 * (RISE + PAUSE)
        corner = go + RISE + PAUSE

        def in_all(t: Array, begin: s, end: s) -> Array:
            return np.sum([_during(t, k * leg + begin, k * leg + end) for k in range(4)], axis=0)

        runs = yield [
            _commanded(
                label,
                4.0 * leg,
                lambda t: v * in_all(t, 0.0, go),
                lambda t, k=sign: k * omega * in_all(t, corner, corner + turn),
            )
            for label, sign in (("counter-clockwise", 1.0), ("clockwise", -1.0))
        ]
        tracks = [Track.of(car, run) for run in runs]
        ends = np.stack([np.hypot(track.x[-1], track.y[-1]) for track in tracks])
        turned = np.stack([np.abs(track.yaw[-1]) - 2.0 * np.pi for track in tracks])
        values: dict[str, Any] = {"closing_error": ends.max(axis=0)}
        values["closing_yaw_error"] = np.abs(turned).max(axis=0)
        theory = dict.fromkeys(values, 0.0)
        if seen := _odometry_tracks(car, runs):
            pairs = zip(seen, tracks, strict=True)
            off = [np.hypot(own.x[-1] - true.x[-1], own.y[-1] - true.y[-1]) for own, true in pairs]
            values |= {"odometry_error_ccw": off[0], "odometry_error_cw": off[1]}
            values["odometry_error"] = np.fmax(*off)
        return Findings(self.metrics(values, theory), [_path_chart("Square", tracks, seen)])


def _commanded(label: str, duration: s, v: Signal, omega: Signal, steer: rad = 0.0) -> Case:
    return Case(label, duration, speed=v, omega=omega, steer=steer, rests=True, run_in=0.2)


def _during(t: Array, begin: s, end: s) -> Array:
    """Window signal that is 1 between two times, with ramps at its edges; its integral is `end -
    begin`.
    """
    return np.clip((t - begin) / RISE, 0.0, 1.0) - np.clip((t - end) / RISE, 0.0, 1.0)


def _radius(run: CaseRun, end: s) -> Array:
    last = run.since(end - STEADY, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        return last["v_x"].mean(axis=0) / last["omega"].mean(axis=0)


def _odometry_tracks(car: Subject, runs: Sequence[CaseRun]) -> list[Track]:
    """Tracks by odometry of each run; empty for a vehicle without odometry."""
    if car.vehicle.body.odometry is None:
        return []
    return [Track.by_odometry(car, run) for run in runs]


def _yaw_error(seen: Sequence[Track], tracks: Sequence[Track]) -> Array:
    """Error in the turned angle by odometry (odometry minus truth), for the side with the larger
    error, (V,).
    """
    error = np.stack([w.yaw[-1] - true.yaw[-1] for w, true in zip(seen, tracks, strict=True)])
    return error[np.argmax(np.abs(error), axis=0), np.arange(error.shape[1])]


def _path_chart(title: str, tracks: Sequence[Track], seen: Sequence[Track]) -> Chart:
    true = [Curve(own.x[:, 0], own.y[:, 0], own.label) for own in tracks]
    told = [
        Curve(own.x[:, 0], own.y[:, 0], f"{own.label}, by wheel odometry", "measured")
        for own in seen
    ]
    return chart(title, "x", "y", *true, *told, equal=True)
