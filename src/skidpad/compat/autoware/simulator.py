"""PlanningSimulator: the simulator around a command-driven model, a plain object without transport.

It does what Autoware's `simple_planning_simulator` node does between its subscriptions and its
publishers: keep the latest of every command, advance the model when the timer fires, report. What
drives it (ROS 2, a file, a test) calls the methods and passes on the records.

What is kept as in the program, right or not, in both modes of `compat`:

* Fields that are 32-bit floats in the messages are rounded to such: control commands, the velocity
  and the steering report, and the acceleration after the slope is added.
* The first tick of an initialised vehicle advances it by 0 s. While it is not engaged the clock
  goes on, so engaging causes no jump.
* The autonomous gear is NONE until a gear is commanded, the manual one PARK; in gear NONE no
  acceleration acts. The models that know no gear turn the sign in REVERSE, too.
* `initial_pose` and `set_pose` put the vehicle at rest with straight wheels. `initial_twist` puts
  it back to the initial pose with a velocity, and does nothing without an earlier `initial_pose`.
* With measurement noise the reported orientation has no pitch.
* The frame of the acceleration report is "/base_link", that of the IMU "base_link", always.

Where the program's behaviour is undefined: an ACTUATION model in manual mode gets zeros for pedals
and steering until `manual_command` is given an `ActuationCommand`. A `ControlCommand` there is an
error; under compat="upstream" it is accepted and leaves the zeros.

From what the user gives to the parts of a planning simulator: parameters, settings, model.

Checks of what a planning simulator is given; each raises `InvalidValue` or returns the value.

From a command, a gear and a slope to the input of a model, as the program translates them.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...core import record
from ...core.checks import finite, flag, one_of, whole
from ...core.files import shown
from ...errors import InvalidValue, SimulationDiverged
from ...units import m, m_s, m_s2, rad, s
from ...vehicles.command_driven.parameters import AssumedParameter, gather, written_in_files
from ...vehicles.command_driven.records import ALIASES, LEARNED, NAMES, PARAMETERS
from ...vehicles.parts.drive_command import Gear
from . import settings as node
from .learned import LISTS
from .messages import (
    ActuationCommand,
    ControlCommand,
    ControlMode,
    HazardLights,
    InitialPose,
    Motion,
    MotionModel,
    TurnIndicators,
    actuation_command,
    control_command,
    gear_number,
    member,
    single,
)
from .messages import initial_pose as checked_pose
from .reports import Reporter, Reports, Switches
from .road import slope_acceleration
from .settings import fresh_seed, size


class Parts(NamedTuple):
    """What a planning simulator is made of."""

    parameters: dict[str, Any]
    """All parameters by name."""
    settings: node.Settings
    """Those of the simulator around the model."""
    model: MotionModel


def parts(
    model: Any,
    parameters: Any,
    compat: str | None,
    overrides: Mapping[str, Any],
    *,
    allow_import: bool = False,
) -> Parts:
    """The parts for the arguments of `PlanningSimulator`; raises `InvalidValue`."""
    if hasattr(model, "set_input"):
        return _around(model, parameters, compat, overrides)
    if not _is_name(model):
        if parameters is not None and model is not None:
            raise InvalidValue(
                f"model = {model!r} must be the name of a model or a MotionModel; "
                f"names are {', '.join(NAMES)}"
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
        _refuse_imports(sources, values)
    chosen = node.settings(values, compat)
    # The compiler comes in here, not with the records.
    from .motion import motion_model

    name = values["vehicle_model_type"]
    return Parts(values, chosen, motion_model(name, values, chosen.period, compat))


def _refuse_imports(sources: list[Any], values: Mapping[str, Any]) -> None:
    """Raise where a file, and not the caller, says which Python code to run."""
    places = written_in_files(sources, LISTS)
    if places:
        modules = ", ".join(values["model_module_paths"])
        raise InvalidValue(
            f"{'; '.join(places)}: the file would import and call {modules}; pass "
            "allow_import=True if you trust the file"
        )


def _around(
    model: MotionModel, parameters: Any, compat: str | None, overrides: Mapping[str, Any]
) -> Parts:
    """A simulator around a model that is ready, so that only its own parameters can be given."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidValue(
            f"parameters = {parameters!r}: around a model that is ready they are a mapping"
        )
    values = {**(parameters or {}), **overrides}
    for name in values:
        if name not in node.NAMES:
            raise InvalidValue(record.unknown_name("Settings", name, node.NAMES, "parameter"))
    chosen = node.settings(values, compat)
    return Parts(dict(vars(chosen)), chosen, model)


