"""Corrections of an inertial unit, and channels that follow from others.

An accelerometer measures the specific force, which is the acceleration minus gravity. With the roll
angle φ (ISO 8855: positive with the right side down) and the pitch angle θ (positive with the nose
down), gravity g appears in the axes of the body as

    f_y = a_y cos φ + g sin φ        f_x = a_x cos θ - g sin θ

to first order in the other angle: in a left turn a car rolls to the right, and its sensor shows
more than a_y; in braking its nose dips, and it shows more than the deceleration.

At a place l_x forward and l_y to the left of the point with the velocities v_x and v_y, and turned
to the left by ψ, a sensor measures, with the acceleration p_x = dv_x/dt - v_y ω and
p_y = dv_y/dt + v_x ω of that point,

    f_x =  cos ψ (p_x - l_y dω/dt - l_x ω²) + sin ψ (p_y + l_x dω/dt - l_y ω²) + b_x
    f_y = -sin ψ (p_x - l_y dω/dt - l_x ω²) + cos ψ (p_y + l_x dω/dt - l_y ω²) + b_y

The offsets b are those of the sensor and of its tilt, which cannot be separated. A latency of f_y
adds a multiple of its rate, which at constant speed looks like l_x dω/dt. All are found together by
least squares. Their intervals use sums of residuals over blocks of time that are longer than
residuals remember, so they hold for disturbances of any colour.

Positions follow from GNSS, velocities from wheels and positions. Accelerations are not computed
from speed and yaw rate, and lateral velocity only from positions and sideslip: other channels would
add nothing to those that they are computed from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np

from ...core.arrays import Array
from ...core.files import listed
from ...errors import InvalidValue
from ...geometry.geodesy import Origin, Place, position_in_world
from ...units import m, m_s, m_s2, one, rad, rad_s, s
from .cleaning import Mask, low_pass, stretches
from .log import Channel
from .units import GRAVITY

G: m_s2 = 9.80665
BLOCK: s = 2.0
"""Time over which residuals are summed for an interval."""
_STANDING: m_s = 0.05
_STANDING_TIME: s = 1.0
"""A vehicle stands if it is slower for at least this long."""
_FAST: m_s = 1.0
"""Speed above which accelerations are compared."""
_BAND, _SLOW_BAND = 3.0, 0.5
"""Frequencies in Hz below which accelerations are compared: with the lateral velocity, and without
it, as its rate then is a disturbance that is small only where motion is slow."""
_DRIFT = 0.1
"""Frequency in Hz below which a residual counts as that of a road or a drifting sensor."""
_TURN_BAND = 1.0
"""Frequency in Hz below which axes are compared for quarter turns."""
_TURNED: one = 0.6
"""Correlation from which axes count as turned."""
_LEAST_BLOCKS = 4
_GAIN: one = 0.15
"""Largest error of the gain of a_y with which a place and a latency are believed."""
_LEAST_BIAS: rad_s = 2e-4
_LEAST_OFFSET: m_s2 = 0.02
_LEAST_ANGLE: rad = 4e-3
_LEAST_PLACE: m = 0.05
_WIDEST_PLACE: m = 0.2
"""Half width of an interval above which a place of the sensor is not used."""
_WIDEST_TIME: s = 0.02
"""The same of a latency of a_y."""
_LEAST_DRIFT: m_s2 = 0.15
_LEAST_ROLL: one = 0.02
_MOST_ROLL: one = 0.2
"""Corrections below these are not made, and not mentioned."""

Rows = Mapping[str, Array]


class Estimate(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    half: float

    def over(self, least: float) -> bool:
        """Whether zero is far outside of the interval, and the value is large enough to matter."""
        return abs(self.value) > max(1.5 * self.half, least)

    def text(self, unit: str, factor: one = 1.0) -> str:
        """Value and interval with a unit."""
        value, half = factor * self.value, abs(factor) * self.half
        return f"{value:.3g} ({value - half:.3g} to {value + half:.3g}) {unit}".rstrip()


class Correction(NamedTuple):
    """A change of a channel, or a remark about it."""

    channel: str
    """Channel, or several separated by commas."""
    text: str
    share: float = 1.0
    """Share of the samples that were changed; 0 for a remark."""
    latency: Estimate | None = None
    """Time by which the channel was late, in s."""


def remove_gravity(rows: dict[str, Array], dt: s) -> Iterator[Correction]:
    """Take gravity out of `a_x` and `a_y` by `pitch` and `roll`, where the log shows that it is in.

    Without these angles, what slow accelerations show of a rolling body or a banked road is only
    reported.
    """
    motion = _Motion.of(rows, dt)
    if motion is None:
        return
    for axis, angle, sign in (("a_y", "roll", 1.0), ("a_x", "pitch", -1.0)):
        known = motion.along if axis == "a_x" else motion.across
        if axis not in rows or known is None:
            continue
        rest = motion.filtered(rows[axis]) - known
        if angle not in rows:
            if axis == "a_y":
                yield from _road(rest, known, motion)
            continue
        pull = sign * G * np.sin(rows[angle])
        found = _solve([(rest, [motion.filtered(pull), np.ones(rest.shape)])], motion)
        if found is None or found[0].half > 0.5:
            yield Correction(axis, f"{angle} varies too little to tell whether gravity is in", 0.0)
        elif found[0].value > 0.5:
            rows[axis] = (rows[axis] - pull) / np.cos(rows[angle])
            yield Correction(
                axis, f"gravity taken out by {angle}: {found[0].text('times it')} is in"
            )


def _road(rest: Array, known: Array, motion: _Motion) -> Iterator[Correction]:
    """Remarks about a lateral acceleration that differs slowly from v_x times omega."""
    found = _solve([(rest, [known, np.ones(rest.shape)])], motion)
    if found is None or not abs(found[0].value) < _MOST_ROLL:
        return
    rolls = found[0].over(_LEAST_ROLL) and found[0].value > 0.0
    if rolls:
        yield Correction(
            "a_y",
            f"{1.0 + found[0].value:.3f} times v_x times omega, as of a sensor on a body that "
            f"rolls by {np.rad2deg(found[0].value):.2g} degrees at 1 g; left as it is",
            0.0,
        )
    slow = low_pass(rest - found[0].value * known if rolls else rest, _DRIFT, motion.dt)
    rows = motion.use & np.isfinite(slow)
    # The middle of the differences: the ends of a derivative are wrong.
    drift = 1.48 * float(np.median(np.abs(slow[rows] - np.median(slow[rows]))))
    if drift > _LEAST_DRIFT:
        yield Correction(
            "a_y",
            f"differs from v_x times omega by a slow {drift:.2g} m/s² (standard deviation), as on "
            f"a road with a bank of {np.rad2deg(drift / G):.2g} degrees; left as it is",
            0.0,
        )


def correct_imu(rows: dict[str, Array], dt: s, place: tuple[m, m] | None) -> Iterator[Correction]:
    """Correct `omega`, `a_x` and `a_y`, and move the accelerations to the reference point.

    Args:
        rows: channels on an even grid, changed in place.
        dt: period of the grid.
        place: that of the accelerometers, forward and to the left of the reference point; estimated
            if None and the lateral velocity is known.
    """
    bias, how = _gyro(rows, dt) if "omega" in rows else (None, "")
    if bias is not None and bias.over(_LEAST_BIAS):
        rows["omega"] = rows["omega"] - bias.value
        yield Correction("omega", f"bias {bias.text('rad/s')}, {how}: taken out")
    with_place, with_bias = place is None, bias is None
    unit = _Unit(rows, dt, place or (0.0, 0.0), with_place, "v_y" in rows)
    found = unit.mounting()
    if found is not None and "late" in found and abs(found["gain_y"].value - 1.0) > _GAIN:
        # So far from one that the lateral velocity is mostly noise.
        unit = unit._replace(with_place=False, sideways=False)
        found = unit.mounting()
    if found is not None:
        if with_bias:
            biased = unit.mounting(with_bias=True)
            yield from _bias_or_offset(rows, found, biased)
            found = biased or {k: v for k, v in found.items() if k not in ("a_y", "bias")}
        late_sideways = _lateness_of_sideways(unit, with_bias)
        if late_sideways is not None and late_sideways.over(dt):
            # Without the lateness, which would look like one of a_y and a place of the sensor.
            unit = unit._replace(late=late_sideways.value)
            found = unit.mounting(with_bias=with_bias) or found
            yield _suspicion(rows, late_sideways, _at_ends(unit, late_sideways, with_bias))
            found = {k: v for k, v in found.items() if k not in ("late", "ahead", "left")}
        angle, late = found.get("angle"), found.get("late")
        turned = angle is not None and {"a_x", "a_y"} <= rows.keys() and angle.over(_LEAST_ANGLE)
        if angle is not None and turned:
            c, sn = np.cos(angle.value), np.sin(angle.value)
            a_x, a_y = rows["a_x"], rows["a_y"]
            rows["a_x"], rows["a_y"] = c * a_x - sn * a_y, sn * a_x + c * a_y
            text = angle.text("degrees", 180.0 / np.pi)
            yield Correction("a_x, a_y", f"sensor turned to the left by {text}: turned back")
        ends = _at_ends(unit, late_sideways, with_bias)
        moved = late is not None and late.half < _WIDEST_TIME and late.over(0.6 * dt)
        moved = moved and _agree([one["late"] for one in ends if "late" in one], 0.6 * dt)
        if late is not None and moved:
            t = dt * np.arange(len(rows["a_y"]))
            shown = rows["a_y"]
            # Linear in the latency, so that the first estimate of a long one is too small.
            for _ in range(3):
                rows["a_y"] = np.interp(t + late.value, t, shown, np.nan, np.nan)
                more = (unit.mounting(with_bias) or found).get("late", late)
                late = Estimate(late.value + more.value, more.half)
            rows["a_y"] = np.interp(t + late.value, t, shown, np.nan, np.nan)
            # The times of the lateral velocity are uncertain too.
            apart = [abs(one["late"].value - found["late"].value) for one in ends if "late" in one]
            late = Estimate(late.value, float(np.hypot(late.half, max(apart, default=0.0))))
            size = Estimate(abs(late.value), late.half).text("s")
            early = late.value < 0.0
            text = f"{size} {'early: moved later' if early else 'late: moved earlier'}"
            yield Correction("a_y", text, latency=late)
        if turned or moved:
            again = unit.mounting(with_bias) or found
            found = {k: v for k, v in again.items() if k in found}
            ends = _at_ends(unit, late_sideways, with_bias)
        if place is None and "ahead" in found:
            ahead, left = found["ahead"], found["left"]
            sure = any(
                _agree([own[name], *(one[name] for one in ends)], _LEAST_PLACE)
                for own in (found,)
                for name in ("ahead", "left")
            )
            if max(ahead.half, left.half) > _WIDEST_PLACE:
                text = "place of the sensor not found, as speed and turning vary too little: "
                yield Correction("a_x, a_y", text + "taken as the reference point", 0.0)
            elif sure:
                how = f"estimated: forward {ahead.text('m')}, to the left {left.text('m')}"
                yield from _move(rows, dt, (ahead.value, left.value), how)
        for axis in ("a_x", "a_y"):
            offset = found.get(axis)
            if offset is not None and offset.over(_LEAST_OFFSET):
                rows[axis] = rows[axis] - offset.value
                tilt = abs(np.rad2deg(np.arcsin(np.clip(offset.value / G, -1.0, 1.0))))
                text = f"offset {offset.text('m/s²')}, as of a tilt by {tilt:.2g} degrees"
                yield Correction(axis, f"{text}: taken out")
    if place is not None and any(place) and "omega" in rows:
        yield from _move(rows, dt, place, "as given")


class _Unit(NamedTuple):
    """An inertial unit whose mounting is estimated."""

    rows: Rows
    dt: s
    place: tuple[m, m]
    with_place: bool
    """Whether the place is estimated."""
    sideways: bool
    """Whether the lateral velocity is used."""
    late: s = 0.0
    """Time by which the lateral velocity is taken to be late."""

    def motion(self) -> _Motion | None:
        rows = self.rows if self.sideways else {k: v for k, v in self.rows.items() if k != "v_y"}
        motion = _Motion.of(rows, self.dt, self.place)
        return motion and motion.earlier(self.late)

    def mounting(self, with_bias: bool = False) -> dict[str, Estimate] | None:
        """Estimates by name, see `_mounting`."""
        motion = self.motion()
        if motion is None:
            return None
        return _mounting(self.rows, motion, self.with_place, with_bias)


def _agree(estimates: list[Estimate], least: float) -> bool:
    """Whether all estimates are certain, and of one sign."""
    signs = {np.sign(one.value) for one in estimates if one.over(least)}
    return len(signs) == 1 and all(one.over(least) for one in estimates)


def _bias_or_offset(
    rows: dict[str, Array], found: dict[str, Estimate], biased: dict[str, Estimate] | None
) -> Iterator[Correction]:
    """Take the bias out of the yaw rate if speed and accelerations determine it.

    a_y shows v_x times the bias, which at constant speed cannot be told from an offset.
    """
    own, offset = (biased or {}).get("bias"), found.get("a_y")
    if own is not None and own.over(_LEAST_BIAS):
        rows["omega"] = rows["omega"] - own.value
        yield Correction("omega", f"bias {own.text('rad/s')}, by speed and a_y: taken out")
    elif (
        offset is not None
        and offset.over(_LEAST_OFFSET)
        and (biased is None or not biased["a_y"].over(_LEAST_OFFSET))
    ):
        text = f"offset {offset.text('m/s²')}, or a bias of omega: the speed varies too little to "
        text += "tell them apart, so neither is taken out; a fit can free log.omega_bias"
        yield Correction("a_y", text, 0.0)


_MOST_LATE: s = 0.12
"""Longest time by which the lateral velocity is supposed to be late or early."""
_STEP: s = 0.01
"""Change of this time by which derivatives are computed."""


def _lateness_of_sideways(unit: _Unit, with_bias: bool) -> Estimate | None:
    """Time by which the lateral velocity is late behind the accelerations; None if undetermined.

    The time with the least squares, with all that is unknown about the accelerometers free. The
    interval is by the sums of derivatives over blocks.
    """
    from scipy.ndimage import minimum_filter1d

    motion = unit.motion()
    if not unit.sideways or motion is None or "a_y" not in unit.rows:
        return None
    shown = {name: motion.filtered(unit.rows[name]) for name in ("a_x", "a_y") if name in unit.rows}
    equations = _equations(shown, motion, unit.with_place, with_bias)
    if equations is None:
        return None
    most = min(_MOST_LATE, 0.1 * unit.dt * len(motion.along))
    # Without the rows next to gaps, into which a late lateral velocity would reach.
    use = motion.use & np.isfinite(motion.v_y + sum(shown.values()))
    use = minimum_filter1d(use, 2 * int(most / unit.dt) + 7, mode="constant")
    # Ten samples in a period of the fastest motion are enough.
    places = np.flatnonzero(use)[:: max(int(0.1 / (motion.band * unit.dt)), 1)]
    block = (places * unit.dt / BLOCK).astype(int)
    labels, index = np.unique(block, return_inverse=True)
    if len(labels) <= max(_LEAST_BLOCKS, len(equations.names) + 1):
        return None

    def table(late: s) -> tuple[Array, Array]:
        args = motion.earlier(late), unit.with_place, with_bias, equations.scales
        parts = cast("_Equations", _equations(shown, *args)).parts
        columns = [np.stack([c[places] for c in part], axis=1) for _, part in parts]
        return np.concatenate(columns), np.concatenate([own[places] for own, _ in parts])

    def answer_at(late: s) -> Array:
        terms, own = table(late)
        return cast("Array", np.linalg.lstsq(terms.T @ terms, terms.T @ own, rcond=None)[0])

    def squares(late: s, answer: Array | None = None) -> Array:
        terms, own = table(late)
        return (own - terms @ (answer_at(late) if answer is None else answer)) ** 2

    coarse = np.linspace(-most, most, 7)
    costs = [float(squares(float(late)).sum()) for late in coarse]
    k = int(np.argmin(costs))
    if k in (0, len(coarse) - 1):
        return None
    late, step = float(coarse[k]), float(coarse[1] - coarse[0])
    around, bend = costs[k - 1 : k + 2], 0.0
    for shorter in (_STEP, 0.5 * _STEP):
        bend = around[0] - 2.0 * around[1] + around[2]
        late += float(np.clip(0.5 * step * (around[0] - around[2]) / bend, -step, step))
        step = shorter
        around = [float(squares(late + shift).sum()) for shift in (-step, 0.0, step)]
    bend = (around[0] - 2.0 * around[1] + around[2]) / step**2
    if not bend > 0.0 or abs(late) > most - step:
        return None
    answer = answer_at(late)
    slope = (squares(late + step, answer) - squares(late - step, answer)) / (2.0 * step)
    sums = np.bincount(np.tile(index, len(slope) // len(index)), slope, len(labels))
    count, free = len(labels), len(answer) + 1
    deviation = float(np.sqrt((sums**2).sum() * count / (count - free))) / bend
    return Estimate(late, _quantile(count - free + 1) * deviation)


def _at_ends(unit: _Unit, late: Estimate | None, with_bias: bool) -> list[dict[str, Estimate]]:
    """Estimates with the lateral velocity as late as the ends of an interval say."""
    if not unit.sideways:
        return []
    if late is None:
        low, high = -_MOST_LATE, _MOST_LATE
    else:
        low, high = (np.clip(late.value + k * late.half, -_MOST_LATE, _MOST_LATE) for k in (-1, 1))
    tried = (unit._replace(late=float(end)).mounting(with_bias) for end in (low, high))
    return [one for one in tried if one is not None]


def _suspicion(rows: Rows, late: Estimate, ends: list[dict[str, Estimate]]) -> Correction:
    """Remark about a lateral velocity whose times do not agree with those of a_y."""
    name = "sideslip" if "sideslip" in rows else "v_y"
    size = Estimate(abs(late.value), late.half).text("s")
    text = f"{name} and a_y disagree by {size}; "
    least = {"late": 0.01, "ahead": _LEAST_PLACE, "left": _LEAST_PLACE}
    if any(ends and _agree([one[key] for one in ends if key in one], value)
           for key, value in least.items()):  # fmt: skip
        text += f"{name}, a_y or the place of the sensor may be the cause"
    else:
        side = "late" if late.value > 0.0 else "early"
        text += f"a_y, omega and the speed agree, so {name} is probably {side}: a fit can free "
        text += f"delay.{name}"
    return Correction(f"{name}, a_y", f"{text}; nothing is moved", 0.0)


def _gyro(rows: Rows, dt: s) -> tuple[Estimate | None, str]:
    """Bias of the yaw rate by standing still, or else by the heading; None if nothing tells."""
    omega = rows["omega"]
    speed = rows.get("v_x", rows.get("speed"))
    if speed is not None:
        stands = (np.abs(speed) < _STANDING) & np.isfinite(omega)
        least = int(_STANDING_TIME / dt)
        # Without the ends, where the vehicle may still rock.
        parts = [omega[a + least // 5 : b - least // 5] for a, b in stretches(stands)
                 if b - a >= least]  # fmt: skip
        if parts:
            values = np.concatenate(parts)
            return _mean(values, dt), f"by {len(values) * dt:.3g} s of standing still"
    if "yaw" in rows:
        turned = np.gradient(rows["yaw"], dt)
        both = np.isfinite(turned) & np.isfinite(omega)
        if both.sum() * dt > _LEAST_BLOCKS * BLOCK:
            return _mean((omega - turned)[both], dt), "by yaw"
    return None, ""


def _mean(values: Array, dt: s) -> Estimate:
    """Mean with an interval from the means of blocks."""
    count = int(np.clip(len(values) * dt / BLOCK, 4, 200))
    means = np.array([part.mean() for part in np.array_split(values, count)])
    return Estimate(float(values.mean()), _quantile(count) * float(means.std(ddof=1)) / count**0.5)


def _move(rows: dict[str, Array], dt: s, place: tuple[m, m], how: str) -> Iterator[Correction]:
    """Accelerations at the reference point from those of a sensor elsewhere."""
    ahead, left = place
    omega = rows["omega"]
    # The rate of noise is noise that the sensor does not have.
    rate = np.gradient(low_pass(omega, _BAND, dt), dt)
    if "a_x" in rows:
        rows["a_x"] = rows["a_x"] + rate * left + omega**2 * ahead
    if "a_y" in rows:
        rows["a_y"] = rows["a_y"] - rate * ahead + omega**2 * left
    channels = ", ".join(axis for axis in ("a_x", "a_y") if axis in rows)
    yield Correction(channels, f"moved from ({ahead:.3g}, {left:.3g}) m ({how}) to the "
                     "reference point")  # fmt: skip


def quarter_turn(rows: Rows, dt: s) -> tuple[int, float]:
    """How the axes of the accelerometers are turned, and the correlation that shows it.

    1 for a quarter turn to the left, so that `a_x` shows the acceleration to the left, -1 to the
    right, and 0 if the axes are right or nothing tells.
    """
    motion = _Motion.of({**rows, "v_y": np.zeros(len(rows["v_x"]))}, dt)
    if motion is None or motion.across is None:
        return 0, 0.0
    a_x, a_y = (low_pass(rows[axis], _TURN_BAND, dt) for axis in ("a_x", "a_y"))
    p_x, p_y = (low_pass(p, _TURN_BAND, dt) for p in (motion.along, motion.across))
    known = motion.use & np.isfinite(a_x + a_y + p_x + p_y)
    if known.sum() * dt < _LEAST_BLOCKS * BLOCK:
        return 0, 0.0

    def alike(first: Array, second: Array) -> float:
        a, b = first[known] - first[known].mean(), second[known] - second[known].mean()
        return float((a * b).mean() / (a.std() * b.std() + 1e-9))

    straight = 0.5 * (alike(a_x, p_x) + alike(a_y, p_y))
    turned = 0.5 * (alike(a_x, p_y) - alike(a_y, p_x))
    if abs(turned) < _TURNED or straight > 0.5 * abs(turned):
        return 0, straight
    return (1 if turned > 0.0 else -1), abs(turned)


class _Motion(NamedTuple):
    """The acceleration of a point by its velocity, low-pass filtered."""

    dt: s
    along: Array
    """To the front."""
    across: Array | None
    """To the left; None without a yaw rate."""
    rate: Array
    """dω/dt."""
    square: Array
    """ω²."""
    band: float
    knows_sideways: bool
    use: Mask
    """Rows that are compared."""
    v_x: Array
    v_y: Array
    sideways: Array
    """ω v_y."""
    raw: tuple[Array, Array]
    """Lateral velocity and yaw rate before the filter."""

    def filtered(self, values: Array) -> Array:
        return low_pass(values, self.band, self.dt)

    def earlier(self, late: s) -> _Motion:
        """The motion with a lateral velocity that is moved earlier."""
        if not late:
            return self
        t = self.dt * np.arange(len(self.v_x))
        v_y, aside = (np.interp(t + late, t, v, np.nan, np.nan) for v in (self.v_y, self.raw[0]))
        sideways = self.filtered(aside * self.raw[1])
        more = np.gradient(v_y - self.v_y, self.dt)
        across = None if self.across is None else self.across + more
        return self._replace(
            **{"along": self.along + self.sideways - sideways, "across": across, "v_y": v_y},
            **{"sideways": sideways, "use": self.use & np.isfinite(more + sideways)},
        )

    @classmethod
    def of(cls, rows: Rows, dt: s, place: tuple[m, m] = (0.0, 0.0)) -> _Motion | None:
        """The acceleration at a place; None without a speed."""
        if "v_x" not in rows:
            return None
        v_x, v_y, omega = rows["v_x"], rows.get("v_y"), rows.get("omega")
        band = min(_SLOW_BAND if v_y is None else _BAND, 0.2 / dt)
        aside = np.zeros(v_x.shape) if v_y is None else v_y
        turning = np.zeros(v_x.shape) if omega is None else omega
        # Filtered before they are differentiated, since filters and derivatives commute.
        ahead_speed, side_speed, sideways, turn, square, push = (
            low_pass(each, band, dt)
            for each in (v_x, aside, aside * turning, turning, turning**2, v_x * turning)
        )
        along = np.gradient(ahead_speed, dt) - sideways
        across = np.gradient(side_speed, dt) + push
        rate = np.gradient(turn, dt)
        use = np.isfinite(along + across + rate + square) & (np.abs(v_x) > _FAST)
        ahead, left = place
        along, across = along - left * rate - ahead * square, across + ahead * rate - left * square
        told = None if omega is None else across
        return cls(
            *(dt, along, told, rate, square, band, v_y is not None, use),
            *(ahead_speed, side_speed, sideways, (aside, turning)),
        )


class _Equations(NamedTuple):
    """Equations of the accelerometers for least squares, with common unknowns."""

    names: list[str]
    """Names of the unknowns."""
    parts: list[tuple[Array, list[Array]]]
    """What each axis shows and the factors of the unknowns, over the scale of the axis."""
    scales: dict[str, float]


def _mounting(
    rows: Rows, motion: _Motion, with_place: bool, with_bias: bool = False
) -> dict[str, Estimate] | None:
    """Offsets, mounting angle and bias of the gyro; with the lateral velocity also latency and
    place."""
    shown = {axis: motion.filtered(rows[axis]) for axis in ("a_x", "a_y") if axis in rows}
    equations = _equations(shown, motion, with_place, with_bias)
    found = None if equations is None else _solve(equations.parts, motion)
    if equations is None or found is None:
        return None
    return dict(zip(equations.names, found, strict=True))


def _equations(
    shown: Mapping[str, Array],
    motion: _Motion,
    with_place: bool,
    with_bias: bool,
    scales: Mapping[str, float] | None = None,
) -> _Equations | None:
    """The equations of filtered accelerations; None if too little is known."""
    if motion.across is None or not shown:
        return None
    p_x, p_y = motion.along, motion.across
    zero, unit = np.zeros(p_x.shape), np.ones(p_x.shape)
    # Gains of both axes are free, so that a rolling body or a wrong wheel radius spoils nothing.
    names = ["a_x", "gain_x", "a_y", "gain_y", "angle", "late", "ahead", "left", "cross", "bias"]
    # By the sensor itself: positions that are differentiated three times are noise.
    late = -np.gradient(shown["a_y"], motion.dt) if "a_y" in shown else zero
    v_x, v_y = motion.v_x, motion.v_y
    terms = {
        "a_x": (unit, p_x, zero, zero, p_y, zero, -motion.square, -motion.rate, zero, v_y),
        "a_y": (zero, zero, unit, p_y, -p_x, late, motion.rate, -motion.square, zero, -v_x),
    }
    order = [*range(8)] if with_place else [*range(6)]
    if not motion.knows_sideways:
        # The term v_y ω that is missing looks like a mounting angle in turns to one side.
        terms["a_x"] = (unit, p_x, zero, zero, zero, zero, zero, zero, p_y, zero)
        order = [0, 1, 2, 3, 4, 8]
    order += [9] * with_bias
    axes = [axis for axis in terms if axis in shown]
    used = [k for k in order if any(terms[axis][k].any() for axis in axes)]
    parts: list[tuple[Array, list[Array]]] = []
    own: dict[str, float] = {}
    for axis in axes:
        measured = shown[axis]
        columns = [terms[axis][k] for k in used]
        alone = [column for column in columns if column.any()]
        scale = _spread(measured, alone, motion) if scales is None else scales[axis]
        if scale is None:
            return None
        own[axis] = scale
        parts.append((measured / scale, [column / scale for column in columns]))
    return _Equations([names[k] for k in used], parts, own)


def _spread(measured: Array, columns: list[Array], motion: _Motion) -> float | None:
    """Standard deviation of what a regression of one axis leaves."""
    rows = motion.use & np.isfinite(measured + sum(columns))
    if rows.sum() * motion.dt < _LEAST_BLOCKS * BLOCK:
        return None
    table = np.stack([column[rows] for column in columns], axis=1)
    rest = measured[rows] - table @ np.linalg.lstsq(table, measured[rows], rcond=None)[0]
    return float(rest.std()) or 1.0


def _solve(parts: list[tuple[Array, list[Array]]], motion: _Motion) -> list[Estimate] | None:
    """Least squares over several equations with common unknowns, with intervals by blocks."""
    rows = motion.use.copy()
    for measured, columns in parts:
        rows &= np.isfinite(measured + sum(columns))
    places = np.flatnonzero(rows)
    if len(places) * motion.dt < _LEAST_BLOCKS * BLOCK:
        return None
    tables = [np.stack([column[rows] for column in columns], axis=1) for _, columns in parts]
    values = [measured[rows] for measured, _ in parts]
    table, value = np.concatenate(tables), np.concatenate(values)
    normal = table.T @ table
    size = np.sqrt(np.diag(normal))
    if not (size > 0.0).all() or np.linalg.cond(normal / np.outer(size, size)) > 1e8:
        return None
    inverse = np.linalg.inv(normal)
    answer = inverse @ (table.T @ value)
    block = (places * motion.dt / BLOCK).astype(int)
    labels, index = np.unique(block, return_inverse=True)
    scores = np.zeros((len(labels), len(answer)))
    for part, told in zip(tables, values, strict=True):
        np.add.at(scores, index, part * (told - part @ answer)[:, None])
    count = len(labels)
    meat = scores.T @ scores * count / max(count - len(answer), 1)
    deviation = np.sqrt(np.diag(inverse @ meat @ inverse))
    quantile = _quantile(count - len(answer) + 1)
    return [Estimate(float(v), quantile * float(d)) for v, d in zip(answer, deviation, strict=True)]


def _quantile(count: int) -> float:
    """Quantile of Student's distribution for a 95 % interval from a number of blocks."""
    from scipy.special import stdtrit

    return float(stdtrit(max(count - 1, 1), 0.975))


