"""Models that are driven by commands: how late and how far they follow a step and a ramp.

A vehicle is commanded an angle of its front wheels or a yaw rate, and a speed or an acceleration,
whichever it takes, at constant other commands and without feedback. `Lag` is the theory: a dead
time and a lag with a limited rate, as the parameters of command-driven models describe them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...units import m_s, m_s2, rad, rad_s, s
from .case import Case, Signal
from .case_run import CaseRun, first_time, slowing_of
from .manoeuvre import Performing, StandardManoeuvre
from .metric import Chart, Curve, Findings, Metric
from .subject import Subject, takes, tyres_needed


@dataclass(frozen=True, eq=False)
class Lag:
    """y' = (target - y) / time_constant, no faster than `rate`, after a dead time; each (V,)."""

    dead_time: Array
    time_constant: Array
    rate: Array
    """Largest rate; infinite where there is no limit."""
    asked: float
    """The step of the command, from zero; positive."""
    factor: Array
    """On the command."""
    bias: Array
    """Offset of its measurement of itself."""
    band: Array
    """Error up to which it does nothing."""

    @property
    def start(self) -> Array:
        """Where it stands before the step."""
        return self._end(0.0, 0.0)

    @property
    def change(self) -> Array:
        """How far the step takes it; positive."""
        return self._end(self.start, self.asked) - self.start

    @property
    def steady_error(self) -> Array:
        """Where it stands after the step, less the command."""
        return self.start + self.change - self.asked

    def _end(self, at: Any, command: float) -> Array:
        goal = self.factor * command - self.bias
        return goal + np.clip(at - goal, -self.band, self.band)

    @property
    def _slow(self) -> Array:
        """Distance from the end from which on the rate is no longer at its limit."""
        return np.minimum(self.change, self.rate * self.time_constant)

    @property
    def to_63_percent(self) -> Array:
        """Time from the end of the dead time to 63 % of the change."""
        left, slow = self.change * np.exp(-1.0), self._slow
        limited = (self.change - np.maximum(left, slow)) / self.rate
        return limited + self.time_constant * np.log(np.maximum(slow / left, 1.0))

    def step(self, t: Array) -> Array:
        """Response of the first variant at times, (T,), to the step at time zero."""
        tau, rate, slow = self.time_constant[0], self.rate[0], self._slow[0]
        goal, since = self.change[0], np.maximum(t - self.dead_time[0], 0.0)
        bend = (goal - slow) / rate
        after = slow * np.exp(-np.maximum(since - bend, 0.0) / tau)
        # Not a product with a rate that may be infinite.
        limited = goal - (goal - slow) * since / bend if bend > 0.0 else after
        return self.start[0] + goal - np.where(since < bend, limited, after)

    def behind_ramp(self, slope: float) -> Array:
        """Time by which it is behind a rising ramp of the command, after long; NaN where the rate
        or a factor does not let it follow."""
        follows = (slope < self.rate) & (self.factor == 1.0)
        behind = self.dead_time + self.time_constant + (self.bias + self.band) / slope
        return np.where(follows, behind, np.nan)

    def way_to_rest(self, v: m_s, share: float) -> Array:
        """Way in m from a command of no speed at a speed to a share of it, where the speed lags."""
        tau, rate = self.time_constant, self.rate
        slow = np.minimum(v, rate * tau)
        limited = (v * v - np.maximum(slow, share * v) ** 2) / (2.0 * rate)
        return v * self.dead_time + limited + tau * np.maximum(slow - share * v, 0.0)

    def braking_way(self, v: m_s, share: float) -> Array:
        """Way in m from a command of the deceleration `asked` to a share of the speed, where the
        deceleration lags and has long settled when the vehicle stands."""
        tau, a, lost = self.time_constant, self.change, (1.0 - share) * v
        end = lost / a + tau
        return v * self.dead_time + v * end - a * (0.5 * end * end - tau * end + tau * tau)


