"""Replay of a log by a vehicle: free runs in windows, with exact derivatives.

`Replay` cuts a prepared log into windows. Each window is a vehicle of one fleet: it starts from the
measured state, is driven by what the log contains (see `observed`) and runs freely to its end, so
that an error is that of the model over the length of the window and no more.

A `Guess` has everything that a fit may change: parameters, delays of commands and channels, and
corrections of the start states. `run` simulates guesses, `slopes` one guess and its derivatives in
any `Direction`.

Delays act on the log and not in the model. A delayed command is the mean of the held command over
each step, a delayed channel is interpolated, so errors are differentiable in every delay; dead
times of the vehicle's own are delays of its commands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.plant import Plant
from ...core import record
from ...core.arrays import Array
from ...core.body import Pose, Velocity
from ...core.checks import one_of
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...integrate import compiled_integrator
from ...integrate.base import Integrator
from ...run.fleet import Fleet
from ...run.runner import Runner, Settings
from ...run.stability import choose_integrator
from ...units import m_s, rad_s, s
from .observed import CHANNELS, POSITIONS, STEERING, Sensors, Way, observed, tangent

if TYPE_CHECKING:
    from ..logs.log import Channel
    from ..logs.preparation import Prepared

LONGEST_STEP: s = 0.02
"""Longest step of a replay; a log with a longer period is replayed in several steps per row."""
LEAD: s = 0.5
"""Run-in before a window for a vehicle that slides, whose start has states that no log contains."""
LEAST_ROWS = 10
GROUND = frozenset({"bank", "slope"})
"""Channels with the attitude of the road."""
WALKING: m_s = 2.0
"""Speed from which the angle of the wheels is read off the yaw rate."""
LEAST_TURNING: rad_s = 0.01
"""Least standard deviation of the yaw rate from which a steering ratio is found."""
HORIZONS: tuple[s, ...] = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Times after the start of a window at which errors are reported."""
_HALF_CHORD: s = 0.25
"""Half the length of a chord of the path that shows the direction of the track."""
_FOLLOWING_RUNS = 2
"""Number of runs in which a tracked speed learns to follow the logged one."""
_LARGEST_SHIFT: m_s = 0.5
"""Largest error of a tracked speed that is put down to resistance."""
_MOST_NUMBERS = 8_000_000
"""Largest number of values in one rollout; more guesses are run in several parts."""


class Guess(NamedTuple):
    """Values of all unknowns."""

    params: Mapping[str, float] = {}
    """Parameters by name, those of the sensors with the prefix `log.`; others keep their values."""
    delays: Mapping[str, s] = {}
    """Delays of commands (`u_steer`) and channels (`omega`); others keep their values."""
    starts: Array | float = 0.0
    """Corrections of the measured start states, (windows, nx)."""


def calibration_guess(calibration: Mapping[str, float], otherwise: str = "") -> Guess:
    """Parameters of sensors and delays from names with the prefixes `log.` and `delay.`.

    `otherwise` ends the message of the error about other names.
    """
    params = {n: float(v) for n, v in calibration.items() if n.startswith("log.")}
    delays = {n[6:]: float(v) for n, v in calibration.items() if n.startswith("delay.")}
    for name in calibration:
        if not name.startswith(("log.", "delay.")):
            raise InvalidValue(
                f"calibration = {name!r} must begin with log. (a parameter of the sensors) or "
                f"delay.{otherwise}"
            )
    allowed = record.names(Sensors)
    for name in params:
        if name[4:] not in allowed:
            raise InvalidValue(
                record.unknown_name("calibration", name[4:], allowed, "parameter log.")
            )
    return Guess(params, delays)


class Direction(NamedTuple):
    """A direction in which the unknowns change."""

    params: Mapping[str, float] = {}
    """Change of parameters by name."""
    delay: str = ""
    """Command or channel whose delay changes."""
    state: str = ""
    """Field of the start states that changes, in every window alike."""


class Slopes(NamedTuple):
    """Channels of one guess and their derivatives."""

    channels: Array
    """(channels, windows, rows)."""
    by: Array
    """Derivatives in each direction, (directions, channels, windows, rows)."""


