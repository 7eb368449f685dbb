"""Units and names of channels: conversion to SI, and the names that usual loggers give.

A unit is split into powers of names, so `m/s^2`, `m/s2`, `m/s**2` and `m s-2` are all m/s². Each
name has a factor to SI, so km/h is 1/3.6 m/s. A text with a name that is not known has no
conversion and equals only itself.

Names of skidpad are those of its vehicles and trajectories, in SI and ISO 8855. `usual_names`
recognises names of MoTeC, AiM, VBOX, RaceChrono, openpilot, ROS 2 and Autoware. A name is compared
without capitals, without its unit, and without words for the sensor (`GPS Speed`, `vicon x`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from math import isclose, pi
from typing import NamedTuple, TypeVar

from ...core.arrays import Array

Value = TypeVar("Value", float, Array)

GRAVITY = 9.80665
"""Standard acceleration of gravity in m/s² (ISO 80000-3), the unit g of accelerometers."""


class Conversion(NamedTuple):
    """Conversion of values in some unit to SI: `factor * value + offset`."""

    factor: float
    offset: float
    unit: str
    """SI unit of the converted values."""

    def of(self, values: Value) -> Value:
        """Values in SI; unchanged, to the bit, if they are in SI already."""
        return values if self.changes_nothing else self.factor * values + self.offset

    @property
    def changes_nothing(self) -> bool:
        return self.factor == 1.0 and self.offset == 0.0


_Powers = Mapping[str, int]
_SPEED, _RATE, _TORQUE = {"m": 1, "s": -1}, {"rad": 1, "s": -1}, {"N": 1, "m": 1}
_DEGREE = pi / 180.0


def _spelt(words: str, factor: float, powers: _Powers) -> dict[str, tuple[float, _Powers]]:
    return dict.fromkeys(words.split(), (factor, powers))


_WORDS: Mapping[str, tuple[float, _Powers]] = {
    **_spelt("1 - # ratio gear", 1.0, {}),
    **_spelt("% pct percent", 0.01, {}),
    **_spelt("s sec secs second seconds", 1.0, {"s": 1}),
    **_spelt("ms msec", 1e-3, {"s": 1}),
    **_spelt("us µs μs usec", 1e-6, {"s": 1}),
    **_spelt("ns nsec", 1e-9, {"s": 1}),
    **_spelt("min", 60.0, {"s": 1}),
    **_spelt("h hr hour hours", 3600.0, {"s": 1}),
    **_spelt("Hz hz", 1.0, {"s": -1}),
    **_spelt("kHz", 1e3, {"s": -1}),
    **_spelt("m meter meters metre metres", 1.0, {"m": 1}),
    **_spelt("mm", 1e-3, {"m": 1}),
    **_spelt("cm", 1e-2, {"m": 1}),
    **_spelt("km", 1e3, {"m": 1}),
    **_spelt("in inch inches", 0.0254, {"m": 1}),
    **_spelt("ft foot feet", 0.3048, {"m": 1}),
    **_spelt("mi mile miles", 1609.344, {"m": 1}),
    **_spelt("mps", 1.0, _SPEED),
    **_spelt("kmh kph kmph", 1.0 / 3.6, _SPEED),
    **_spelt("mph", 0.44704, _SPEED),
    **_spelt("kn kt kts knot knots", 1852.0 / 3600.0, _SPEED),
    **_spelt("rad rads radian radians", 1.0, {"rad": 1}),
    **_spelt("mrad", 1e-3, {"rad": 1}),
    **_spelt("deg degs degree degrees ° º", _DEGREE, {"rad": 1}),
    **_spelt("rev", 2.0 * pi, {"rad": 1}),
    **_spelt("radps", 1.0, _RATE),
    **_spelt("dps degps", _DEGREE, _RATE),
    **_spelt("rpm", pi / 30.0, _RATE),
    **_spelt("N newton newtons", 1.0, {"N": 1}),
    **_spelt("daN", 10.0, {"N": 1}),
    **_spelt("kN", 1e3, {"N": 1}),
    **_spelt("kgf", GRAVITY, {"N": 1}),
    **_spelt("lbf", 4.4482216152605, {"N": 1}),
    **_spelt("Nm nm", 1.0, _TORQUE),
    **_spelt("kNm", 1e3, _TORQUE),
    **_spelt("lbft", 1.3558179483314004, _TORQUE),
    **_spelt("kg", 1.0, {"kg": 1}),
    **_spelt("lb lbs", 0.45359237, {"kg": 1}),
    **_spelt("Pa", 1.0, {"Pa": 1}),
    **_spelt("hPa mbar", 100.0, {"Pa": 1}),
    **_spelt("kPa kpa", 1e3, {"Pa": 1}),
    **_spelt("bar", 1e5, {"Pa": 1}),
    **_spelt("MPa", 1e6, {"Pa": 1}),
    **_spelt("psi", 6894.757293168361, {"Pa": 1}),
    **_spelt("atm", 101325.0, {"Pa": 1}),
    **_spelt("V volt volts", 1.0, {"V": 1}),
    **_spelt("mV", 1e-3, {"V": 1}),
    **_spelt("A amp amps ampere", 1.0, {"A": 1}),
    **_spelt("mA", 1e-3, {"A": 1}),
    **_spelt("W watt watts", 1.0, {"W": 1}),
    **_spelt("kW", 1e3, {"W": 1}),
    **_spelt("hp", 745.69987158227022, {"W": 1}),
    **_spelt("PS", 735.49875, {"W": 1}),
    **_spelt("K", 1.0, {"K": 1}),
}
"""Factor to SI and exponents of SI names, by the names in a text."""
_LOWER = {word.lower(): entry for word, entry in reversed(_WORDS.items())}
"""The same for texts in capitals or small letters alone; the first of equal ones counts."""
_WHOLE = {
    **{text: (1.0, 0.0, "m/s2") for text in ("mps2", "mps^2", "mpss")},
    **{text: (GRAVITY, 0.0, "m/s2") for text in ("g", "G", "gn", "g0", "g's", "G's")},
    "mg": (1e-3 * GRAVITY, 0.0, "m/s2"),
    **{text: (1.3558179483314004, 0.0, "Nm") for text in ("lb-ft", "ft-lb", "lbf-ft", "lbf·ft")},
    **{text: (1.0, 273.15, "K") for text in ("degC", "°C", "C", ".C", "deg C", "celsius")},
    **{text: (5.0 / 9.0, 459.67 * 5.0 / 9.0, "K") for text in ("degF", "°F", "F", ".F", "deg F")},
}
"""Texts that cannot be split: factor, offset and the unit that they then are."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISE = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_FACTOR = re.compile(r"([^\W\d_]+|[°º%#]|1|-)\^?([-+]?\d{1,2})?")


class _Parsed(NamedTuple):
    factor: float
    offset: float
    powers: dict[str, int]
    known: bool
    """Whether every name in the text is known."""


def same_unit(one: str, other: str) -> bool:
    """Whether two texts denote the same unit; texts that are no products of powers have to be
    equal."""
    if one == other:
        return True
    a, b = _parsed(one), _parsed(other)
    if a is None or b is None or a.powers != b.powers:
        return False
    return isclose(a.factor, b.factor, rel_tol=1e-9) and a.offset == b.offset


def same_quantity(one: str, other: str) -> bool:
    """Whether two texts denote units of the same quantity, as km/h and m/s do."""
    a, b = _parsed(one), _parsed(other)
    return a is not None and b is not None and a.known and b.known and a.powers == b.powers


def to_si(text: str) -> Conversion | None:
    """Conversion of a unit to SI; None for an empty text or a unit that is not known."""
    parsed = _parsed(text) if text.strip() else None
    if parsed is None or not parsed.known:
        return None
    return Conversion(parsed.factor, parsed.offset, _text(parsed.powers))


def _parsed(text: str) -> _Parsed | None:
    """Factor, offset and powers of a text; None for a text that is no product of powers."""
    plain = text.strip().translate(_RAISED).replace("**", "^").replace(" per ", "/")
    whole, offset, plain = _WHOLE.get(plain, (1.0, 0.0, plain))
    result = whole
    powers: dict[str, int] = {}
    known = True
    for part, sign in _factors(plain):
        match = _FACTOR.fullmatch(part)
        if match is None:
            return None
        exponent = sign * int(match[2] or 1)
        entry = _WORDS.get(match[1]) or _LOWER.get(match[1].lower())
        known = known and entry is not None
        factor, names = entry or (1.0, {match[1]: 1})
        result *= factor**exponent
        for name, power in names.items():
            powers[name] = powers.get(name, 0) + exponent * power
    return _Parsed(result, offset, {name: power for name, power in powers.items() if power}, known)


def _factors(text: str) -> Iterator[tuple[str, int]]:
    """Factors with the exponent 1, or -1 for a divisor: the first after a slash, or all in its
    brackets."""
    for k, part in enumerate(re.split(r"\s*/\s*", text)):
        bracket = part.startswith("(") and part.endswith(")")
        for n, factor in enumerate(re.split(r"\s*[·⋅*]\s*|\s+|\.", part.strip("()"))):
            yield factor, -1 if k > 0 and (bracket or n == 0) else 1


def _text(powers: _Powers) -> str:
    """Usual text of a product of powers, as `N·m/rad`."""

    def product(sign: int) -> list[str]:
        parts = [(name, sign * power) for name, power in powers.items() if sign * power > 0]
        return [name + (str(p).translate(_RAISE) if p > 1 else "") for name, p in parts]

    above, below = product(1), product(-1)
    divisor = f"({'·'.join(below)})" if len(below) > 1 else "".join(below)
    return "·".join(above or ["1"]) + (f"/{divisor}" if below else "")


_SUFFIXES: Mapping[str, str] = {
    **{suffix: "km/h" for suffix in ("kmh", "kph", "km_h")},
    **{suffix: "m/s" for suffix in ("mps", "m_s")},
    **{suffix: "m/s²" for suffix in ("mps2", "ms2", "m_s2", "mpss")},
    **{suffix: "rad/s" for suffix in ("radps", "rads", "rad_s")},
    **{suffix: "deg/s" for suffix in ("degps", "dps", "degs", "deg_s")},
    **{suffix: "%" for suffix in ("pct", "percent")},
    **{unit: unit for unit in ("mph", "knots", "rad", "deg", "rpm", "bar", "mm", "m", "km")},
    "kpa": "kPa",
    "psi": "psi",
    "nm": "N·m",
    "degc": "degC",
}
"""Units that end a name after an underscore, as in `speed_kmh`."""
_OF_TIME = {"ms": "ms", "us": "us", "ns": "ns", "s": "s", "sec": "s"}
_OF_ACCELERATIONS = {"g": "g"}


def unit_in_name(name: str) -> tuple[str, str]:
    """Split a name into the name without its unit, and the unit; empty if it has no unit.

    `speed_kmh`, `yaw_rate_deg_s`, `time_ms`, `a_x_g` and `steeringAngleDeg` end with a unit. A
    single `s` does so after a word for time, and a `g` after one for acceleration.
    """
    words = re.sub(r"(?<=[a-z])(?=Deg$|Rad$|Kph$|Mps$)", "_", name).split("_")
    for count in (2, 1):
        stem, suffix = "_".join(words[:-count]), "_".join(words[-count:]).lower()
        plain = stem.lower()
        known = dict(_SUFFIXES)
        if re.search(r"time|stamp|elapsed|^t$", plain):
            known |= _OF_TIME
        if re.search(r"acc|^a_?[xyz]$", plain):
            known |= _OF_ACCELERATIONS
        if stem and suffix in known:
            return stem, known[suffix]
    return name, ""


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
"""Words for the source of a value, which do not change its meaning."""
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
    """Column whose name is most similar; empty without a similar one."""
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