_BANK = 0.3
"""Frequency in Hz up to which the bank of a road changes under a car."""
_MOVING: m_s = 0.5
_PATH: s = 0.5
"""Time over which the speed along a path is averaged."""
_LEAST_ROWS = 40
_BLOCKS = 10
"""Parts of a drive whose wheel radii are compared for an interval."""
_QUANTILE = 2.262
"""Half width of a 95 % interval from these parts, in standard deviations."""


def local_axes(where: str, used: Mapping[str, Channel]) -> tuple[dict[str, Channel], str]:
    """Positions to the east and north of the first one, from latitude and longitude in degrees."""
    t, latitude = used["latitude"].t, used["latitude"].values
    longitude = np.interp(t, used["longitude"].t, used["longitude"].values)
    height = np.zeros(t.shape)
    if "height" in used:
        height = np.interp(t, used["height"].t, used["height"].values)
    if np.abs(latitude).max() > 90.0 or np.abs(longitude).max() > 360.0:
        raise InvalidValue(
            f"{where}: latitude reaches {np.abs(latitude).max():.6g} and longitude "
            f"{np.abs(longitude).max():.6g} degrees; they must be within 90 and 360 degrees"
        )
    origin = Origin(float(latitude[0]), float(longitude[0]), float(height[0]))
    place = Place(latitude, longitude, height)  # type: ignore[arg-type]
    x, y, _ = (np.asarray(axis, dtype=float) for axis in position_in_world(origin, place))
    text = f"metres to the east and north of latitude {origin.latitude:.7f}, longitude "
    text += f"{origin.longitude:.7f} degrees (WGS 84)"
    return {name: Channel(t, v, "m", "GNSS") for name, v in (("x", x), ("y", y))}, text