def way_of(
    vehicle: Vehicle,
    drive: Prepared,
    steer: str = "auto",
    speed: str = "auto",
    channels: Sequence[str] | None = None,
) -> Way:
    """How a log drives a vehicle, and the channels in which they are compared.

    "auto" takes the vehicle's own commands if the log has them, else the logged motion.
    """
    inputs, states = record.names(vehicle.Input), record.names(vehicle.State)
    commanded = {name for name in inputs if f"u_{name}" in drive.commands}
    steering = {name for name in inputs if name.startswith(STEERING)}
    steers = vehicle.body.steer is not None or bool(steering)
    if steer == "auto":
        angle = {"steer", "steering_wheel"} & drive.channels.keys()
        if commanded & steering or not steers:
            steer = "commanded"
        elif not angle:
            raise InvalidValue(
                f"{drive.name} has no u_steer (command) and no steer or steering_wheel (measured "
                f"angle), and {vehicle.name} is steered. It has {', '.join(drive.channels)}"
            )
        else:
            steer = "prescribed" if "steer" in states else "demanded"
    if speed == "auto":
        if commanded - steering or set(inputs) <= steering:
            speed = "commanded"
        elif not {"v_x", "speed"} & drive.channels.keys():
            raise InvalidValue(
                f"{drive.name} has no v_x and no commands for {vehicle.name}: "
                f"{', '.join(f'u_{name}' for name in inputs)}"
            )
        else:
            # A sliding vehicle needs the force that the motion took: it loads axles and tyres.
            held = "v_x" in states and "v_y" not in states
            speed = "prescribed" if held else "tracked"
    given = set[str]() if speed == "commanded" else {"v_x", "speed", "a_x"}
    given |= set() if steer == "commanded" and steers else {"steer"}
    if channels is None:
        wheels = [name for name in states if name.startswith("spin_")]
        given |= set(drive.derived)
        channels = [n for n in (*CHANNELS, *wheels) if n in drive.channels and n not in given]
    for name in channels:
        if name not in drive.channels:
            raise InvalidValue(record.unknown_name(drive.name, name, [*drive.channels], "channel"))
    if not channels:
        raise InvalidValue(
            f"{drive.name} has no channel to compare {vehicle.name} in besides those that drive it "
            f"({', '.join(sorted(given))}); allowed are {', '.join(CHANNELS)}"
        )
    ground = vehicle.body.on_ground is not None and not GROUND.isdisjoint(drive.channels)
    return Way(steer, speed, tuple(channels), ground)


