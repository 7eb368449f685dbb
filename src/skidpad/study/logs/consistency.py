"""Relations between the channels of a log: signs, units and names that follow from physics.

Speed, yaw rate, heading, accelerations and positions of one drive determine each other: the rate of
the heading is the yaw rate, a_y is nearly v times omega, a_x nearly the change of v, and the speed
along x and y is v.

* `check_columns` detects reversed signs, and units that no column title states. Each check compares
  a column with one derived from others, by a straight line through zero. The slope should be one; a
  slope that a reversed sign or a common unit explains is refused, naming the column that explains
  it, and so is a clearly negative correlation. Where there may be a valid reason, it is a note: a
  sliding car is steered against its turn, and a banked road tilts a sensor.
* `propose_units` recognises km/h, deg/s, deg or g in channels without a unit. Of all sets of units
  that make the relations hold, the one with the fewest changes is taken, if it is the only one
  with so few. Signs are never changed.
* `propose_names` recognises a channel with an unknown name as one of these quantities.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, product
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...errors import InvalidValue
from ...units import s
from .cleaning import spikes
from .units import UNIT_OF, same_quantity, to_si

ALIKE, ROUGHLY_ALIKE = 0.8, 0.95
"""Least correlation of two proportional columns; the second if an input of the check is
unknown.

Then columns may differ without being wrong.
"""
OPPOSITE = -0.5
"""Correlation below which two columns have opposite signs.

For vehicles that spin it falls to 0.4 for accelerations, and to -0.4 for the angle of the front
wheels over the yaw rate.
"""
WEAK, ROUGHLY_WEAK, WEAK_SIGNS = 0.8, 0.5, 0.3
"""Correlations below which a note says that two columns hardly agree.

If all inputs are known, if one is unknown, and if only the signs have to agree.
"""
OFFSET = 2.0
"""Possible offset of a sensor, relative to `_Check.least`; smaller values have no certain
sign."""
GENTLE = 4.0
"""Acceleration in m/s² below which a car is steered into its turn.

