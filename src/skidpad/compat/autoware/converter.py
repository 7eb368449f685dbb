"""From what a controller wants to what a driver does: pedals and steering for ACTUATION models.

`CommandConverter` takes an acceleration and a tyre angle and gives pedal positions and a steering
command, as the node `raw_vehicle_cmd_converter` that Autoware launches beside these models does
(documentation and source of `autoware_raw_vehicle_cmd_converter`, autoware.universe 0.43.0).

Given the speed and the tyre angle that the model sees, what the model makes of the result is what
was asked for, as far as the maps reach. Upstream's node misses that in three places, which
`compat="upstream"` repeats: it looks up maps at |v| where the model takes v; it computes the gear
ratio from a steering wheel status that the simulator always reports as 0; and where braking is not
converted it asks for it with a brake pedal that the model then ignores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ... import record
from ...checks import finite, not_negative, one_of, positive
from ...components.gear_ratio import gear_ratio, wheel_angle
from ...errors import InvalidValue
from ...units import m_s, m_s2, rad, rad_s, s
from .inverse_table import MapSource, falling, rising
from .messages import ActuationCommand
from .steering_feedback import Memory, SteerFeedback, feedback

__all__ = ["CommandConverter", "SteerMap", "SteeringWheel", "TyreAngle"]

LONGEST_PAUSE: s = 1.0
"""A longer time between two calls is taken for an interruption."""
AFTER_A_PAUSE: s = 0.1
"""Time that counts for the feedback after an interruption."""


@dataclass(frozen=True)
class TyreAngle:
    """The steering command is the tyre angle in rad, as ACTUATION_CMD takes it."""

    feedback: SteerFeedback | None = None
    """Adds to the wanted tyre angle; none by default. Its gains are in rad per rad."""


@dataclass(frozen=True)
class SteeringWheel:
    """The steering command is the steering wheel angle in rad, as ACTUATION_CMD_VGR and
    ACTUATION_CMD_MECHANICAL take it."""

    vgr_coef_a: float = 15.713
    """Gear ratio at standstill, straight ahead."""
    vgr_coef_b: float = 0.053
    """Growth of the ratio with the square of the speed, in s²/m²."""
    vgr_coef_c: float = 0.042
    """Fall of the ratio with the steering wheel angle, per rad."""
    feedback: SteerFeedback | None = None
    """Adds to the wanted tyre angle; none by default. Its gains are in rad per rad."""

    def angle(self, steer: rad, v_x: m_s, wheel: rad) -> rad:
        """Steering wheel angle for a tyre angle, with the gear ratio at the present wheel angle."""
        return steer * gear_ratio(v_x, wheel, *self._coefficients)

    def present(self, v_x: m_s, steer: rad) -> rad:
        """Where the steering wheel stands when the tyres stand at `steer`."""
        return wheel_angle(v_x, steer, *self._coefficients)

    @property
    def _coefficients(self) -> tuple[float, float, float]:
        return self.vgr_coef_a, self.vgr_coef_b, self.vgr_coef_c


@dataclass(frozen=True)
class SteerMap:
    """The steering command is a row of a steer map, as ACTUATION_CMD_STEER_MAP takes it.

    The map gives a rate of the tyre angle, so that only the feedback brings the angle where it is
    wanted; `steer_rate` feeds forward.
    """

    table: MapSource
    """Rate of the tyre angle in rad/s over command (rows) and tyre angle in rad (columns)."""
    feedback: SteerFeedback | None = field(default_factory=SteerFeedback)
    """In the unit of the rows per rad. Without it only the rate is followed."""
    steer_time_constant: float = 1.0
    """What the vehicle divides the map's rate by. The simulated model divides by its
    `steer_time_constant`; a map that holds true rates needs 1."""


class CommandConverter:
    """Converts accelerations and tyre angles; remembers only what the feedback needs.

    A map that is `None` is a conversion that is switched off. Pedals stop at `max_throttle` and
    `max_brake`, or at the last row of their map; a steering command at `min_steer` and `max_steer`.
    """

    def __init__(
        self,
        accel_map: MapSource | None,
        brake_map: MapSource | None,
        steer: TyreAngle | SteeringWheel | SteerMap | None = None,
        *,
        max_throttle: float | None = None,
        max_brake: float | None = None,
        max_steer: float = math.inf,
        min_steer: float = -math.inf,
        compat: str | None = None,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._upstream = compat == "upstream"
        self._accel = None if accel_map is None else rising(accel_map, "accel_map")
        self._brake = None if brake_map is None else falling(brake_map, "brake_map")
        self._max_throttle = _pedal_limit("max_throttle", max_throttle)
        self._max_brake = _pedal_limit("max_brake", max_brake)
        if not min_steer <= max_steer:
            raise InvalidValue(f"min_steer = {min_steer} must not be above max_steer = {max_steer}")
        self._min_steer, self._max_steer = min_steer, max_steer
        self._steer = _checked_steer(TyreAngle() if steer is None else steer)
        self._steer_map = (
            rising(self._steer.table, "steer_map") if isinstance(self._steer, SteerMap) else None
        )
        self._memory = Memory()

    def reset(self) -> None:
        """Forget what the feedback has gathered."""
        self._memory = Memory()

    def convert(
        self,
        acceleration: m_s2,
        steer: rad,
        v_x: m_s,
        measured_steer: rad,
        dt: s,
        *,
        steer_rate: rad_s = 0.0,
        steering_wheel: rad | None = None,
    ) -> ActuationCommand:
        """Pedals and steering command for an acceleration and a tyre angle, positive to the left.

        The acceleration is the one in the direction of the gear: positive speeds up, backwards too.
        `v_x` is signed; `dt` is the time since the call before. `steer_rate` matters to a steer map
        only. `steering_wheel` is the measured angle of the wheel where one is known; otherwise it
        is computed from `measured_steer`. A call that raises changes nothing.
        """
        numbers = {"acceleration": acceleration, "steer": steer, "v_x": v_x}
        numbers |= {"measured_steer": measured_steer, "steer_rate": steer_rate}
        if steering_wheel is not None:
            numbers["steering_wheel"] = steering_wheel
        for name, value in numbers.items():
            finite(name, value)
        not_negative("dt", dt, "s")
        accel, brake = self._pedals(acceleration, v_x)
        term = self._feedback(steer - measured_steer, v_x, dt)
        command = self._steering(steer, term, steer_rate, v_x, measured_steer, steering_wheel)
        limited = min(max(command, self._min_steer), self._max_steer)
        return ActuationCommand(accel, brake, limited)

    def _pedals(self, a: m_s2, v_x: m_s) -> tuple[float, float]:
        v = abs(v_x) if self._upstream else v_x
        if self._accel is not None and a >= self._accel.lowest(v):
            return min(max(self._accel.row_of(a, v), 0.0), self._max_throttle), 0.0
        accel = 0.0 if self._accel is not None else max(a, 0.0)
        if self._brake is not None:
            return accel, min(max(self._brake.row_of(a, v), 0.0), self._max_brake)
        # A model that does not convert the brake reads its acceleration, of either sign, here.
        if not self._upstream and a < 0.0:
            accel = a
        return accel, max(-a, 0.0)

    def _feedback(self, error: rad, v_x: m_s, dt: s) -> float:
        if self._steer.feedback is None:
            return 0.0
        counted = AFTER_A_PAUSE if dt > LONGEST_PAUSE else dt
        term, self._memory = feedback(self._steer.feedback, self._memory, error, v_x, counted)
        return term

    def _steering(
        self,
        steer: rad,
        term: float,
        steer_rate: rad_s,
        v_x: m_s,
        measured: rad,
        steering_wheel: rad | None,
    ) -> float:
        method = self._steer
        if isinstance(method, SteerMap):
            assert self._steer_map is not None
            rate = steer_rate * method.steer_time_constant
            return self._steer_map.row_of(rate, measured) + term
        if isinstance(method, TyreAngle):
            return steer + term
        if steering_wheel is None:
            # What the simulator reports as the wheel's status is always 0.
            steering_wheel = 0.0 if self._upstream else method.present(v_x, measured)
        return method.angle(steer + term, v_x, steering_wheel)


def _checked_steer(
    steer: TyreAngle | SteeringWheel | SteerMap,
) -> TyreAngle | SteeringWheel | SteerMap:
    if not isinstance(steer, (TyreAngle, SteeringWheel, SteerMap)):
        raise InvalidValue(f"steer = {steer!r} must be a TyreAngle, a SteeringWheel or a SteerMap")
    if steer.feedback is not None:
        record.check(steer.feedback)
    if isinstance(steer, SteeringWheel):
        for name in ("vgr_coef_a", "vgr_coef_b", "vgr_coef_c"):
            finite(name, getattr(steer, name))
    if isinstance(steer, SteerMap):
        positive("steer_time_constant", steer.steer_time_constant)
    return steer


def _pedal_limit(name: str, value: float | None) -> float:
    if value is None:
        return math.inf
    if not value >= 0.0:
        raise InvalidValue(f"{name} = {value} must be at least 0")
    return value