class Replay:
    """A vehicle that replays the windows of a log.

    Args:
        vehicle: the vehicle; its parameters are those of every guess unless others are given.
        drive: the prepared log.
        window: length of the windows in s; None for one window as long as the log.
        stride: time from the start of a window to that of the next in s; the length if None.
        steer, speed: how the log drives the vehicle, see `way_of`.
        channels: channels to compare; all that the log has if None.
        at: point of the vehicle that the log describes: "centre of mass", "rear axle", "body point"
            or a place in m ahead and to the left of the rear axle. By default the centre of mass,
            and the body point of a vehicle driven by its own commands.
        sensors: calibration of the sensors, and places that override `at`; or some of its values
            by name. By default 1 for all ratios; for a hand-wheel angle the ratio with which this
            vehicle turns as in the log, a start for a fit of `log.steer_ratio`.
        delays: delays of commands (`u_steer`) and channels (`omega`) in s, for guesses without
            them.
        lead: run-in before each window in s; by default 0.5 s for a vehicle that slides, else 0.
        longest: longest delay of any guess in s, kept free before the first window.
        span: part of the log in s, (begin, end); all of it if None.
        dt: longest step in s.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        drive: Prepared,
        *,
        window: s | None = 10.0,
        stride: s | None = None,
        steer: str = "auto",
        speed: str = "auto",
        channels: Sequence[str] | None = None,
        at: str | tuple[float, float] = "auto",
        sensors: Sensors | Mapping[str, float] | None = None,
        delays: Mapping[str, s] | None = None,
        lead: s | None = None,
        longest: s = 0.0,
        span: tuple[s, s] | None = None,
        dt: s = LONGEST_STEP,
        integrator: Any = "auto",
    ) -> None:
        self.vehicle, self.drive = vehicle, drive
        self.way = way_of(vehicle, drive, steer, speed, channels)
        given = sensors if isinstance(sensors, Mapping) else {}
        if not isinstance(sensors, Sensors):
            if at == "auto":
                at = "body point" if self.way.uses_commands else "centre of mass"
            x, y = _place(vehicle, at)
            sensors = Sensors(point_x=x, point_y=y, imu_x=x, imu_y=y)._replace(**given)
            by_hand_wheel = self.way.steer != "commanded" and "steer" not in drive.channels
            by_hand_wheel = by_hand_wheel and "steer_ratio" not in given
        else:
            by_hand_wheel = False
        self.observed = observed(vehicle, self.way, sensors)
        # A hundredth, so that a log with a period of 20.01 ms is not replayed at half of it.
        self.split = max(1, ceil(drive.dt / dt - 0.01))
        self.dt: s = drive.dt / self.split
        method = compiled_integrator(choose_integrator(vehicle, integrator, self.dt))
        self.method = method
        self._tangents: dict[tuple[str, ...], Fleet] = {}
        self.delays = dict(delays or {})
        """Delays of commands and channels, for guesses that do not have them."""
        self.dead_times = dict(vehicle.model.dead_times)
        """Parameters with the dead time of a command, by input."""
        own = [float(getattr(vehicle.params, name)) for name in self.dead_times.values()]
        own += self.delays.values()
        self.late = ceil(max(longest, *own, 0.0) / drive.dt - 1e-6)
        """Rows before each window whose commands act in it."""
        slides = "v_y" in record.names(vehicle.State)
        lead = (LEAD if slides else 0.0) if lead is None else lead
        self.lead = round(lead / drive.dt)
        """Rows of the run-in before each window."""
        self.begins, self.steps = self._windows(window, stride, span)
        rows = (self.lead + self.steps) * self.split + 2
        self._speed_shift: Array = np.zeros((rows, self.windows))
        """Difference of the speed to follow from the logged one, see `follow_speed`."""
        rows = self.begins[:, None] + np.arange(self.steps + 1)
        self.rows: NDArray[np.int64] = rows
        """Rows of the log, (windows, rows of a window)."""
        self.measured: Array = np.stack([drive.channels[name][rows] for name in self.channels])
        """Measured channels, (channels, windows, rows), NaN where not known."""
        # A path that starts at an unknown place or heading cannot be compared.
        first = self.begins - self.lead
        self.track = None if "yaw" in drive.channels else Track.of(drive)
        """Direction of the track, from which the heading follows where the log has none."""
        headings = drive.channels.get("yaw") if self.track is None else self.track.heading
        for name, needed in (("x", ("x", "yaw")), ("y", ("y", "yaw")), ("yaw", ("yaw",))):
            if name in self.channels:
                columns = {**drive.channels, "yaw": headings}
                known = [values[first] for n in needed if (values := columns.get(n)) is not None]
                lost = np.isnan(known).any(axis=0)
                self.measured[self.channels.index(name), lost] = np.nan
        self.starts = self._starts()
        """Start states at the begin of the run-in, (windows, nx)."""
        if by_hand_wheel:
            found = self._steering() | {f"log.{name}": value for name, value in given.items()}
            self.observed = self.observed.with_params(**found)
            self.__dict__.pop("fleet", None)

    @cached_property
    def fleet(self) -> Fleet:
        """A vehicle for each window of each guess."""
        return _Fleet(self.observed, self.dt, self.method)

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the compared channels."""
        return self.way.channels

    @property
    def about_heading(self) -> str:
        """Note on paths that start without a measured heading; empty if there are none."""
        if self.track is None or not {"x", "y"} & set(self.channels):
            return ""
        return (
            f"{self.drive.name} has no heading (yaw): paths start in the direction of the track, "
            "which is yaw plus sideslip"
        )

    @property
    def windows(self) -> int:
        return len(self.begins)

    @property
    def prescribed(self) -> tuple[str, ...]:
        """Fields of the state that follow the log."""
        way = self.way
        fields = (("steer", way.steer), ("v_x", way.speed))
        return tuple(name for name, how in fields if how == "prescribed")

    def delay_of(self, source: str) -> s:
        """Delay of a command or channel if a guess does not name it: the given one, or the
        vehicle's dead time."""
        if source in self.delays:
            return self.delays[source]
        name = self.dead_times.get(source.removeprefix("u_")) if source.startswith("u_") else None
        return float(getattr(self.vehicle.params, name)) if name else 0.0

    def _windows(
        self, window: s | None, stride: s | None, span: tuple[s, s] | None
    ) -> tuple[NDArray[np.int64], int]:
        """First rows of the windows, and their length in rows; all that drives them is known."""
        drive = self.drive
        ahead = max(self.lead, self.late)
        first, last = 0, len(drive.t) - 1
        if span is not None:
            first, last = np.searchsorted(drive.t, [span[0] - 1e-9, span[1] + 1e-9])
            last = min(int(last), len(drive.t)) - 1
        whole = last - int(first) - ahead
        if whole < LEAST_ROWS:
            raise InvalidValue(
                f"{drive.name} has {max(last - int(first), 0) * drive.dt:.3g} s to replay; at "
                f"least {(ahead + LEAST_ROWS) * drive.dt:.3g} s are needed, of which "
                f"{ahead * drive.dt:.3g} s for run-in and delays"
            )
        steps = whole if window is None else max(LEAST_ROWS, round(window / drive.dt))
        if stride is None:
            count = max(1, round(whole / steps))
            steps = whole // count
            begins = steps * np.arange(count)
        else:
            steps = min(steps, whole)
            begins = np.arange(0, whole - steps + 1, max(1, round(stride / drive.dt)))
        begins = int(first) + ahead + begins
        known = np.ones(len(drive.t), dtype=bool)
        for source in self.sources:
            known &= np.isfinite(drive.channels[source])
        missing = np.concatenate([[0], np.cumsum(~known)])
        fine = missing[begins + steps + 1] == missing[begins - ahead]
        t = drive.t
        for a, z in drive.gaps:
            fine &= (t[begins + steps] <= a) | (t[begins - ahead] >= z)
        if not fine.any():
            raise InvalidValue(
                f"{drive.name}: none of its {len(begins)} windows of {steps * drive.dt:.3g} s is "
                f"without a gap in {' and '.join(self.sources) or 'its samples'}; take a "
                "shorter window"
            )
        return begins[fine], int(steps)

    def _steering(self) -> dict[str, float]:
        """Ratio and offset of the steering: wheel angles from a hand-wheel angle.

        The start is the wheel angle L omega / v of a car that does not understeer.
        """
        told = self.drive.channels
        wheel, none = told["steering_wheel"], np.full(len(self.drive.t), np.nan)
        v, omega = told.get("v_x", told.get("speed", none)), told.get("omega", none)
        turns = [k for k, n in enumerate(self.channels) if n in ("omega", "yaw", "a_y")]
        moves = (np.abs(v) > WALKING) & np.isfinite(omega + wheel)
        if not turns or not moves.any() or np.std(omega[moves]) < LEAST_TURNING:
            raise InvalidValue(
                f"{self.drive.name} has a hand-wheel angle and hardly turns, or has no v_x and "
                "omega, so the steering ratio cannot be found; use a log with turns, or give the "
                "ratio in Python: sensors=Sensors(steer_ratio=1 / 15)"
            )
        angle = self.vehicle.geometry.wheel_base * omega[moves] / v[moves]
        columns = np.stack([angle, np.ones_like(angle)], 1)
        per_angle, zero = np.linalg.lstsq(columns, wheel[moves])[0]
        ratio, width = 1.0 / per_angle, 0.8
        for _ in range(4):
            tried = ratio * np.exp(np.linspace(-width, width, 9))
            pairs = [{"log.steer_ratio": r, "log.steer_offset": -r * zero} for r in tried]
            errors = self.errors(self.run([Guess(pair) for pair in pairs]))[:, turns]
            spread = np.nanstd(self.measured[turns], axis=(1, 2))[:, None, None]
            # A run that diverges counts as an error as large as the motion.
            errors = np.where(np.isfinite(self.measured[turns]), errors / spread, 0.0)
            mean = np.mean(np.nan_to_num(errors, nan=1.0) ** 2, axis=(1, 2, 3))
            ratio, width = tried[int(np.argmin(mean))], 0.3 * width
        return {"log.steer_ratio": float(ratio), "log.steer_offset": float(-ratio * zero)}

    @property
    def sources(self) -> list[str]:
        """Measured channels that drive the vehicle."""
        channels = self.drive.channels
        steer = "steer" if "steer" in channels else "steering_wheel"
        speed = "v_x" if "v_x" in channels else "speed"
        pairs = ((steer, self.way.steer), (speed, self.way.speed))
        return [name for name, how in pairs if how != "commanded"]

    def _starts(self) -> Array:
        """Measured states at the begin of the run-in, completed by the body and by commands."""
        vehicle, drive, rows = self.vehicle, self.drive, self.begins - self.lead
        model, names = vehicle.model, record.names(vehicle.State)

        def told(name: str, other: Any = 0.0) -> Array:
            values = drive.channels.get(name)
            known = np.zeros(len(rows)) + other if values is None else values[rows]
            return np.where(np.isfinite(known), known, other)

        speed = told("v_x", told("speed"))
        across = told("v_y", speed * np.tan(told("sideslip")))
        places = [told(n) for n in POSITIONS]
        if self.track is not None:
            places[2] = np.nan_to_num(self.track.heading[rows])
        motion = places, [speed, across, told("omega")]
        table = np.empty((len(rows), len(names)))
        for k in range(len(rows)):
            pose, velocity = Pose(*(v[k] for v in motion[0])), Velocity(*(v[k] for v in motion[1]))
            x = vehicle.body.placed(record.build(model.State), pose, velocity, vehicle.params)
            x = x if model.settle is None else model.settle(x, vehicle.params)
            table[k] = record.flatten(x)
        commands = {name: self._commands(f"u_{name}", rows) for name in record.names(model.Input)}
        for k, name in enumerate(names):
            if name in (*POSITIONS, "v_x", "v_y", "omega"):
                continue
            if name in drive.channels:
                table[:, k] = told(name, table[:, k])
            elif name == "pedal" and "acceleration" in commands:
                # The pedal that explains the measured acceleration, else the commanded one.
                slope, gear = commands.get("slope"), commands.get("gear")
                pedal = told("a_x", np.nan) - (0.0 if slope is None else slope)
                if gear is not None:
                    pedal = np.where(np.isin(gear, (20.0, 21.0)), -pedal, pedal)
                if (given := commands["acceleration"]) is not None:
                    pedal = np.where(np.isfinite(pedal), pedal, given)
                table[:, k] = pedal
            elif (late := commands.get({"a_x": "acceleration"}.get(name, name))) is not None:
                table[:, k] = late
        if "steer" in self.prescribed and "steer" not in drive.channels:
            table[:, names.index("steer")] = told("steering_wheel")
        if "v_x" in self.prescribed:
            table[:, names.index("v_x")] = speed
        return table

    def _commands(self, source: str, rows: NDArray[np.int64]) -> Array | None:
        """A command in effect at some rows; None if the log does not have it."""
        if source not in self.drive.commands:
            return None
        return _held(self.drive.commands[source], self.drive.t[rows] - self.delay_of(source))

    def _controls(self, delays: Mapping[str, s], moved: str = "") -> Array:
        """Inputs (steps + 1, windows, nu), or their derivative by the delay of the source `moved`.

        The last row is that of the step after the window, which accelerations at its end show.
        """
        names = record.names(self.observed.Input)
        defaults = np.array(record.flatten(record.build(self.observed.Input)))
        count = (self.lead + self.steps) * self.split + 1
        begins = self.drive.t[self.begins - self.lead]
        times = begins[None, :] + self.dt * np.arange(count + 1)[:, None]
        table = np.empty((count, self.windows, len(names)))
        table[:] = 0.0 if moved else defaults
        leaves = record.fields(self.observed.Input)
        for k, (name, leaf) in enumerate(zip(names, leaves, strict=True)):
            source = f"u_{name}"
            if source not in self.drive.commands or moved not in ("", source):
                continue
            series = self.drive.commands[source]
            at = times - delays.get(source, self.delay_of(source))
            whole = leaf.allowed is not None and leaf.allowed.whole
            if not moved:
                table[..., k] = over_steps(series, at, whole=whole)
            elif not whole:
                table[..., k] = (_held(series, at[:-1]) - _held(series, at[1:])) / self.dt
        for source in self.sources:
            if moved not in ("", source):
                continue
            values, slope = self._interpolated(
                source, times - delays.get(source, self.delay_of(source))
            )
            values = -slope if moved else values
            field = "log.steer" if source.startswith("steer") else "log.speed"
            if field == "log.speed" and not moved:
                values = values + self._speed_shift
            table[..., names.index(field)] = values[:-1]
            table[..., names.index(f"{field}_rate")] = np.diff(values, axis=0) / self.dt
        for source in GROUND & self.drive.channels.keys() if self.way.ground and not moved else ():
            table[..., names.index(f"log.{source}")] = self._interpolated(source, times[:-1])[0]
        return table

    def _interpolated(self, channel: str, times: Array) -> tuple[Array, Array]:
        """Values and slopes of a channel of the grid at some times."""
        values, t = self.drive.channels[channel], self.drive.t
        known = np.isfinite(values)
        values = values if known.all() else np.interp(t, t[known], values[known])
        place = (times - t[0]) / self.drive.dt
        row = np.clip(place.astype(int), 0, len(t) - 2)
        step = values[row + 1] - values[row]
        return values[row] + (place - row) * step, step / self.drive.dt

    def _delayed_start(self, delays: Mapping[str, s], moved: str = "") -> Array:
        """Prescribed start states at delayed times, or their derivative by one delay."""
        names = record.names(self.vehicle.State)
        starts = np.zeros_like(self.starts) if moved else self.starts.copy()
        times = self.drive.t[self.begins - self.lead]
        for source in self.sources:
            name = "steer" if source.startswith("steer") else "v_x"
            if name in self.prescribed and moved in ("", source):
                late = delays.get(source, self.delay_of(source))
                values, slope = self._interpolated(source, times - late)
                starts[:, names.index(name)] = -slope if moved else values
        return starts

    def run(self, guesses: Sequence[Guess] = (Guess(),)) -> Array:
        """Channels of some guesses, (guesses, channels, windows, rows); NaN where one diverges.

        A run that diverges is NaN from there on.
        """
        numbers = (self.lead + self.steps) * self.split * self.windows * self.starts.shape[1]
        many = max(1, _MOST_NUMBERS // numbers)
        parts = [self._part(guesses[k : k + many]) for k in range(0, len(guesses), many)]
        return np.concatenate(parts)

    def _part(self, guesses: Sequence[Guess]) -> Array:
        controls: dict[tuple[Any, ...], Array] = {}
        for guess in guesses:
            key = tuple(sorted(guess.delays.items()))
            if key not in controls:
                controls[key] = self._controls(guess.delays)
        tables = [controls[tuple(sorted(g.delays.items()))] for g in guesses]
        x0 = np.concatenate([self.start_states(g) for g in guesses])
        names = dict.fromkeys(name for g in guesses for name in g.params)
        defaults = self._defaults()
        params = {
            name: np.repeat([g.params.get(name, defaults[name]) for g in guesses], self.windows)
            for name in names
        }
        u = tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)
        told = self._outputs_of(self.fleet, x0, u, params)
        told = told.reshape(-1, len(guesses), self.windows, len(self.channels))
        return np.stack(
            [
                self._delayed(told[:, k].transpose(2, 1, 0), g.delays)[0]
                for k, g in enumerate(guesses)
            ]
        )

    def _defaults(self) -> dict[str, float]:
        vehicle = self.observed
        return dict(zip(record.names(vehicle.Params), record.flatten(vehicle.params), strict=True))

    def start_states(self, guess: Guess) -> Array:
        """Start states (windows, nx) of a guess, at the begin of the run-in."""
        starts = self._delayed_start(guess.delays) + guess.starts
        bias = self._steer_bias()
        if bias:
            starts[:, bias - 1] -= guess.params.get("steer_bias", self._defaults()["steer_bias"])
        return starts

    def _steer_bias(self) -> int:
        """One more than the place of a measured wheel angle that includes the bias `steer_bias`."""
        has = "steer_bias" in record.names(self.vehicle.Params) and "steer" in self.drive.channels
        return record.names(self.vehicle.State).index("steer") + 1 if has else 0

    def _outputs_of(self, fleet: Fleet, x0: Array, u: Array, params: Mapping[str, Array]) -> Array:
        """Outputs at the rows of the run-in and the windows, (rows, vehicles, ny)."""
        more: dict[str, Any] = {"params": params} if params else {}
        states = fleet.rollout(x0, u[:-1], every=self.split, **more)
        return fleet.outputs(states, u[:: self.split], **more)

    def _delayed(self, told: Array, delays: Mapping[str, s]) -> tuple[Array, Array]:
        """Channels (channels, windows, rows of run-in and window) with their delays.

        Also the slopes by time of delayed channels; 0 for the others.
        """
        late = told[..., self.lead :].copy()
        slopes = np.zeros_like(late)
        for k, name in enumerate(self.channels):
            delay = delays.get(name, self.delays.get(name))
            if delay is not None:
                place = np.arange(late.shape[-1]) + self.lead - delay / self.drive.dt
                row = np.clip(np.floor(place).astype(int), 0, told.shape[-1] - 2)
                steps = told[k, :, row + 1] - told[k, :, row]
                late[k] = (told[k, :, row] + (place - row)[:, None] * steps).T
                slopes[k] = steps.T / self.drive.dt
        return late, slopes

    def follow_speed(self, guess: Guess) -> None:
        """Make runs with this guess, and similar ones, follow a tracked speed closely.

        Tracking is proportional, so the resistance of turning tyres leaves a lasting error of the
        speed, which a fit takes for softer tyres with less grip. The speed to follow is therefore
        moved by the error of a run (iterative learning control). Windows that diverge, or in which
        drive and brakes cannot make the logged speed, keep their speed to follow.
        """
        names = record.names(self.vehicle.State)
        if self.way.speed != "tracked" or "v_x" not in names:
            return
        field = record.names(self.observed.Input).index("log.speed")
        ratio = guess.params.get("log.speed_ratio", self._defaults()["log.speed_ratio"])
        params = {name: np.full(self.windows, value) for name, value in guess.params.items()}
        more: dict[str, Any] = {"params": params} if params else {}
        x0 = self.start_states(guess)
        self._speed_shift[:] = 0.0
        logged = self._controls(guess.delays)[..., field]
        for _ in range(_FOLLOWING_RUNS):
            states = self.fleet.rollout(x0, self._controls(guess.delays)[:-1], **more)
            lag = logged - states[..., names.index("v_x")] / ratio
            shift = self._speed_shift[:-1] + lag
            follows = np.isfinite(shift).all(axis=0) & (np.abs(shift) < _LARGEST_SHIFT).all(axis=0)
            self._speed_shift[:-1] = np.where(follows, shift, 0.0)
            self._speed_shift[-1] = self._speed_shift[-2]

    def slopes(self, guess: Guess, directions: Sequence[Direction]) -> Slopes:
        """Channels of one guess and their exact derivatives in some directions."""
        free = tuple(dict.fromkeys(name for d in directions for name in d.params))
        if free not in self._tangents:
            vehicle = tangent(self.observed, self.method, free)
            self._tangents[free] = _Fleet(vehicle, self.dt, self.method)
        fleet, count, windows = self._tangents[free], max(len(directions), 1), self.windows
        names, defaults = record.names(self.vehicle.State), self._defaults()
        nx, nu = len(names), record.size(self.observed.Input)
        x0 = np.zeros((count, windows, 2 * nx))
        x0[..., :nx] = self.start_states(guess)
        controls = self._controls(guess.delays)
        u = np.zeros((len(controls), count, windows, 2 * nu))
        u[..., :nu] = controls[:, None]
        changes = {f"d{k}": np.zeros((count, windows)) for k in range(len(free))}
        bias = self._steer_bias()
        for i, direction in enumerate(directions):
            for name, change in direction.params.items():
                changes[f"d{free.index(name)}"][i] = change
                if name == "steer_bias" and bias:
                    x0[i, :, nx + bias - 1] -= change
            if direction.state:
                x0[i, :, nx + names.index(direction.state)] = 1.0
            if direction.delay:
                x0[i, ..., nx:] += self._delayed_start(guess.delays, direction.delay)
                u[:, i, :, nu:] += self._controls(guess.delays, direction.delay)
        values = {f"p.{name}": guess.params.get(name, defaults[name]) for name in guess.params}
        params = {name: np.full(count * windows, value) for name, value in values.items()}
        params |= {name: change.ravel() for name, change in changes.items()}
        shape = (len(u), count * windows, 2 * nu)
        told = self._outputs_of(fleet, x0.reshape(count * windows, -1), u.reshape(shape), params)
        told = told.reshape(-1, count, windows, 2 * len(self.channels)).transpose(1, 3, 2, 0)
        channels, slopes = self._delayed(told[0, : len(self.channels)], guess.delays)
        by = np.stack([self._delayed(t[len(self.channels) :], guess.delays)[0] for t in told])
        for i, direction in enumerate(directions):
            if direction.delay in self.channels:
                k = self.channels.index(direction.delay)
                by[i, k] -= slopes[k]
        return Slopes(channels, by[: len(directions)])

    def errors(self, channels: Array) -> Array:
        """Replayed minus measured channels (..., channels, windows, rows); yaw to half a turn."""
        difference = channels - self.measured
        for k, name in enumerate(self.channels):
            if name == "yaw":
                turn = difference[..., k, :, :]
                difference[..., k, :, :] = np.arctan2(np.sin(turn), np.cos(turn))
        return difference


