"""Units and names that no heading states, from physics.

Speed, yaw rate, heading, accelerations and positions of one drive determine each other: the rate of
the heading is the yaw rate, a_y is nearly v times omega, a_x nearly the change of v, and the speed
along x and y is v. A channel without a unit may therefore be recognised to be in km/h, deg/s, deg
or g, and a channel with an unknown name to be one of these quantities.

A unit is taken only if the fewest changes that make all relations hold are the only ones of their
number. Signs are never changed here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...units import s
from .names import UNIT_OF
from .units import same_quantity, to_si

SPEEDS = ("v_x", "speed", "wheel_speed")
UNITS: Mapping[str, tuple[str, ...]] = {
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
ALIKE = 0.8
"""Least correlation of two signals that are compared."""
NEAR = 0.15
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
        """Name of the channel with the speed; empty if there is none."""
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
    groups = [key for key in UNITS if key in open_ and key in signals.values]
    if any(name in open_ and name in signals.values for name in ACCELERATIONS):
        groups.append("a")
    trials = [dict(zip(groups, units, strict=True))
              for units in product(*(("", *UNITS[key]) for key in groups))]  # fmt: skip
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
            notes.append(f"{', '.join(names)}: converted from {unit} to {_si(unit)}, {reason}")
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
            line = _line(_smooth(_on(t, one)), _smooth(values), LEAST[kind])
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


def _si(unit: str) -> str:
    conversion = to_si(unit)
    return conversion.unit if conversion else unit


def _scaled(values: Array, unit: str) -> Array:
    conversion = to_si(unit)
    return conversion.of(values) if conversion else values


def _reach(channel: tuple[Array, Array]) -> float:
    return float(np.nanmax(np.abs(channel[1]), initial=0.0))


def _wraps_at(values: Array, turn: float) -> bool:
    """Whether an angle jumps by a turn, and hardly ever by half as much or more otherwise."""
    jumps = np.abs(np.diff(values[np.isfinite(values)]))
    large = jumps[jumps > 0.5 * turn]
    return bool(large.size) and float(np.mean(np.abs(large - turn) < 0.1 * turn)) > 0.8


def _on(t: Array, channel: tuple[Array, Array]) -> Array:
    known = np.isfinite(channel[1])
    return np.interp(t, channel[0][known], channel[1][known])


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
        there = np.isfinite(own)
        times, own = times[there], own[there]
        if name == "yaw":
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
        slope, alike = _line(first, second, 0.0)
        if abs(alike) >= ALIKE and max(first.std(), second.std()) >= least * LEAST[one.kind]:
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
        abs(np.log(abs(slope))) < NEAR
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
        if after is not None and abs(np.log(abs(slope))) >= NEAR:
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
    samples = int(SMOOTH / STEP) | 1
    padded = np.pad(values, samples // 2, mode="edge")
    return np.convolve(padded, np.full(samples, 1.0 / samples), mode="valid")


def _line(first: Array, second: Array, least: float) -> tuple[float, float]:
    """Slope of the first signal over the second about their means, and their correlation."""
    a, b = first - first.mean(), second - second.mean()
    size = float(a.std()), float(b.std())
    if size[0] == 0.0 or size[1] <= least or not np.isfinite(size).all():
        return 1.0, 0.0
    alike = float(np.mean(a * b) / (size[0] * size[1]))
    return float(np.copysign(size[0] / size[1], alike)), alike