def road_bank(where: str, rows: Mapping[str, Array], dt: s) -> tuple[Array, str]:
    """Bank of the road in rad, positive where its left side is higher, and a text about it.

    Accelerometers show the reaction to gravity: a_y = v_y' + v_x omega + g sin(bank).
    """
    missing = [name for name in ("a_y", "v_x", "omega") if name not in rows]
    if missing:
        raise InvalidValue(f"{where}: the bank of the road follows from {listed(missing)} as well")
    aside = np.gradient(rows["v_y"], dt) if "v_y" in rows else 0.0
    share = (rows["a_y"] - rows["v_x"] * rows["omega"] - aside) / GRAVITY
    bank = np.arcsin(np.clip(low_pass(share, _BANK, dt), -1.0, 1.0))
    most = np.degrees(np.nanmax(np.abs(bank)))
    return bank, f"from a_y and v_x times omega below {_BANK:g} Hz: up to {most:.3g} degrees"


def speed_of_wheels(rows: dict[str, Array], dt: s, radius: m | None) -> Iterator[Correction]:
    """Compare wheel speeds with the speed over ground, and add `v_x` where it is missing."""
    for kind in ("wheel_speed", "spin"):
        names = [n for n in rows if n == kind or n.removeprefix(f"{kind}_") in _WHEELS]
        if not names:
            continue
        wheels = ", ".join(names)
        turning = np.median(np.array([rows[name] for name in names]), axis=0)
        factor = radius if kind == "spin" else 1.0
        source = next((name for name in ("speed", "v_x") if name in rows), "")
        ground = np.abs(rows[source]) if source else None
        if not source and {"x", "y"} <= rows.keys():
            width = max(int(_PATH / dt), 1) | 1
            rates = [np.gradient(rows[axis], dt) for axis in ("x", "y")]
            means = (np.convolve(rate, np.ones(width) / width, "same") for rate in rates)
            source, ground = "x and y", np.hypot(*means)
        ratio = None if ground is None else _ratio(turning, ground)
        if ratio is not None:
            value, half = ratio
            label = "radius" if kind == "spin" else "speed over ground per wheel speed"
            unit = " m" if kind == "spin" else ""
            text = f"{label} {value:.4g} ({value - half:.4g} to {value + half:.4g}){unit}, slip "
            yield Correction(wheels, f"{text}included, by {source}", 0.0)
            factor = value if radius is None else factor
        # Positions with a heading tell both velocities, without slip.
        if "v_x" in rows or factor is None or _has_pose(rows):
            continue
        rows["v_x"] = factor * turning
        yield Correction(
            "v_x", f"not in the log: {factor:.4g} times {wheels}, with their slip", 1.0
        )