class Track(NamedTuple):
    """Direction of the track of a log with positions, and the heading that follows from it."""

    course: Array
    """Direction of the motion in rad, for each row of the log; NaN where the vehicle hardly
    moves."""
    heading: Array
    """Course minus the measured sideslip, or minus zero if the log has none."""

    @classmethod
    def of(cls, drive: Prepared) -> Track | None:
        """The track of a log, None if it has no positions or never moves.

        The direction is that of chords, and the difference of it from the integral of the yaw rate
        is averaged, so that noise of positions hardly turns a path.
        """
        channels, count = drive.channels, len(drive.t)
        if not {"x", "y"} <= channels.keys():
            return None
        half = max(1, round(_HALF_CHORD / drive.dt))
        rows = np.arange(count)
        after, before = np.minimum(rows + half, count - 1), np.maximum(rows - half, 0)
        # Chords at the ends of the log are shorter and not centred on their rows.
        whole = after - before == 2 * half
        x, y = (channels[name][after] - channels[name][before] for name in ("x", "y"))
        moves = whole & (np.hypot(x, y) > 2.0 * _HALF_CHORD * WALKING)
        if not moves.any():
            return None
        speed = np.nan_to_num(channels.get("v_x", np.ones(count)))
        slip = channels.get("sideslip")
        if slip is None and "v_y" in channels:
            slip = np.arctan2(channels["v_y"], np.maximum(np.abs(speed), WALKING))
        slip = np.zeros(count) if slip is None else np.nan_to_num(slip)
        omega = np.nan_to_num(channels.get("omega", np.zeros(count)))
        turned = drive.dt * (np.cumsum(omega) - 0.5 * omega)
        apart = np.arctan2(y, x) - slip - turned + np.where(speed < 0.0, np.pi, 0.0)
        box = np.ones(min(4 * half + 1, count))
        cosine, sine = (
            np.convolve(np.where(moves, part, 0.0), box, "same")
            for part in (np.cos(apart), np.sin(apart))
        )
        near = np.convolve(moves, box, "same") > 0.5
        heading = np.where(near, np.arctan2(sine, cosine) + turned, np.nan)
        return cls(heading + slip + np.where(speed < 0.0, np.pi, 0.0), heading)


