"""Whether the columns of a log agree with each other.

`check_columns` reveals reversed signs and units that no heading states. Each check compares a
column with one derived from others, by a straight line through zero. The slope should be one; a
slope that a reversed sign or a common unit explains is refused, naming the column that explains it,
and so is a clearly negative correlation. What may have a valid reason is a note: a sliding car is
steered against its turn, and a banked road tilts a sensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...errors import InvalidValue
from ...units import s

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
LARGEST_ANGLES = {"sideslip": 3.2, "roll": 3.2, "pitch": 3.2, "steer": 2.0}
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
    ": as of a car that slides; otherwise steer has its sign reversed, and --map COLUMN=-steer "
    "turns it round"
)


def check_columns(name: str, t: Array, columns: Mapping[str, Array]) -> list[str]:
    """Notes on columns that hardly agree.

    Raises InvalidValue for columns that contradict each other or have values that are implausible
    in SI.
    """
    _check_sizes(name, columns)
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
                f"{alike:.2f})" + (_MAY_SLIDE if alike < OPPOSITE and check.signs_only else "")
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
    return f"{sentence}: {' or '.join(' and '.join(one.words) for one in likely)}"


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
                               f"{ahead} {'is' if column == 'a_x' else 'are'} positive); --map "
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
    v_x, a_y, steer = columns["v_x"], columns.get("a_y"), columns.get("steer")
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
            one = _Check("steer", rate, steer, moving * turning, 0.02, ("steer",), by)
            across = v_x * turning
        else:
            across = a_y if a_y is not None else steer
            ahead = np.where(moving > 0.0, steer, 0.0)
            one = _Check("steer", "a_y", ahead, across, 0.3, ("steer",), ("a_y",))
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


def _check_sizes(name: str, columns: Mapping[str, Array]) -> None:
    """Raise InvalidValue for angles and yaw rates that must be in degrees."""
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