_WHEELS = ("fl", "fr", "rl", "rr")


def _has_pose(rows: Mapping[str, Array]) -> bool:
    return {"x", "y", "yaw"} <= rows.keys()


def _ratio(turning: Array, ground: Array) -> tuple[float, float] | None:
    """Speed over ground per wheel speed of a fast vehicle, and half of its 95 % interval."""
    least = max(_MOVING, 0.3 * float(np.nanmax(np.abs(ground), initial=0.0)))
    with np.errstate(invalid="ignore"):
        fast = (np.abs(ground) > least) & (np.abs(turning) > 0.0)
    if fast.sum() < _LEAST_ROWS:
        return None
    ratios = np.abs(ground[fast] / turning[fast])
    # The scatter of parts, since slip lasts; medians, since wheels lock and spin.
    parts = [float(np.median(part)) for part in np.array_split(ratios, _BLOCKS)]
    half = _QUANTILE * float(np.std(parts, ddof=1)) / _BLOCKS**0.5
    return float(np.median(ratios)), half


def missing_channels(rows: dict[str, Array], dt: s, antenna: tuple[m, m]) -> Iterator[Correction]:
    """Move positions from the antenna to the reference point, and add what follows from others."""
    new = "not in the log: "
    if "x" in rows and any(antenna):
        ahead, left = antenna
        if "yaw" in rows:
            c, sn = np.cos(rows["yaw"]), np.sin(rows["yaw"])
            rows["x"] = rows["x"] - c * ahead + sn * left
            rows["y"] = rows["y"] - sn * ahead - c * left
            text = f"moved from the antenna at ({ahead:g}, {left:g}) m to the reference point"
            yield Correction("x, y", text)
        else:
            text = f"not moved from the antenna at ({ahead:g}, {left:g}) m, as yaw is unknown"
            yield Correction("x, y", text, 0.0)
    if "yaw" in rows and "omega" not in rows:
        rows["omega"] = np.gradient(rows["yaw"], dt)
        yield Correction("omega", f"{new}the rate of yaw")
    if {"x", "y"} <= rows.keys():
        x, y = (np.gradient(rows[axis], dt) for axis in ("x", "y"))
        if _has_pose(rows):
            c, sn = np.cos(rows["yaw"]), np.sin(rows["yaw"])
            made = {"v_x": c * x + sn * y, "v_y": c * y - sn * x}
            known = {*rows, *(["v_y"] if "sideslip" in rows else [])}
            added = [name for name in made if name not in known]
            rows |= {name: made[name] for name in added}
            if added:
                yield Correction(", ".join(added), f"{new}from the rates of x and y and yaw", 1.0)
        elif "latitude" in rows and "course" not in rows:
            course = np.where(np.hypot(x, y) > 2.0 * _MOVING, np.arctan2(y, x), np.nan)
            known = np.isfinite(course)
            course[known] = np.unwrap(course[known])
            rows["course"] = course
            yield Correction("course", f"{new}from the rates of x and y; yaw plus sideslip")
    if "v_x" not in rows and "speed" in rows:
        speed = rows["speed"]
        if "sideslip" in rows:
            rows["v_x"], text = speed * np.cos(rows["sideslip"]), "from speed and sideslip"
        elif "v_y" in rows:
            rows["v_x"] = np.sqrt(np.maximum(speed**2 - rows["v_y"] ** 2, 0.0))
            text = "from speed and v_y"
        else:
            rows["v_x"] = speed.copy()
            text = "the speed, which is larger by 1.5 % at a sideslip of 10 degrees"
        yield Correction("v_x", new + text)
    if "v_y" not in rows and {"v_x", "sideslip"} <= rows.keys():
        rows["v_y"] = rows["v_x"] * np.tan(rows["sideslip"])
        yield Correction("v_y", f"{new}from v_x and sideslip")
