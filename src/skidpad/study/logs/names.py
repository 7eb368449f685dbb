"""Names of channels: those of usual loggers, and advice on how to name a column.

Names of skidpad are those of its vehicles and trajectories, in SI and ISO 8855. `usual_names`
recognises names of MoTeC, AiM, VBOX, RaceChrono, openpilot, ROS 2 and Autoware. A name is compared
without capitals, without its unit, and without words for the sensor (`GPS Speed`, `vicon x`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from .units import same_quantity, same_unit, unit_in_name

TIME = "t"
"""Name of the column with the time of a row in s."""
COURSE = "course"
"""Direction of the path, counterclockwise from east; loggers give it clockwise from north."""
UNIT_OF: Mapping[str, str] = {
    TIME: "s",
    **dict.fromkeys(("x", "y", "height"), "m"),
    **dict.fromkeys(("yaw", "course", "sideslip", "roll", "pitch"), "rad"),
    **dict.fromkeys(("steer", "steering_wheel"), "rad"),
    **dict.fromkeys(("v_x", "v_y", "speed", "wheel_speed"), "m/s"),
    **{f"wheel_speed_{wheel}": "m/s" for wheel in ("fl", "fr", "rl", "rr")},
    **dict.fromkeys(("omega",), "rad/s"),
    **dict.fromkeys(("a_x", "a_y", "a_z"), "m/s²"),
    **dict.fromkeys(("throttle", "brake", "gear", "u_gear"), "1"),
    "brake_pressure": "Pa",
    **dict.fromkeys(("latitude", "longitude"), "deg"),
    "u_steer": "rad",
    "u_acceleration": "m/s²",
    "u_speed": "m/s",
}
"""Units of the names of skidpad: SI but for latitude and longitude, which are in degrees."""
USUAL: Mapping[str, str] = {
    TIME: "t time timestamp stamp elapsedtime timeelapsed elapsed timesec seconds sec unixtime "
    "utctime systemtime logtime",
    "x": "posx positionx xpos xposition localx",
    "y": "posy positiony ypos yposition localy",
    "yaw": "yawangle psi",
    COURSE: "bearing courseoverground cog heading",
    "v_x": "vx velx velocityx longitudinalvelocity longvelocity longvel vlong vego vxcorr "
    "forwardvelocity forwardspeed",
    "v_y": "vy vely velocityy lateralvelocity latvelocity latvel vlat",
    "speed": "groundspeed speed velocity corrspeed speedoverground spd vel",
    "sideslip": "slipangle bodyslip bodyslipangle sideslipangle slipcorr",
    "omega": "yawrate yawvelocity yawvel wz gyroz angularvelocityz angvelz gyroyawvelocity "
    "zrateofrotation rateofrotationz rotationz gyroyaw gyro w",
    "a_x": "ax accx accelx accelerationx longacc longitudinalacc longaccel longitudinalaccel "
    "longitudinalacceleration inlineacc gforcelong accellong accelerationlong xaccel xacc aego",
    "a_y": "ay accy accely accelerationy latacc lateralacc lataccel lateralaccel "
    "lateralacceleration gforcelat accellat accelerationlat yaccel yacc",
    "a_z": "az accz accelz accelerationz verticalacc vertacc verticalaccel gforcevert accelvert "
    "zacc zaccel",
    "roll": "rollangle",
    "pitch": "pitchangle",
    "steer": "delta roadwheelangle frontwheelangle steeringtireangle tireangle",
    "steering_wheel": "steeringwheelangle steerwheelangle handwheelangle handwheel swa "
    "steeredangle steeringwheelposition steeringwheelpos",
    "throttle": "throttlepos throttleposition throttlepedal acceleratorpos acceleratorpedal "
    "acceleratorposition acceleratorpedalposition tps pps gas",
    "brake": "brakepos brakeposition brakepedal brakepedalpos",
    "brake_pressure": "brakepressure brakepress brakepres brakepresfront brakepressfront "
    "brakepressurefront pbrakef pbrake",
    "gear": "currentgear gearpos",
    "wheel_speed": "wheelspeed velencoder encodervel encoderspeed speedencoder",
    **{f"wheel_speed_{w}": f"wheelspeed{w} wheelspeeds{w} wheelspd{w} whlspd{w} speed{w}"
       for w in ("fl", "fr", "rl", "rr")},
    "latitude": "latitude lat",
    "longitude": "longitude long lon lng",
    "height": "altitude alt elevation",
    "u_steer": "usteer steercmd steeringcmd cmdsteer steercommand steeringcommand deltacmd",
    "u_acceleration": "uacceleration accelerationcmd acccmd accelcmd cmdacc accelerationcommand",
}  # fmt: skip
"""Names in other programs as `_plain` returns them, the most certain first."""
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "x": (".pose.pose.position.x", ".pose.position.x"),
    "y": (".pose.pose.position.y", ".pose.position.y"),
    "yaw": (".pose.pose.orientation.yaw", ".pose.orientation.yaw"),
    "v_x": (".longitudinal_velocity", ".twist.twist.linear.x", ".vEgo"),
    "v_y": (".lateral_velocity", ".twist.twist.linear.y"),
    "omega": (".angular_velocity.z", ".heading_rate", ".twist.twist.angular.z", ".yawRate"),
    "a_x": (".linear_acceleration.x", ".accel.accel.linear.x", ".aEgo"),
    "a_y": (".linear_acceleration.y", ".accel.accel.linear.y"),
    "a_z": (".linear_acceleration.z",),
    "steer": ("steering_status.steering_tire_angle",),
    "steering_wheel": (".steeringAngleDeg",),
    "u_steer": ("control_cmd.lateral.steering_tire_angle", ".drive.steering_angle"),
    "u_acceleration": ("control_cmd.longitudinal.acceleration", ".drive.acceleration"),
    "u_speed": (".drive.speed",),
    "u_gear": ("gear_cmd.command",),
    "latitude": (".latitude",),
    "longitude": (".longitude",),
    "height": (".altitude",),
}
"""Ends of names of messages: ROS 2's standard types, Autoware, Ackermann and openpilot."""
_SENSORS = (
    "imu gps gnss vicon mocap optitrack odom odometry can ecu obd sensor sensors measured meas "
    "vehicle veh car state carstate data"
)
"""Words that tell where a value comes from, not what it is."""
_UNSURE = {"steeringangle": ("steer", "steering_wheel"), "steerangle": ("steer", "steering_wheel")}
"""Names that mean one thing in some programs and another in others."""