class _Fleet(Fleet):
    """A fleet with a method that was chosen for the vehicle itself, whose speeds are known."""

    def __init__(self, vehicle: Vehicle, dt: s, method: Integrator) -> None:
        settings = Settings(dt, method, on_diverge="mask")
        self._use(Runner(Plant.of(vehicle, method), settings))


def _place(vehicle: Vehicle, at: str | tuple[float, float]) -> tuple[float, float]:
    """A point relative to the body point, in m."""
    geometry = vehicle.geometry
    places = {
        "body point": (0.0, 0.0),
        "centre of mass": geometry.centre_of_mass,
        "rear axle": (geometry.rear_axle, 0.0),
    }
    if isinstance(at, str):
        one_of("at", at, (*places, "auto"))
        return places[at]
    return geometry.rear_axle + at[0], at[1]


def over_steps(series: Channel, times: Array, *, whole: bool = False) -> Array:
    """Mean of a held command over each step between some times, (steps, ...) of (steps + 1, ...).

    A lag that is driven by the mean ends where the command itself takes it, to second order. The
    last value is taken instead for numbers of something (`whole`), such as a gear, which have no
    mean, and where it holds over the whole step.
    """
    rows = np.searchsorted(series.t, times + 1e-9, side="right") - 1
    held = series.values[np.maximum(rows[:-1], 0)]
    if whole:
        return held
    last = np.searchsorted(series.t, times[1:] - 1e-9, side="right") - 1
    t, values = series.t, series.values
    total = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(t))])
    row = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 1)
    integral = total[row] + (times - t[row]) * values[row]
    means = np.diff(integral, axis=0) / np.diff(times, axis=0)
    return np.where(last == rows[:-1], held, means)


def _held(series: Channel, times: Array) -> Array:
    """The last value at or before some times; the first before all."""
    rows = np.searchsorted(series.t, times + 1e-9, side="right") - 1
    return series.values[np.maximum(rows, 0)]