def lag_of(car: Subject, named: str, asked: float) -> Lag | None:
    """The lag of an input by the parameters of the vehicle; None where they describe none.

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
"""At the end of a drive, over which a steady value is averaged."""
STOPPED = 0.01
"""Share of the speed below which a vehicle that is commanded to stop has stopped."""


def in_steps(car: Subject) -> str:
    """Why what depends on the dead time of a vehicle is not smooth in its parameters; empty of one
    without dead time."""
    late = ", ".join(car.vehicle.model.dead_times)
    return f"commands act late by whole steps of the simulation ({late})" if late else ""


def commands_needed(car: Subject, test: Any = None) -> str:
    """A vehicle without tyres that is commanded a speed or an acceleration."""
    if not tyres_needed(car):
        return f"{car.name} has tyres: the tests of cars are for it"
    return "" if takes(car, "v") or takes(car, "a") else f"{car.name} takes neither speed nor drive"


class _Channel(NamedTuple):
    """A command and the signal that follows it."""

    name: str
    signal: str
    unit: str
    demand: str
    """Field of `Case` that demands it."""
    rest: float
    """Command before the step."""
    change: float
    lag: Lag | None
    """By the parameters of the vehicle; None where they describe none."""


@dataclass(frozen=True)
class CommandSteps(StandardManoeuvre):
    """A step and a ramp of each command."""

    speed: m_s = 5.0
    """Speed of vehicles that go twice as fast; others drive at half of their highest speed."""
    steer: rad = 0.1
    omega: rad_s = 0.5
    """Yaw rate of a vehicle that turns on the spot."""
    a: m_s2 = 1.0
    duration: s = 6.0
    """Of the step, and of the ramp to the same value."""
    name = "command_steps"
    title = "Steps and ramps of commands"
    source = "ISO 11342:1994 (paraphrased): dead time, time constant and accuracy"
    needs = (commands_needed,)

    def perform(self, car: Subject) -> Performing:
        """All commands at once, each on its own."""
        channels = self._channels(car)
        steps = [
            self._case(car, one, "step", lambda t: (t >= 0.0).astype(float)) for one in channels
        ]
        ramps = [
            self._case(car, one, "ramp", lambda t: np.clip(t / self.duration, 0.0, 1.0))
            for one in channels
        ]
        runs = yield [*steps, *ramps]
        pairs = list(zip(channels, runs, runs[len(channels) :], strict=False))
        metrics = [m for one, step, ramp in pairs for m in self._metrics(car, one, step, ramp)]
        return Findings(metrics, [_chart(one, step) for one, step, _ in pairs])

    def _channels(self, car: Subject) -> list[_Channel]:
        v = self._speed(car)
        channels: list[_Channel] = []
        if (named := takes(car, "steer")) and car.vehicle.body.steer is not None:
            angle = min(self.steer, 0.5 * car.abilities.steer_max)
            own = lag_of(car, named, angle)
            channels.append(_Channel("steer", "steer", "rad", "steer", 0.0, angle, own))
        elif named := takes(car, "omega"):
            lock = car.abilities.steer_max  # of one that steers by itself for a yaw rate
            most = v * np.tan(lock) / car.abilities.wheel_base if lock else car.limits.omega_max
            turning = min(self.omega, 0.5 * float(most))
            own = lag_of(car, named, turning)
            channels.append(_Channel("yaw_rate", "omega", "rad/s", "omega", 0.0, turning, own))
        if named := takes(car, "v"):
            own = lag_of(car, named, 0.4 * v)
            channels.append(_Channel("speed", "v_x", "m/s", "speed", v, 0.4 * v, own))
        elif named := takes(car, "a"):
            room = (car.limits.v_max - v) / self.duration
            a = min(self.a, 0.5 * car.limits.a_max, 0.5 * room)
            own = lag_of(car, named, a)
            channels.append(_Channel("acceleration", "a_x", "m/s²", "a", 0.0, a, own))
        return channels

    def _speed(self, car: Subject) -> m_s:
        most = car.limits.v_max if car.limits.v_max < inf else 2.0 * self.speed
        return min(self.speed, 0.5 * most)

    def _case(self, car: Subject, one: _Channel, kind: str, shape: Any) -> Case:
        v = self._speed(car)
        asked: dict[str, Signal] = {"speed": v}
        asked[one.demand] = lambda t: one.rest + one.change * shape(t)
        label = f"{one.name} {kind}"
        more: Any = asked
        return Case(label=label, duration=self.duration, v=v, hold=0.0, run_in=2.0, **more)

    def _metrics(self, car: Subject, one: _Channel, step: CaseRun, ramp: CaseRun) -> list[Metric]:
        kept = step.since(0.0)
        start = step.since(-0.1, -0.01)[one.signal].mean(axis=0)
        final = kept.since(kept.t[-1] - AVERAGED)[one.signal].mean(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            shape = (kept[one.signal] - start) / (final - start)
        # Where it begins, from the first hundredths, which are straight for every lag.
        begins = 2.0 * first_time(kept.t, shape, 0.01) - first_time(kept.t, shape, 0.02)
        begins = np.maximum(begins, 0.0)
        late = first_time(kept.t, shape, 1.0 - np.exp(-1.0)) - begins
        end = ramp.since(self.duration - AVERAGED, self.duration)
        told = (end.t / self.duration)[:, None]
        behind = ((told - (end[one.signal] - one.rest) / one.change) * self.duration).mean(axis=0)
        name, words, own, rough = one.name, _words(one), one.lag, in_steps(car)
        dead, to_63, none, error, delay = (
            5 * (None,)
            if own is None
            else (
                own.dead_time,
                own.to_63_percent,
                0.0,
                own.steady_error,
                own.behind_ramp(one.change / self.duration),
            )
        )
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


def _words(one: _Channel) -> str:
    return "steering angle" if one.name == "steer" else one.name.replace("_", " ")


def _chart(one: _Channel, run: CaseRun) -> Chart:
    told: Array = np.where(run.t >= 0.0, one.rest + one.change, one.rest)
    curves = [Curve(run.t, run[one.signal][:, 0], "answer"), Curve(run.t, told, "command", "limit")]
    if one.lag is not None:
        theory = one.rest + one.lag.step(run.t)
        curves.append(Curve(run.t, theory, "lag of its parameters", "theory"))
    words = _words(one)
    return Chart(f"Step of the {words}", "time in s", f"{words} in {one.unit}", curves)


@dataclass(frozen=True)
class StopFromSpeed(StandardManoeuvre):
    """From a speed to rest, by the command alone."""

    speed: m_s = 10.0
    """At most; 0.8 of what slower ones can."""
    a: m_s2 = 2.0
    """Deceleration asked for of those that are commanded one."""
    name = "stop_from_speed"
    title = "Stop from speed"
    source = "ISO 21994:2007, for vehicles driven by commands (paraphrased)"
    needs = (commands_needed,)
    METRICS = """
    stopping_time [s]: From the command to 1 % of the speed.
    stopping_distance [m]: Way from the command to there.
    peak_deceleration [m/s²]: Largest deceleration on the way.
    """

    def perform(self, car: Subject) -> Performing:
        """Once."""
        v = min(self.speed, 0.8 * car.limits.v_max)
        a = min(self.a, -0.8 * car.limits.a_min)
        by_speed = takes(car, "v")
        named = by_speed or takes(car, "a")
        # Brakes that are pedals have a time constant of their own.
        own = None if named == "accel" else lag_of(car, named, v if by_speed else a)
        # What starts to roll backwards at rest is looked at until there only.
        (run,) = yield [
            Case(
                label="stop",
                duration=2.0 * v / a + 5.0,
                v=v,
                speed=lambda t: np.where(t >= 0.0, 0.0, v),
                a=0.0 if by_speed else lambda t: np.where(t >= 0.0, -a, 0.0),
                hold=0.0,
                rests=True,
                run_in=2.0,
            )
        ]
        when, way = _stop(run, v)
        theory = None
        if own is not None:
            theory = own.way_to_rest(v, STOPPED) if by_speed else own.braking_way(v, STOPPED)
        hardest = np.nanmax(-run.since(0.0)["a_x"], axis=0)
        metrics = self.metrics(
            {"stopping_time": when, "stopping_distance": way, "peak_deceleration": hardest},
            {"stopping_distance": theory},
            dict.fromkeys(("stopping_time", "stopping_distance"), in_steps(car)),
        )
        notes = () if np.isfinite(when).all() else ("Where a time is missing, it did not stop.",)
        shown = run if np.isnan(when[0]) else run.since(run.t[0], when[0])
        curve = Curve(shown.t, shown["v_x"][:, 0], "answer")
        chart = Chart("Stop from speed", "time in s", "speed in m/s", [curve])
        return Findings(metrics, [chart], notes)

    def adapted_to(self, drive: CaseRun) -> StopFromSpeed:
        """With the speed and the deceleration of a log."""
        slowing = slowing_of(drive)
        return replace(self, speed=slowing.v, a=slowing.deceleration)


def _stop(run: CaseRun, v: m_s) -> tuple[Array, Array]:
    """When a vehicle stands and how far it came until then, each (V,)."""
    kept = run.since(0.0)
    when = first_time(kept.t, -kept["v_x"], -STOPPED * v)
    middle = 0.5 * (kept["speed"][1:] + kept["speed"][:-1])
    way = np.cumsum(np.diff(kept.t)[:, None] * middle, axis=0)
    way = np.concatenate([np.zeros((1, kept.variants)), way])
    ways: Sequence[float] = [
        np.interp(time, kept.t, way[:, k], right=np.nan) for k, time in enumerate(when)
    ]
    return when, np.where(np.isfinite(when), ways, np.nan)
