"""PlanningSimulator: the simulator around a command-driven model, without transport.

It does what Autoware's `simple_planning_simulator` node does between its subscriptions and its
publishers: store the latest of every command, advance the model when the timer fires, report.
ROS 2, a file or a test calls its methods and passes on the records.

Reproduced from the program, right or wrong, in both modes of `compat`:

* Fields that are 32-bit floats in the messages are rounded to such: control commands, the velocity
  and the steering report, and the acceleration after the slope is added.
* The first tick of an initialised vehicle advances it by 0 s. While it is not engaged the clock
  continues, so engaging causes no jump.
* The autonomous gear is NONE until a gear is commanded, the manual one PARK; in gear NONE no
  acceleration acts. The models without gears reverse the sign in REVERSE, too.
* `initial_pose` and `set_pose` put the vehicle at rest with straight wheels. `initial_twist` puts
  it back to the initial pose with a velocity, and does nothing without an earlier `initial_pose`.
* With measurement noise the reported orientation has no pitch.
* The frame of the acceleration report is "/base_link", that of the IMU "base_link", always.

Where the program's behaviour is undefined: an ACTUATION model in manual mode has zeros for pedals
and steering until `manual_command` gets an `ActuationCommand`. A `ControlCommand` there is an
error; under compat="upstream" it is accepted and leaves the zeros.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ...core import record
from ...core.checks import finite, flag, not_negative, one_of, whole
from ...core.files import shown
from ...errors import InvalidValue, SimulationDiverged
from ...random.streams import fresh
from ...units import m, m_s, m_s2, rad, s
from ...vehicles.command_driven.parameters import AssumedParameter, gather, written_in_files
from ...vehicles.command_driven.records import ALIASES, LEARNED, PARAMETERS
from ...vehicles.parts.actuators import Gear
from ...vehicles.registry import COMMAND_DRIVEN
from . import reports as node
from .learned import LISTS
from .reports import (
    ActuationCommand,
    ControlCommand,
    ControlMode,
    HazardLights,
    InitialPose,
    Motion,
    MotionModel,
    Reporter,
    Reports,
    Switches,
    TurnIndicators,
    checked_record,
    control_command,
    gear_number,
    member,
    single,
)
from .road import slope_acceleration

_AUTONOMOUS = ControlMode.AUTONOMOUS
ACCEPTED_MODES = (ControlMode.AUTONOMOUS, ControlMode.MANUAL)


class Ground(Protocol):
    """A road with a slope, such as `road.Road`."""

    def pitch(self, x: m, y: m, yaw: rad) -> rad:
        """Pitch in rad of a vehicle at a pose, positive nose down: negative uphill."""
        ...


class PlanningSimulator:
    """Planning simulator of one vehicle that takes commands and returns reports at each `tick`.

    Args:
        model: name of the model, such as "DELAY_STEER_ACC_GEARED", or a `MotionModel`; by default
            the parameter vehicle_model_type names it.
        parameters: a parameter file of Autoware, a mapping, or a list of these; later ones
            override.
        compat: None for the repaired models, "upstream" to reproduce the program.
        seed: seed of the measurement noise; None for a random one.
        road: source of the pitch; None for a level road.
        allow_import: whether a file may name the Python modules of LEARNED_STEER_VEL, which are
            imported and called. Names in a mapping or keyword are always allowed.
        **overrides: single parameters by name; they override the files.

    Every method checks its arguments. A rejected call raises `InvalidValue`, changes nothing and
    is counted in `rejected`.
    """

    def __repr__(self) -> str:
        moment = "not started" if self._now is None else f"at {self._now / 1e9:g} s"
        compat = f", compat={self.compat!r}" if self.compat else ""
        name = f"<PlanningSimulator of {self.model.name}"
        return f"{name}: {moment}, ticks of {self.period:g} s{compat}>"

    def __init__(
        self,
        model: Any = None,
        parameters: Any = None,
        /,
        *,
        compat: str | None = None,
        seed: int | None = None,
        road: Ground | None = None,
        allow_import: bool = False,
        **overrides: Any,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self.compat = compat
        self.parameters, self.settings, self.model = assemble(
            model, parameters, compat, overrides, allow_import=allow_import
        )
        allowed = "from 0 to 2**64 - 1"
        self.seed = fresh() if seed is None else whole("seed", seed, allowed, 0, 2**64 - 1)
        """Seed of the measurement noise."""
        self.road = road
        self._slope_acts = self.settings.enable_road_slope_simulation
        self._translated = translation(self.model.inputs)
        self._takes_actuation = takes_actuation(self.model.inputs)
        idle = ActuationCommand() if self._takes_actuation else ControlCommand()
        self._command = self._manual_command = idle
        self._gear: Gear | int = Gear.NONE
        self._manual_gear: Gear | int = Gear.PARK
        self._turn_indicators: TurnIndicators | None = None
        self._hazard_lights: HazardLights | None = None
        self._mode: ControlMode = _AUTONOMOUS
        self._engaged = self.settings.initial_engage_state
        self._initial_pose: InitialPose | None = None
        self._trajectory: np.ndarray | None = None
        self._z = 0.0
        self._ready = False
        self.restart_clock()
        self._rejected: Counter[str] = Counter()
        self._rejected_count = 0
        self._reporter = Reporter(self.settings, self.seed)
        if self.settings.initialize_source == "ORIGIN":
            self._put(InitialPose())

    @property
    def road(self) -> Ground | None:
        """Road that determines the pitch; may be replaced at any time, as a map may arrive late."""
        return self._road

    @road.setter
    def road(self, road: Ground | None) -> None:
        if road is not None and not callable(getattr(road, "pitch", None)):
            raise InvalidValue(
                f"road = {road!r} must have a method pitch(x, y, yaw), as Road has, or be None"
            )
        self._road = road

    @property
    def period(self) -> s:
        """Nominal time between ticks, from timer_sampling_time_ms."""
        return self.settings.period

    @property
    def initialised(self) -> bool:
        """Whether the vehicle has an initial pose."""
        return self._ready

    @property
    def engaged(self) -> bool:
        """Whether ticks move the vehicle."""
        return self._engaged

    @property
    def control_mode(self) -> ControlMode:
        """Source of the commands that are applied."""
        return self._mode

    @property
    def motion(self) -> Motion:
        """The true motion of the vehicle, without noise."""
        return self.model.motion

    @property
    def rejected(self) -> dict[str, int]:
        """Number of rejected calls by method; methods without any are absent."""
        return dict(self._rejected)

    def command(self, message: Any = None, /, **fields: float) -> ControlCommand | ActuationCommand:
        """Set the autonomous command, which holds until the next; returns it as stored.

        An `ActuationCommand` for ACTUATION models, a `ControlCommand` for all others; as a record,
        mapping, sequence or keywords.
        """
        self._command = self._accept("command", self._command_of, message, fields)
        return self._command

    def manual_command(
        self, message: Any = None, /, **fields: float
    ) -> ControlCommand | ActuationCommand:
        """Set the command of the manual mode; arguments and result as for `command`."""
        if self._takes_actuation and self.compat and isinstance(message, ControlCommand):
            self._accept("manual_command", control_command, message, fields)
            return self._manual_command
        self._manual_command = self._accept("manual_command", self._command_of, message, fields)
        return self._manual_command

    def gear(self, gear: Gear | int | str) -> None:
        """Set the gear of the autonomous mode, by member, number or name.

        Under compat="upstream" a number without a name (25 to 255) is a gear that does not drive.
        """
        self._gear = self._accept("gear", self._gear_of, gear)

    def manual_gear(self, gear: Gear | int | str) -> None:
        """Set the gear of the manual mode."""
        self._manual_gear = self._accept("manual_gear", self._gear_of, gear)

    def turn_indicators(self, command: TurnIndicators | int | str) -> None:
        """Set the direction indicators, which are reported from then on."""
        self._turn_indicators = self._accept("turn_indicators", member, TurnIndicators, command)

    def hazard_lights(self, command: HazardLights | int | str) -> None:
        """Set the hazard lights, which are reported from then on."""
        self._hazard_lights = self._accept("hazard_lights", member, HazardLights, command)

    def request_control_mode(self, mode: ControlMode | int | str) -> bool:
        """Request AUTONOMOUS or MANUAL; returns whether it was granted. Other modes are never
        granted."""
        try:
            requested: ControlMode = member(ControlMode, mode)
        except InvalidValue:
            requested = ControlMode.NO_COMMAND
        if requested not in ACCEPTED_MODES:
            self._count("request_control_mode")
            return False
        self._mode = requested
        return True

    def engage(self, engage: bool = True) -> None:
        """Let ticks move the vehicle, or freeze it, which preserves its velocity."""
        self._engaged = self._accept("engage", flag, "engage", engage)

    def initial_pose(self, message: Any = None, /, **fields: float) -> InitialPose:
        """Put the vehicle at a pose, at rest; the first call also starts the simulation.

        Takes an `InitialPose` as record, mapping, sequence (x, y, yaw, z) or keywords, in the
        origin frame. For poses in other frames a transport adds the translation of the transform,
        as the program does (it ignores the rotation).
        """
        pose = self._accept("initial_pose", checked_record, InitialPose, message, fields)
        self._put(pose)
        self._initial_pose = pose
        self._z = pose.z
        return pose

    def set_pose(self, message: Any = None, /, **fields: float) -> InitialPose:
        """Set the pose as `initial_pose` does, but without changing the height and the pose of
        `initial_twist`."""
        pose = self._accept("set_pose", checked_record, InitialPose, message, fields)
        self._put(pose)
        return pose

    def initial_twist(self, v_x: m_s) -> bool:
        """Restart at the last initial pose with a forward velocity.

        Returns whether it did: without an earlier `initial_pose` the call has no effect.
        """
        velocity = self._accept("initial_twist", finite, "v_x", v_x)
        if self._initial_pose is None:
            return False
        self._put(self._initial_pose, velocity)
        return True

    def trajectory(self, points: Any) -> None:
        """Set the planned path, points (x, y, z) in m, (n, 3).

        The height of the nearest point is reported. With None or no points the height is unchanged.
        """
        self._trajectory = self._accept("trajectory", columns, points)

    def covariances(self, *, x_stddev: m | None = None, y_stddev: m | None = None) -> None:
        """Change the parameters x_stddev and y_stddev, also during a run."""
        given = {"x_stddev": x_stddev, "y_stddev": y_stddev}.items()
        given = {name: value for name, value in given if value is not None}
        new = {n: self._accept("covariances", not_negative, n, value) for n, value in given.items()}
        self.settings = replace(self.settings, **new)
        self.parameters = {**self.parameters, **new}
        self._reporter.state_covariances(self.settings.x_stddev, self.settings.y_stddev)

    def restart_clock(self) -> None:
        """Forget the time of the last tick: the next one may be earlier, and advances by 0 s."""
        self._now: int | None = None
        self._updated: int | None = None

    def tick(self, now: s) -> Reports:
        """Advance to the time `now` in s, rounded to nanoseconds, and report.

        A time before that of the last tick is an error; an equal time advances by 0 s.
        """
        try:
            nanoseconds = round(now * 1e9)
        except (TypeError, ValueError, OverflowError):
            self._count("tick")
            raise InvalidValue(f"now = {shown(now)} must be a finite number of seconds") from None
        return self.tick_at(nanoseconds)

    def tick_at(self, nanoseconds: int) -> Reports:
        """Advance to a time in ns and report, as `tick` does; exact also for the time since
        1970."""
        if type(nanoseconds) is not int:
            nanoseconds = self._accept("tick", whole, "nanoseconds", nanoseconds, "", None)
        stamp, last = nanoseconds / 1e9, self._now
        if last is not None and nanoseconds < last:
            self._count("tick")
            raise InvalidValue(
                f"now = {stamp} s lies before the last tick at {last / 1e9} s; "
                "if the clock was set back, call restart_clock()"
            )
        if not self._ready:
            self._now = nanoseconds
            return self._reporter.waiting(stamp, self._mode, self._rejected_count)
        manual = self._mode is not _AUTONOMOUS
        gear = self._manual_gear if manual else self._gear
        command = self._manual_command if manual else self._command
        model = self.model
        pitch = self._pitch()
        slope = slope_acceleration(pitch) if self._slope_acts else 0.0
        model.set_input(self._translated(command, gear, slope))
        motion = self._advance(nanoseconds)
        self._now = self._updated = nanoseconds
        self._last = motion
        self._z = self._height(motion.x, motion.y)
        lights = self._turn_indicators, self._hazard_lights
        status, rejected = model.actuation_status(), self._rejected_count
        switches = Switches(self._mode, gear, *lights, status, rejected)
        return self._reporter.reports(stamp, motion, pitch, self._z, switches)

    def _pitch(self) -> rad:
        """Pitch before the update, reported with the yaw after it, as upstream does."""
        if self.road is None:
            return 0.0
        last = self._last
        return finite("road.pitch()", self.road.pitch(last.x, last.y, last.yaw))

    def _advance(self, nanoseconds: int) -> Motion:
        """Advance an engaged vehicle; returns the motion at this time."""
        updated = nanoseconds if self._updated is None else self._updated
        try:
            if self._engaged:
                self.model.step((nanoseconds - updated) / 1e9)
        except SimulationDiverged as error:
            raise self._diverged(nanoseconds, updated) from error
        motion = self.model.motion
        # The acceleration may be infinite: the program divides a velocity step by dt = 0.
        if not math.isfinite(motion.x + motion.y + motion.yaw + motion.v_x + motion.steer):
            raise self._diverged(nanoseconds, updated)
        return motion

    def _diverged(self, nanoseconds: int, updated: int) -> SimulationDiverged:
        return SimulationDiverged(
            f"{self.model.name} became NaN or infinite in the tick to t = {nanoseconds / 1e9} s; "
            f"the last finite motion, of t = {updated / 1e9} s, is {self._last}. Check the last "
            "command; initial_pose() starts again",
            time=updated / 1e9,
            last_state=self._last,
        )

    def _height(self, x: m, y: m) -> m:
        points = self._trajectory
        if points is None:
            return self._z
        d_x, d_y = points[0] - x, points[1] - y
        return float(points[2, (d_x * d_x + d_y * d_y).argmin()])

    def _put(self, pose: InitialPose, v_x: m_s = 0.0) -> None:
        self.model.set_state(pose.x, pose.y, pose.yaw, v_x)
        self._last = self.model.motion
        self._ready = True

    def _gear_of(self, gear: Any) -> Gear | int:
        return gear_number(gear) if self.compat else member(Gear, gear)

    def _command_of(self, message: Any, fields: Mapping[str, Any]) -> Any:
        if self._takes_actuation:
            return checked_record(ActuationCommand, message, fields)
        return control_command(message, fields)

    def _accept(self, method: str, check: Any, *values: Any) -> Any:
        """Return the checked value, or count a rejection and raise."""
        try:
            return check(*values)
        except InvalidValue:
            self._count(method)
            raise

    def _count(self, method: str) -> None:
        self._rejected[method] += 1
        self._rejected_count += 1


Assembly = tuple[dict[str, Any], node.Settings, MotionModel]
"""All parameters by name, the settings of the simulator around the model, and the model."""


def assemble(
    model: Any,
    parameters: Any,
    compat: str | None,
    overrides: Mapping[str, Any],
    *,
    allow_import: bool = False,
) -> Assembly:
    """Parameters, settings and model for the arguments of `PlanningSimulator`."""
    if hasattr(model, "set_input"):
        # With a MotionModel, parameters can only be settings of the simulator.
        if parameters is not None and not isinstance(parameters, Mapping):
            raise InvalidValue(
                f"parameters = {parameters!r}: with a MotionModel, parameters must be a mapping"
            )
        values = {**(parameters or {}), **overrides}
        for name in values:
            if name not in node.NAMES:
                raise InvalidValue(record.unknown_name("Settings", name, node.NAMES, "parameter"))
        settings = node.settings(values, compat)
        return dict(vars(settings)), settings, model
    if isinstance(model, str) and not model.endswith((".yaml", ".yml")):
        if model not in COMMAND_DRIVEN:
            raise InvalidValue(record.unknown_name("skidpad", model, COMMAND_DRIVEN, "model"))
    else:
        if parameters is not None and model is not None:
            raise InvalidValue(
                f"model = {model!r} must be the name of a model or a MotionModel; "
                f"names are {', '.join(COMMAND_DRIVEN)}"
            )
        model, parameters = None, model if parameters is None else parameters
    sources = _sources(parameters, overrides)
    values = gather(sources, model, compat)
    if model is None and not sources:
        warnings.warn(
            f"no parameters are given; the model {values['vehicle_model_type']} with a wheel_base "
            f"of {values['wheel_base']} m is used, as Autoware's defaults have it",
            AssumedParameter,
            stacklevel=3,
        )
    if values["vehicle_model_type"] in LEARNED and not allow_import:
        # A file, unlike the caller, must not choose which Python code runs.
        places = written_in_files(sources, LISTS)
        if places:
            modules = ", ".join(values["model_module_paths"])
            raise InvalidValue(
                f"{'; '.join(places)}: the file would import and call {modules}; pass "
                "allow_import=True if you trust the file"
            )
    settings = node.settings(values, compat)
    # Imported here, since the module imports the compiler.
    from .motion import motion_model

    name = values["vehicle_model_type"]
    return values, settings, motion_model(name, values, settings.period, compat)


def _sources(parameters: Any, overrides: Mapping[str, Any]) -> list[Any]:
    """Files and mappings in one list, in which later ones override."""
    groups = {name.partition(".")[0] for name in PARAMETERS}
    known = (*PARAMETERS, *ALIASES)
    for name in overrides:
        # Files may contain parameters of other nodes; keywords must be parameters of this node.
        if name not in groups and name not in known:
            raise InvalidValue(record.unknown_name("PlanningSimulator", name, known, "parameter"))
    many = isinstance(parameters, (list, tuple))
    sources = [*parameters] if many else [] if parameters is None else [parameters]
    return [*sources, dict(overrides)] if overrides else sources


def columns(values: Any) -> np.ndarray | None:
    """Points (n, 3) in m as an array of the rows x, y, z, (3, n); None without points."""
    if values is None:
        return None
    try:
        points = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue("trajectory must be numbers: points of x, y, z in m") from None
    if points.size == 0:
        return None
    if points.ndim != 2 or points.shape[1] != 3:
        raise InvalidValue(f"trajectory has shape {points.shape}; expected (n, 3): x, y, z in m")
    if not np.isfinite(points).all():
        row = int(np.argwhere(~np.isfinite(points))[0, 0])
        raise InvalidValue(f"trajectory[{row}] = {points[row].tolist()} must be finite")
    return np.ascontiguousarray(points.T)


Row = tuple[float, ...]
Translation = Callable[[Any, Gear | int, m_s2], Row]
"""Function from (command, gear, acceleration by slope) to the values of a model's input, in
order."""

# Enumeration members are looked up once, since the lookup is slow and these are used at every tick.
_NONE, _REVERSE, _REVERSE_2 = Gear.NONE, Gear.REVERSE, Gear.REVERSE_2


def _signed(command: Any, gear: Gear | int, slope: m_s2) -> m_s2:
    """Commanded acceleration along the x axis of the vehicle, including gravity, as a 32-bit float.

    A command is in the direction of the gear. In gear NONE neither command nor gravity act.
    """
    if gear is _NONE:
        return 0.0
    backward = gear is _REVERSE or gear is _REVERSE_2
    return single((-command[1] if backward else command[1]) + slope)


_TRANSLATIONS: dict[tuple[str, ...], Translation] = {
    ("velocity", "steer"): lambda c, gear, slope: (c[0], c[2]),
    ("acceleration", "steer"): lambda c, gear, slope: (_signed(c, gear, slope), c[2]),
    ("acceleration", "steer", "gear"): lambda c, gear, slope: (_signed(c, gear, slope), c[2], gear),
    # The model turns the sign by the gear itself, and the slope is not part of the dead time.
    ("acceleration", "steer", "gear", "slope"): lambda c, gear, slope: (c[1], c[2], gear, slope),
    ("accel", "brake", "steer", "gear", "slope"): lambda c, gear, slope: (*c, gear, slope),
}
"""Translations by the fields of the model's input."""


def translation(names: tuple[str, ...]) -> Translation:
    """Function that translates a command for a model whose input has the fields `names`."""
    if names not in _TRANSLATIONS:
        known = "; ".join(", ".join(row) for row in _TRANSLATIONS)
        raise InvalidValue(
            f"no command can be translated to the input {', '.join(names)}; known are {known}"
        )
    return _TRANSLATIONS[names]


def takes_actuation(names: tuple[str, ...]) -> bool:
    """Whether a model with these inputs has pedals rather than an acceleration as input."""
    return "accel" in names