Lateral acceleration and twice the longitudinal one, combined. Above it, a driver may
countersteer a slide or brakes that pull to one side.
"""
GENTLE_SHARE = 0.2
"""Least share of samples below `GENTLE` for the signs to be checked."""
PLACES: s = 0.5
"""Time over which positions are averaged before differentiation, to reduce noise."""
NEAR, ROUGHLY_NEAR = 0.25, 0.15
"""Largest error of an explanation, as logarithm of the slope; the second if an input is
unknown."""
LONG: s = 1.0
"""Averaging time over which an unknown lateral velocity is negligible."""
FAIR = 0.5
"""Logarithm of the largest plausible slope error: the road tilts, and sensors sit
off-centre."""
LARGEST_A_Y = 80.0
"""Lateral acceleration in m/s² that no ground vehicle sustains."""
LARGEST_ANGLES = {"sideslip": 3.2, "roll": 3.2, "pitch": 3.2, "steer": 2.0, "steering_wheel": 30.0}
"""Largest plausible angles in rad."""
DEGREE = 180.0 / np.pi
SI = {"v_x": "m/s", "omega": "rad/s", "yaw": "rad", "a_y": "m/s²", "a_x": "m/s²"}
UNITS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "v_x": ((3.6, "km/h"),),
    "omega": ((DEGREE, "deg/s"),),
    "yaw": ((DEGREE, "deg"),),
    "a_y": ((1.0 / 9.80665, "g"),),
    "a_x": ((1.0 / 9.80665, "g"),),
}
"""Common units other than SI, with their number per SI unit."""


class _Check(NamedTuple):
    """Two quantities that should be equal."""

    label: str
    """Name of the first quantity, for messages."""
    follows: str
    """Name of the second quantity, for messages."""
    first: Array
    second: Array
    least: float
    """Root mean square below which there is too little motion to compare."""
    above: tuple[str, ...]
    """Columns that the first quantity is proportional to."""
    below: tuple[str, ...]
    """Columns that the second quantity is proportional to."""
    signs_only: bool = False
    samples: int = 5
    """Number of samples of the moving mean, which reduces noise of derivatives."""
    rough: bool = False
    """Whether an input of the check is unknown."""
    gentle: NDArray[np.bool_] | None = None
    """Mask of the samples at which the signs are compared, see `GENTLE`; None for all
    samples."""

    @property
    def weak(self) -> float:
        """Correlation below which the quantities hardly agree."""
        return WEAK_SIGNS if self.signs_only else ROUGHLY_WEAK if self.rough else WEAK

    @property
    def alike(self) -> float:
        """Least correlation of proportional quantities."""
        return ROUGHLY_ALIKE if self.rough else ALIKE

    @property
    def near(self) -> float:
        """Largest error of an explanation, as logarithm of the slope."""
        return ROUGHLY_NEAR if self.rough else NEAR


class _Explanation(NamedTuple):
    columns: frozenset[str]
    words: tuple[str, ...]


class _Contradiction(NamedTuple):
    check: _Check
    slope: float
    alike: float
    explanations: list[_Explanation]


_MAY_SLIDE = (
    ": as of a car that slides; otherwise {0} has its sign reversed, and --map COLUMN=-{0} turns "
    "it round"
)


def check_columns(name: str, t: Array, columns: Mapping[str, Array]) -> list[str]:
    """Notes on columns that hardly agree.

    Raises InvalidValue for columns that contradict each other or have values that are implausible
    in SI.
    """
    for column, most in LARGEST_ANGLES.items():
        if column in columns and np.abs(columns[column]).max() > most:
            other = ", or the angle of the steering wheel?" if column == "steer" else "?"
            raise InvalidValue(
                f"{name}: {column} reaches {np.abs(columns[column]).max():.4g} rad: is it in deg"
                f"{other}"
            )
    if "omega" in columns and "a_y" not in columns and "yaw" not in columns:
        across = float(np.quantile(np.abs(columns["v_x"] * columns["omega"]), 0.95))
        if across > LARGEST_A_Y:
            raise InvalidValue(
                f"{name}: v_x times omega reaches {across:.4g} m/s²: omega is likely in deg/s, "
                f"and must be in rad/s"
            )
    notes: list[str] = []
    contradictions: list[_Contradiction] = []
    trusted: set[str] = set()
    with np.errstate(over="ignore", invalid="ignore"):  # absurd values tell nothing here
        lines = [(check, *_line(check)) for check in _checks(t, columns)]
    for check, slope, alike in lines:
        if np.isnan(alike):
            continue
        same = abs(alike) >= check.alike and not check.signs_only
        if slope > 0.0 and (abs(log(slope)) < FAIR if same else check.signs_only):
            trusted |= {*check.above, *check.below} if alike >= check.weak else set()
        elif (slope > 0.0 and same) or (alike < OPPOSITE and _opposite(check)):
            judged = check if same else check._replace(signs_only=True)
            explanations = _explanations(judged, slope)
            if slope < 0.0 or explanations or not check.rough:
                contradictions.append(_Contradiction(judged, slope, alike, explanations))
            continue
        if alike < check.weak:
            notes.append(
                f"{check.label} and {check.follows} hardly agree in the log (correlation "
                f"{alike:.2f})"
                + (_MAY_SLIDE.format(check.label) if alike < OPPOSITE and check.signs_only else "")
            )
    if contradictions:
        raise InvalidValue(_words(name, contradictions, trusted))
    return notes


def _words(name: str, contradictions: list[_Contradiction], trusted: set[str]) -> str:
    """Error text with the column that is most likely wrong.

    It is the one that explains most contradictions and that no other check confirms.
    """
    check, slope, alike, own = contradictions[0]
    claims = [one for each in contradictions for one in each.explanations]
    sentence = f"{name}: {check.label} " + (
        f"has the sign opposite to {check.follows} (correlation {alike:.2f})"
        if check.signs_only
        else f"is {slope:.3g} times {check.follows} (correlation {alike:.2f}), and should be the "
        "same"
    )
    if not own:
        either = " or ".join(dict.fromkeys((*check.above, *check.below)))
        return f"{sentence}: the unit or the sign of {either} is wrong"

    def merit(one: _Explanation) -> tuple[int, int, int]:
        return claims.count(one), -len(one.columns & trusted), -len(one.columns)

    best = max(map(merit, own))
    likely = [one for one in own if merit(one) == best]
    return f"{sentence}: {'; or '.join(', and '.join(one.words) for one in likely)}"


def _explanations(check: _Check, slope: float) -> list[_Explanation]:
    """Reversed signs and units of one or two columns that explain a slope."""

    def explains(factor: float) -> bool:
        if factor * slope <= 0.0:
            return False
        return check.signs_only or abs(log(factor / slope)) < check.near

    single: list[tuple[str, float, str]] = []
    for names, power in ((check.above, 1), (check.below, -1)):
        for column in names:
            if slope < 0.0 and column != "v_x":  # every program takes ahead as positive
                ahead = "ahead" if column == "a_x" else "left and counterclockwise"
                single.append((column, -1.0, f"{column} likely has its sign reversed (ISO 8855: "
                               f"{ahead} {'is' if column == 'a_x' else 'are'} positive): --map "
                               f"COLUMN=-{column} turns it round"))  # fmt: skip
            if not check.signs_only:
                single += [
                    (column, factor**power, f"{column} is likely in {unit}, and must be in "
                     f"{SI[column]}")
                    for factor, unit in UNITS.get(column, ())
                ]  # fmt: skip
    for count in (1, 2, 3):
        fitting = [
            _Explanation(frozenset(c for c, _, _ in some), tuple(words for _, _, words in some))
            for some in combinations(single, count)
            if explains(float(np.prod([factor for _, factor, _ in some])))
        ]
        if fitting:
            return fitting
    return []


def _checks(t: Array, columns: Mapping[str, Array]) -> Iterator[_Check]:
    """All checks that the columns of a log allow, the most certain first."""
    v_x, a_y = columns["v_x"], columns.get("a_y")
    wheel = "steer" if "steer" in columns else "steering_wheel"
    steer = columns.get(wheel)
    turning = columns.get("omega")
    rate, by = "omega", ("omega",)
    if "yaw" in columns:
        from_yaw = np.gradient(columns["yaw"], t)
        if turning is not None:
            yield _Check("the rate of yaw", "omega", from_yaw, turning, 0.02, ("yaw",), by)
        else:
            turning, rate, by = from_yaw, "the rate of yaw", ("yaw",)
    if {"x", "y"} <= columns.keys():
        over = _odd(PLACES, t)
        way = np.hypot(*(np.gradient(_calm(columns[axis], over), t) for axis in ("x", "y")))
        yield _Check("the speed along x and y", "v_x", way, np.abs(v_x), 1.0, (), ("v_x",))
    v_y = columns.get("v_y")
    if v_y is None and "sideslip" in columns:
        v_y = v_x * np.tan(columns["sideslip"])
    long = _odd(LONG, t)
    if turning is not None and a_y is not None:
        sideways = 0.0 if v_y is None else np.gradient(v_y, t)
        one = _Check(
            "a_y", f"v_x times {rate}", a_y - sideways, v_x * turning, 0.3, ("a_y",), ("v_x", *by)
        )
        yield one if v_y is not None else one._replace(samples=long, rough=True)
    if "a_x" in columns:
        told, change = columns["a_x"], np.gradient(v_x, t)
        one = _Check("a_x", "the change of v_x", told, change, 0.3, ("a_x",), ("v_x",))
        if turning is not None and v_y is not None:
            yield one._replace(second=change - v_y * turning)
        else:
            yield one._replace(samples=long, rough=True)
    if steer is not None and (turning is not None or a_y is not None):
        moving = np.sign(v_x) * (np.abs(v_x) > 1.0)
        if turning is not None:
            steer = np.where(moving == 0.0, 0.0, steer)
            one = _Check(wheel, rate, steer, moving * turning, 0.02, (wheel,), by)
            across = v_x * turning
        else:
            across = a_y if a_y is not None else steer
            ahead = np.where(moving > 0.0, steer, 0.0)
            one = _Check(wheel, "a_y", ahead, across, 0.3, (wheel,), ("a_y",))
        along = 2.0 * _calm(np.gradient(v_x, t), long)
        yield one._replace(signs_only=True, gentle=np.hypot(across, along) < GENTLE)


def _opposite(check: _Check) -> bool:
    """Whether two negatively correlated columns certainly have opposite signs.

    That is, beyond a possible sensor offset, and while the car does not slide.
    """
    first, second = _calm(check.first, check.samples), _calm(check.second, check.samples)
    if check.gentle is not None:
        if check.gentle.mean() < GENTLE_SHARE:
            return False
        first, second = first[check.gentle], second[check.gentle]
    # By how much the second is beyond an offset; 0 within it.
    second = np.sign(second) * np.maximum(np.abs(second) - OFFSET * check.least, 0.0)
    a, b = np.sqrt(np.mean(first**2)), np.sqrt(np.mean(second**2))
    return a * b > 0.0 and float(np.mean(first * second)) < OPPOSITE * a * b


def _odd(over: s, t: Array) -> int:
    """Odd number of samples of a moving mean over a time."""
    return min(int(over / (t[1] - t[0])), len(t) // 2) | 1


def _line(check: _Check) -> tuple[float, float]:
    """Slope of the first quantity over the second, and their correlation; NaN without enough
    motion."""
    first, second = _calm(check.first, check.samples), _calm(check.second, check.samples)
    a, b = np.sqrt(np.mean(first**2)), np.sqrt(np.mean(second**2))
    if b < check.least or a < 1e-3 * check.least:
        return np.nan, np.nan
    alike = float(np.mean(first * second) / (a * b))
    return float(np.copysign(a / b, alike)), alike


def _calm(values: Array, samples: int) -> Array:
    padded = np.pad(values, samples // 2, mode="edge")
    return np.convolve(padded, np.full(samples, 1.0 / samples), mode="valid")


SPEEDS = ("v_x", "speed", "wheel_speed")
ALTERNATIVES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(SPEEDS, ("km/h", "mph")),
    "omega": ("deg/s",),
    "yaw": ("deg",),
    "a": ("g",),
}
"""Units other than SI that a channel may be in; `a` are the accelerations of one sensor."""
ACCELERATIONS = ("a_x", "a_y", "a_z")
ANGLES = ("sideslip", "roll", "pitch")
"""Angles of at most half a turn, so that larger values are in degrees."""
SMOOTH: s = 0.6
"""Length of the moving mean, which reduces noise of derivatives and latencies."""
STEP: s = 0.05
LONGEST_GAP: s = 1.0
"""Longest stretch without a sample that is compared."""
MOST_SAMPLES = 20000
LEAST_SAMPLES = 60
"""Number of samples of 0.05 s below which nothing is concluded."""
PROPORTIONAL = 0.8
"""Least correlation of two signals that are compared."""
CLOSE = 0.15
"""Largest logarithm of a slope that counts as one: roll adds 10 % to a_y of a soft car."""
SAME, SAME_SLOPE = 0.95, 0.12
"""Least correlation, and largest logarithm of the slope, for a channel to be given a name."""
LEAST = {"v": 1.0, "omega": 0.02, "a": 0.3}
"""Standard deviations in SI below which there is too little motion to compare."""
MOST = {"omega": 12.0, "a": 80.0, "v": 150.0}
"""Values in SI that the 95 % quantile of a ground vehicle does not exceed."""


class _Signals(NamedTuple):
    """Channels on a common, even grid."""

    values: dict[str, Array]
    known: NDArray[np.bool_]
    """Samples at which no channel has a gap."""

    def rate(self, name: str) -> Array:
        return np.gradient(self.values[name], STEP)

    @property
    def way(self) -> Array:
        """Speed along x and y."""
        x, y = (_smooth(self.values[axis]) for axis in ("x", "y"))
        return np.hypot(np.gradient(x, STEP), np.gradient(y, STEP))

    @property
    def speed(self) -> str:
        """Name of the channel with the speed; empty if the log has none."""
        return next((name for name in SPEEDS if name in self.values), "")


class _Relation(NamedTuple):
    """Two signals that should be equal, and the quantity that they are."""

    left: str
    right: str
    first: Array
    second: Array
    kind: str


def propose_units(
    channels: Mapping[str, tuple[Array, Array]], undeclared: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """Units of channels without one, by name, and notes with the reasons.

    Args:
        channels: times in s and values by name, in SI where the unit is known.
        undeclared: names of channels whose unit is not known.
    """
    found = {name: "deg" for name in ANGLES if name in undeclared and _reach(channels[name]) > 3.2}
    notes = [
        f"{name}: converted from deg to rad, since it reaches {_reach(channels[name]):.4g}"
        for name in found
    ]
    if "yaw" in undeclared and _wraps_at(channels["yaw"][1], 360.0):
        found["yaw"] = "deg"
        notes.append("yaw: converted from deg to rad, since it jumps by 360")
    gravity = channels.get("a_z")
    if gravity is not None and "a_z" in undeclared:
        mean = abs(float(np.nanmean(gravity[1])))
        if 0.85 < mean < 1.15:
            own = [name for name in ACCELERATIONS if name in undeclared]
            found |= dict.fromkeys(own, "g")
            notes.append(
                f"{', '.join(own)}: converted from g to m/s², since the mean of a_z is {mean:.3g}"
            )
    open_ = {name for name in undeclared if name not in found}
    signals = _signals({k: (t, _scaled(v, found.get(k, ""))) for k, (t, v) in channels.items()})
    if signals is None:
        return found, notes
    labels = {(one.left, one.right) for one, *_ in _lines(signals)}
    groups = [key for key in ALTERNATIVES if key in open_ and key in signals.values]
    if any(name in open_ and name in signals.values for name in ACCELERATIONS):
        groups.append("a")
    trials = [dict(zip(groups, units, strict=True))
              for units in product(*(("", *ALTERNATIVES[key]) for key in groups))]  # fmt: skip
    fitting = [trial for trial in trials if _holds(_with_units(signals, trial, open_), labels)]
    changes = [sum(map(bool, trial.values())) for trial in fitting]
    best = [t for t, count in zip(fitting, changes, strict=True) if count == min(changes)]
    if len(best) > 1:
        texts = (" and ".join(f"{k} in {u}" for k, u in trial.items() if u) for trial in best)
        notes.append(
            f"units are ambiguous: the channels agree with {' or with '.join(texts)}; state the "
            "units in the heading"
        )
    if len(best) != 1:
        return found, notes
    for key, unit in best[0].items():
        if unit:
            names = [n for n in (ACCELERATIONS if key == "a" else (key,)) if n in open_]
            found |= dict.fromkeys(names, unit)
            reason = _reason(signals, best[0], open_, key)
            conversion = to_si(unit)
            si = conversion.unit if conversion else unit
            notes.append(f"{', '.join(names)}: converted from {unit} to {si}, {reason}")
    return found, notes


def propose_names(
    channels: Mapping[str, tuple[Array, Array]], units: Mapping[str, str], fixed: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """Names of skidpad for channels that equal a quantity derived from others, and notes.

    Args:
        channels: times in s and values by name, in SI where the unit is known.
        units: units by name; empty for unknown ones.
        fixed: names that may neither be given nor changed.
    """
    names: dict[str, str] = {}
    notes: list[str] = []
    known = {name: one for name, one in channels.items() if name in UNIT_OF}
    for target in ("omega", "a_y", "a_x", "speed"):
        if target in known or target in fixed or (target == "speed" and "v_x" in known):
            continue
        if (derived := _derived(known, target)) is None:
            continue
        text, t, values, kind = derived
        alike: dict[str, tuple[float, float]] = {}
        for name, one in channels.items():
            unit = units[name]
            if name in UNIT_OF or name in fixed or name in names:
                continue
            if name.startswith(("u_", "out_")):  # commands and outputs of skidpad
                continue
            if unit and not same_quantity(unit, UNIT_OF[target]):
                continue
            line = _regression(_smooth(_on(t, one)), _smooth(values), LEAST[kind])
            if abs(line[1]) > SAME and abs(np.log(abs(line[0]))) < SAME_SLOPE:
                alike[name] = line
        if len(alike) == 1:
            ((name, (slope, correlation)),) = alike.items()
            if slope > 0.0:
                names[name] = target
                notes.append(
                    f"{target}: the column {name!r}, which is {slope:.3g} times {text} "
                    f"(correlation {correlation:.3f})"
                )
            else:
                notes.append(
                    f"{name} is {slope:.3g} times {text}: if it is {target} with its sign "
                    f"reversed, --map {name}=-{target} turns it round"
                )
        elif alike:
            notes.append(f"{' and '.join(alike)} each look like {target} ({text}): name one")
    return names, notes


def _scaled(values: Array, unit: str) -> Array:
    conversion = to_si(unit)
    return conversion.of(values) if conversion else values


def _intact(channel: tuple[Array, Array]) -> tuple[Array, Array]:
    """Times and values without gaps and spikes, one of which could hide the relation of two
    channels."""
    known = np.isfinite(channel[1])
    t, values = channel[0][known], channel[1][known]
    kept = ~spikes(values)
    return t[kept], values[kept]


def _reach(channel: tuple[Array, Array]) -> float:
    return float(np.max(np.abs(_intact(channel)[1]), initial=0.0))


def _wraps_at(values: Array, turn: float) -> bool:
    """Whether an angle jumps by a turn, and hardly ever by half as much or more otherwise."""
    jumps = np.abs(np.diff(values[np.isfinite(values)]))
    large = jumps[jumps > 0.5 * turn]
    return bool(large.size) and float(np.mean(np.abs(large - turn) < 0.1 * turn)) > 0.8


def _on(t: Array, channel: tuple[Array, Array]) -> Array:
    return np.interp(t, *_intact(channel))


def _grid(channels: Mapping[str, tuple[Array, Array]]) -> Array | None:
    """Even times within all channels; None if they have too few in common."""
    ends = [(t[0], t[-1]) for t, values in channels.values() if np.isfinite(values).sum() > 1]
    if len(ends) < len(channels) or not ends:
        return None
    begin, end = max(low for low, _ in ends), min(high for _, high in ends)
    count = min(int((end - begin) / STEP) + 1, MOST_SAMPLES) if end > begin else 0
    return begin + STEP * np.arange(count) if count >= LEAST_SAMPLES else None


def _signals(channels: Mapping[str, tuple[Array, Array]]) -> _Signals | None:
    of_motion = (*SPEEDS, "omega", "yaw", "a_x", "a_y", "x", "y")
    used = {name: channels[name] for name in of_motion if name in channels}
    t = _grid(used)
    if t is None:
        return None
    values: dict[str, Array] = {}
    known = np.full(t.shape, True)
    for name, (times, own) in used.items():
        if name != "yaw":
            times, own = _intact((times, own))
        else:
            there = np.isfinite(own)
            times, own = times[there], own[there]
            turn = 360.0 if _wraps_at(own, 360.0) else 2.0 * np.pi
            own = np.unwrap(own, period=turn) if _wraps_at(own, turn) else own
        values[name] = np.interp(t, times, own)
        after = np.clip(np.searchsorted(times, t), 1, len(times) - 1)
        known &= times[after] - times[after - 1] < LONGEST_GAP
    return _Signals(values, known) if known.sum() >= LEAST_SAMPLES else None


def _relations(signals: _Signals) -> Iterator[_Relation]:
    values, v = signals.values, signals.speed
    turning = values.get("omega")
    if "yaw" in values:
        rate = signals.rate("yaw")
        if turning is not None:
            yield _Relation("the rate of yaw", "omega", rate, turning, "omega")
        else:
            turning = rate
    if {"x", "y"} <= values.keys() and v:
        yield _Relation("the speed along x and y", v, signals.way, np.abs(values[v]), "v")
    if v and turning is not None and "a_y" in values:
        yield _Relation("a_y", f"{v} times omega", values["a_y"], values[v] * turning, "a")
    if v and "a_x" in values:
        yield _Relation("a_x", f"the change of {v}", values["a_x"], signals.rate(v), "a")


def _with_units(signals: _Signals, trial: Mapping[str, str], open_: Collection[str]) -> _Signals:
    """Signals converted from the units of a trial."""
    values = dict(signals.values)
    for key, unit in trial.items():
        for name in ACCELERATIONS if key == "a" else (key,):
            if name in values and name in open_:
                values[name] = _scaled(values[name], unit)
    return signals._replace(values=values)


def _lines(signals: _Signals, least: float = 1.0) -> Iterator[tuple[_Relation, float, float]]:
    """Relations that there is enough motion for, with slope and correlation; `least` scales the
    motion needed."""
    for one in _relations(signals):
        first, second = (_smooth(values)[signals.known] for values in (one.first, one.second))
        slope, alike = _regression(first, second, 0.0)
        if abs(alike) >= PROPORTIONAL and max(first.std(), second.std()) >= least * LEAST[one.kind]:
            yield one, slope, alike


def _holds(signals: _Signals, labels: Collection[tuple[str, str]]) -> bool:
    """Whether all relations hold but for signs, and no value is implausible."""
    values, v = signals.values, signals.speed
    limited = [("omega", values.get("omega")), ("v", values.get(v))]
    if v and "omega" in values:
        limited.append(("a", values[v] * values["omega"]))
    for kind, one in limited:
        if one is not None and float(np.quantile(np.abs(one), 0.95)) > MOST[kind]:
            return False
    return all(
        abs(np.log(abs(slope))) < CLOSE
        for one, slope, _ in _lines(signals, 0.0)
        if (one.left, one.right) in labels
    )


def _reason(signals: _Signals, best: Mapping[str, str], open_: Collection[str], key: str) -> str:
    """Words for the relation that a unit repairs."""
    with_all = {(one.left, one.right): slope for one, slope, _ in
                _lines(_with_units(signals, best, open_), 0.0)}  # fmt: skip
    without = _with_units(signals, {**best, key: ""}, open_)
    for one, slope, _ in _lines(without):
        after = with_all.get((one.left, one.right))
        if after is not None and abs(np.log(abs(slope))) >= CLOSE:
            return f"since {one.left} is {after:.3g} times {one.right} then, and {slope:.3g} before"
    return "since larger values are not those of a ground vehicle"


def _derived(
    known: Mapping[str, tuple[Array, Array]], target: str
) -> tuple[str, Array, Array, str] | None:
    """A quantity from known ones: its words, times, values and kind; None if they lack."""
    v = next((name for name in SPEEDS if name in known), "")
    turning = next((name for name in ("omega", "yaw") if name in known), "")
    needs = {"omega": ["yaw"], "a_y": [v, turning], "a_x": [v], "speed": ["x", "y"]}[target]
    if not set(needs) <= known.keys():
        return None
    used = {name: known[name] for name in needs}
    t, signals = _grid(used), _signals(used)
    if t is None or signals is None:
        return None
    if target == "omega":
        return "the rate of yaw", t, signals.rate("yaw"), "omega"
    if target == "a_x":
        return f"the change of {v}", t, signals.rate(v), "a"
    if target == "speed":
        return "the speed along x and y", t, signals.way, "v"
    rate = signals.values["omega"] if turning == "omega" else signals.rate("yaw")
    words = "omega" if turning == "omega" else "the rate of yaw"
    return f"{v} times {words}", t, signals.values[v] * rate, "a"


def _smooth(values: Array) -> Array:
    return _calm(values, int(SMOOTH / STEP) | 1)


def _regression(first: Array, second: Array, least: float) -> tuple[float, float]:
    """Slope of the first signal over the second about their means, and their correlation."""
    a, b = first - first.mean(), second - second.mean()
    size = float(a.std()), float(b.std())
    if size[0] == 0.0 or size[1] <= least or not np.isfinite(size).all():
        return 1.0, 0.0
    alike = float(np.mean(a * b) / (size[0] * size[1]))
    return float(np.copysign(size[0] / size[1], alike)), alike