def usual_names(
    units: Mapping[str, str], log_prefixes: Sequence[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """Names of skidpad for channels with names of usual loggers, and notes on doubtful names.

    Args:
        units: units of the channels by name; empty for unknown units. A channel is recognised only
            if its unit is one of the quantity.
        log_prefixes: what precedes names that several logs have, as `imu.`.
    """

    def in_log(name: str) -> str:
        prefix = next((one for one in log_prefixes if name.startswith(one)), "")
        return name.removeprefix(prefix)

    names: dict[str, str] = {}
    notes: list[str] = []
    for target, unit in UNIT_OF.items():
        if target in units or target == TIME:
            continue
        ranks = {
            old: rank
            for old, own in units.items()
            if old not in UNIT_OF and old not in names
            if (rank := rank_of(in_log(old), target)) is not None
            if not own or same_quantity(own, unit) or (unit == "1" and own == "1")
        }
        best = [old for old, rank in ranks.items() if rank == min(ranks.values())]
        if len(best) == 1:
            names[best[0]] = target
        elif best:
            notes.append(
                f"{' and '.join(best)} may each be {target}; {_how_to_map(best[0], target)}"
            )
    for old in units:
        for one, other in [_UNSURE[_plain(old)]] if _plain(old) in _UNSURE else []:
            if one not in units and other not in units and old not in names:
                notes.append(
                    f"{old} may be {one} or {other}, the angle of the front wheels or of the "
                    f"steering wheel; {_how_to_map(old, one)}"
                )
    return names, notes


_BY_GPS = (COURSE, "speed", "x", "y", "latitude", "longitude", "height")
"""Quantities that GPS measures; others it only derives from them."""


def rank_of(name: str, target: str) -> tuple[int, int, int] | None:
    """How uncertain it is that a name means a quantity; None if it does not mean it."""
    for rank, ending in enumerate(ENDINGS.get(target, ())):
        if name.endswith(ending) and "[" not in name:
            return 0, rank, 0
    if name.startswith("/"):
        return None
    plain, usual = _plain(name), USUAL.get(target, "").split()
    own = target.replace("_", "")
    if not usual or plain not in (own, *usual):
        return None
    words = _words(name)
    if plain == "heading" and not {"gps", "gnss"} & {*words}:
        return None  # of the vehicle, in axes that are not known
    derived = ("gps" in words or "gnss" in words) is (target not in _BY_GPS)
    return int(derived), 0 if plain == own else usual.index(plain) + 1, len(words)


def _plain(name: str) -> str:
    """Letters of a name without its unit and words for the sensor."""
    words = _words(unit_in_name(name)[0])
    return "".join(word for word in words if word not in _SENSORS.split())


def _words(name: str) -> list[str]:
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    return [part.lower() for part in parts]


def quaternions(names: Mapping[str, object]) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    """Prefixes of channels that are a quaternion, with its four names x, y, z, w."""
    for name in names:
        match = re.fullmatch(r"(.*?(?:q|quat|orientation|rotation)[._ ]?)x", name, re.IGNORECASE)
        if match and all(match[1] + axis in names for axis in "yzw"):
            prefix = match[1]
            yield prefix.rstrip("._ "), (name, f"{prefix}y", f"{prefix}z", f"{prefix}w")


def how_to_name(
    name: str, there: tuple[str, ...], units: Mapping[str, str] | None = None, unit: str = ""
) -> str:
    """Advice on how to name a missing column, with the most similar column.

    If no name is similar, a column with the right unit is suggested.
    """
    return _how_to_map(nearest(name, there, units, unit) or "COLUMN", name)


def _how_to_map(old: str, new: str) -> str:
    return f"say which one it is with --map {old}={new} (names={{{old!r}: {new!r}}})"


SIMILAR: Mapping[str, tuple[str, ...]] = {
    TIME: ("time", "timestamp", "stamp", "seconds", "sec"),
    "v_x": ("speed", "velocity", "spd", "vel"),
    "omega": ("yawrate", "yawvelocity"),
    "yaw": ("heading", "psi"),
    "a_y": ("latacc", "lateralacc", "accy", "accely"),
    "steer": ("delta", "steering", "swa"),
}
"""Names that may mean a quantity and that an error therefore proposes, in small letters."""


def nearest(
    name: str, there: tuple[str, ...], units: Mapping[str, str] | None = None, unit: str = ""
) -> str:
    """Column whose name is most similar; empty if none is."""
    stem = _letters(name.removeprefix("u_"))
    plain = {_letters(column): column for column in reversed(there)}
    usual = [stem, *SIMILAR.get(name.removeprefix("u_"), ())]
    near = [plain[one] for one in usual if one in plain]
    near += [plain[key] for one in usual[1:] for key in plain if one in key]
    near += [plain[key] for key in difflib.get_close_matches(stem, plain, n=1, cutoff=0.5)]
    near += [column for column in there if unit and same_unit((units or {}).get(column, ""), unit)]
    return near[0] if near else ""


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