def _is_name(model: Any) -> bool:
    """Whether this names a model and is not the parameters; raises for a name that is unknown."""
    if not isinstance(model, str) or model.endswith((".yaml", ".yml")):
        return False
    if model not in NAMES:
        raise InvalidValue(record.unknown_name("skidpad", model, NAMES, "model"))
    return True


def _sources(parameters: Any, overrides: Mapping[str, Any]) -> list[Any]:
    """One list of files and mappings in which later ones win."""
    groups = {name.partition(".")[0] for name in PARAMETERS}
    for name in overrides:
        # A file may hold what other nodes read; a keyword is meant for this one.
        if name not in groups and name not in (*PARAMETERS, *ALIASES):
            known = (*PARAMETERS, *ALIASES)
            raise InvalidValue(record.unknown_name("PlanningSimulator", name, known, "parameter"))
    many = isinstance(parameters, (list, tuple))
    sources = [*parameters] if many else [] if parameters is None else [parameters]
    return [*sources, dict(overrides)] if overrides else sources


def checked_seed(value: Any) -> int:
    """A seed of random numbers."""
    number = whole("seed", value, least=None)
    if not 0 <= number < 2**64:
        raise InvalidValue(f"seed = {number} must be from 0 to 2**64 - 1")
    return number


def columns(values: Any) -> np.ndarray | None:
    """The rows x, y, z of an array (3, n) from points (n, 3) in m; None if there are none."""
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
"""From (command, gear, acceleration by slope) to the numbers of a model's input, in its order."""

# Looked up once: members of an enumeration are slow to find, and this runs at every tick.
_NONE, _REVERSE, _REVERSE_2 = Gear.NONE, Gear.REVERSE, Gear.REVERSE_2


def signed_acceleration(acceleration: m_s2, gear: Gear | int, slope: m_s2) -> m_s2:
    """Acceleration along the x axis of the vehicle, gravity included, as a 32-bit float.

    A command counts in the direction of the gear. In gear NONE nothing acts, gravity neither. The
    models without gears get the same number.
    """
    if gear is _NONE:
        return 0.0
    backward = gear is _REVERSE or gear is _REVERSE_2
    return single((-acceleration if backward else acceleration) + slope)


def _velocity(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    return command[0], command[2]


def _acceleration(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    return signed_acceleration(command[1], gear, slope), command[2]


def _geared(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    return signed_acceleration(command[1], gear, slope), command[2], gear


def _pedal(command: ControlCommand, gear: Gear | int, slope: m_s2) -> Row:
    # The model turns the sign by the gear itself, and the slope is not part of the dead time.
    return command[1], command[2], gear, slope


def _actuation(command: ActuationCommand, gear: Gear | int, slope: m_s2) -> Row:
    return *command, gear, slope


_TRANSLATIONS: dict[tuple[str, ...], Translation] = {
    ("velocity", "steer"): _velocity,
    ("acceleration", "steer"): _acceleration,
    ("acceleration", "steer", "gear"): _geared,
    ("acceleration", "steer", "gear", "slope"): _pedal,
    ("accel", "brake", "steer", "gear", "slope"): _actuation,
}


def translation(names: tuple[str, ...]) -> Translation:
    """How to fill an input with these fields."""
    if names not in _TRANSLATIONS:
        known = "; ".join(", ".join(row) for row in _TRANSLATIONS)
        raise InvalidValue(
            f"no command can be translated to the input {', '.join(names)}; known are {known}"
        )
    return _TRANSLATIONS[names]


def takes_actuation(names: tuple[str, ...]) -> bool:
    """Whether a model with these inputs is driven by pedals instead of accelerations."""
    return "accel" in names


_AUTONOMOUS = ControlMode.AUTONOMOUS
ACCEPTED_MODES = (ControlMode.AUTONOMOUS, ControlMode.MANUAL)


class Ground(Protocol):
    """Anything that knows the slope of the ground, such as `planning.road.Road`."""

    def pitch(self, x: m, y: m, yaw: rad) -> rad:
        """Pitch of a vehicle there, positive nose down: negative going uphill."""
        ...


class PlanningSimulator:
    """A vehicle that takes commands and gives reports, driven by `tick`.

    Args:
        model: name of the model, such as "DELAY_STEER_ACC_GEARED". Left out, the parameter
            vehicle_model_type names it. A `MotionModel` that is ready also does.
        parameters: a parameter file of Autoware, a mapping, or a list of these; later ones win.
        compat: None for the repaired models, "upstream" to reproduce the program.
        seed: of the measurement noise; None draws one, which `seed` then tells.
        road: gives the pitch; None is a level road.
        allow_import: whether a file may name the Python modules of LEARNED_STEER_VEL, which are
            imported and called. Names that are given here, in a mapping or by keyword, need none.
        **overrides: single parameters by name, winning over the files.

    Every method checks what it is given. A rejected call raises `InvalidValue`, changes nothing and
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
        assembly = parts(model, parameters, compat, overrides, allow_import=allow_import)
        self.parameters = assembly.parameters
        """All parameters by name."""
        self.settings = assembly.settings
        """Those of the simulator around the model."""
        self.model = assembly.model
        """The model that is driven."""
        self.seed = fresh_seed() if seed is None else checked_seed(seed)
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
        self._now: int | None = None
        self._updated: int | None = None
        self._rejected: Counter[str] = Counter()
        self._rejected_count = 0
        self._reporter = Reporter(self.settings, self.seed)
        if self.settings.initialize_source == "ORIGIN":
            self._put(InitialPose())

    @property
    def road(self) -> Ground | None:
        """What the pitch comes from; may be exchanged at any time, as a map may arrive late."""
        return self._road

    @road.setter
    def road(self, road: Ground | None) -> None:
        if road is not None and not callable(getattr(road, "pitch", None)):
            raise InvalidValue(
                f"road = {road!r} must have a method pitch(x, y, yaw), as planning.road.Road has, "
                "or be None"
            )
        self._road = road

    @property
    def period(self) -> s:
        """Nominal time between ticks, from timer_sampling_time_ms."""
        return self.settings.period

    @property
    def initialised(self) -> bool:
        """Whether the vehicle has a pose."""
        return self._ready

    @property
    def engaged(self) -> bool:
        """Whether ticks move the vehicle."""
        return self._engaged

    @property
    def control_mode(self) -> ControlMode:
        """Whose commands count."""
        return self._mode

    @property
    def motion(self) -> Motion:
        """The true motion of the vehicle, without noise."""
        return self.model.motion

    @property
    def rejected(self) -> dict[str, int]:
        """How often each method has rejected what it was given; those that never did are absent."""
        return dict(self._rejected)

    def command(self, message: Any = None, /, **fields: float) -> ControlCommand | ActuationCommand:
        """The autonomous command, kept until the next; returns it as kept.

        An `ActuationCommand` for ACTUATION models, a `ControlCommand` for all others; as a record,
        mapping, sequence or keywords.
        """
        self._command = self._accept("command", self._checked_command, message, fields)
        return self._command

    def manual_command(
        self, message: Any = None, /, **fields: float
    ) -> ControlCommand | ActuationCommand:
        """The command that counts in manual mode; otherwise as `command`."""
        if self._takes_actuation and self.compat and isinstance(message, ControlCommand):
            self._accept("manual_command", control_command, message, fields)
            return self._manual_command
        self._manual_command = self._accept(
            "manual_command", self._checked_command, message, fields
        )
        return self._manual_command

    def gear(self, gear: Gear | int | str) -> None:
        """The gear that counts in autonomous mode, by member, number or name.

        Under compat="upstream" a number without a name (25 to 255) is a gear that drives nowhere.
        """
        self._gear = self._accept("gear", self._checked_gear, gear)

    def manual_gear(self, gear: Gear | int | str) -> None:
        """The gear that counts in manual mode."""
        self._manual_gear = self._accept("manual_gear", self._checked_gear, gear)

    def turn_indicators(self, command: TurnIndicators | int | str) -> None:
        """Set the direction indicators; they are reported from now on."""
        self._turn_indicators = self._accept("turn_indicators", member, TurnIndicators, command)

    def hazard_lights(self, command: HazardLights | int | str) -> None:
        """Set the hazard lights; they are reported from now on."""
        self._hazard_lights = self._accept("hazard_lights", member, HazardLights, command)

    def request_control_mode(self, mode: ControlMode | int | str) -> bool:
        """Ask for AUTONOMOUS or MANUAL; returns whether it was granted. Any other mode is not."""
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
        """Let ticks move the vehicle, or hold it where and as fast as it is."""
        self._engaged = self._accept("engage", flag, "engage", engage)

    def initial_pose(self, message: Any = None, /, **fields: float) -> InitialPose:
        """Put the vehicle somewhere, at rest; the first time also starts the simulation.

        Takes an `InitialPose` as record, mapping, sequence (x, y, yaw, z) or keywords, in the
        origin frame. A transport that has poses in other frames adds the translation of the
        transform, as the program does (it ignores the rotation).
        """
        pose = self._accept("initial_pose", checked_pose, message, fields)
        self._put(pose)
        self._initial_pose = pose
        self._z = pose.z
        return pose

    def set_pose(self, message: Any = None, /, **fields: float) -> InitialPose:
        """As `initial_pose`, but the height and the pose that `initial_twist` uses stay."""
        pose = self._accept("set_pose", checked_pose, message, fields)
        self._put(pose)
        return pose

    def initial_twist(self, v_x: m_s) -> bool:
        """Start again at the last initial pose with a forward velocity.

        Returns whether it did: without an earlier `initial_pose` the call has no effect.
        """
        velocity = self._accept("initial_twist", finite, "v_x", v_x)
        if self._initial_pose is None:
            return False
        self._put(self._initial_pose, velocity)
        return True

    def trajectory(self, points: Any) -> None:
        """Points (x, y, z) of the planned path in m, an (n, 3) array: the height of the nearest is
        reported. None or no points: the height stays as it was."""
        self._trajectory = self._accept("trajectory", columns, points)

    def covariances(self, *, x_stddev: m | None = None, y_stddev: m | None = None) -> None:
        """Change the parameters x_stddev and y_stddev while running, as upstream allows."""
        deviations = {"x_stddev": x_stddev, "y_stddev": y_stddev}
        new = {
            name: self._accept("covariances", size, name, value)
            for name, value in deviations.items()
            if value is not None
        }
        self.settings = replace(self.settings, **new)
        self.parameters = {**self.parameters, **new}
        self._reporter.state_covariances(self.settings.x_stddev, self.settings.y_stddev)

    def restart_clock(self) -> None:
        """Forget the time of the last tick, so that the next may be earlier; it advances by 0 s."""
        self._now = self._updated = None

    def tick(self, now: s) -> Reports:
        """Advance to the time `now` in s and report. Time counts in nanoseconds, as ROS has it.

        A time before that of the last tick is an error; the same time advances by 0 s.
        """
        try:
            nanoseconds = round(now * 1e9)
        except (TypeError, ValueError, OverflowError):
            self._count("tick")
            raise InvalidValue(f"now = {shown(now)} must be a finite number of seconds") from None
        return self.tick_at(nanoseconds)

    def tick_at(self, nanoseconds: int) -> Reports:
        """As `tick`, for a time as ROS counts it: exact also for nanoseconds since 1970."""
        if type(nanoseconds) is not int:
            nanoseconds = self._accept("tick", whole, "nanoseconds", nanoseconds, "", None)
        self._check_time(nanoseconds)
        stamp = nanoseconds / 1e9
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
        motion = self._advanced(nanoseconds)
        self._now = self._updated = nanoseconds
        self._last = motion
        self._z = self._height(motion.x, motion.y)
        switches = Switches(
            self._mode,
            gear,
            self._turn_indicators,
            self._hazard_lights,
            model.actuation_status(),
            self._rejected_count,
        )
        return self._reporter.reports(stamp, motion, pitch, self._z, switches)

    def _check_time(self, nanoseconds: int) -> None:
        last = self._now
        if last is not None and nanoseconds < last:
            self._count("tick")
            raise InvalidValue(
                f"now = {nanoseconds / 1e9} s lies before the last tick at {last / 1e9} s; "
                "if the clock was set back, call restart_clock()"
            )

    def _pitch(self) -> rad:
        """Pitch before the update; upstream, too, reports it with the yaw after the update."""
        if self.road is None:
            return 0.0
        last = self._last
        return finite("road.pitch()", self.road.pitch(last.x, last.y, last.yaw))

    def _advanced(self, nanoseconds: int) -> Motion:
        """The motion at this time, after the update if the vehicle is engaged."""
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

    def _checked_gear(self, gear: Any) -> Gear | int:
        return gear_number(gear) if self.compat else member(Gear, gear)

    def _checked_command(self, message: Any, fields: Mapping[str, Any]) -> Any:
        return (actuation_command if self._takes_actuation else control_command)(message, fields)

    def _accept(self, method: str, check: Any, *values: Any) -> Any:
        """What the check makes of the values given; a rejection is counted."""
        try:
            return check(*values)
        except InvalidValue:
            self._count(method)
            raise

    def _count(self, method: str) -> None:
        self._rejected[method] += 1
        self._rejected_count += 1
