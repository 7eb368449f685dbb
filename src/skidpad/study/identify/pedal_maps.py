"""Acceleration, brake and steering maps from logs, in the format that Autoware reads.

`raw_vehicle_cmd_converter` and the ACTUATION models of Autoware's planning simulator read three
tables: acceleration in m/s² over the throttle (rows) and the speed in m/s (columns), the same over
the brake pedal, and the rate of the tyre angle in rad/s over the steering command (rows) and the
tyre angle in rad (columns). A file starts with the line `default` and the column coordinates; each
further line is a row coordinate and its values. Between the cells the readers interpolate linearly
in both directions, and they search rows by value: every column has to rise with the throttle and
with the steering command, and to fall with the brake pedal.

A map is therefore fitted as what it is, a function that is linear between its cells: the values of
the cells minimise the squared errors of all samples, with the slope towards the next row as a
variable that has a sign, which makes the columns monotone. Small weights on the second differences
fill cells without samples smoothly; such cells are marked. Samples whose residuals are large count
less (Huber).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from ...core.arrays import Array
from ...core.checks import increasing, positive
from ...core.files import brief_repr, path_of, replacing
from ...errors import InvalidValue
from ...units import m_s, rad, s
from ...vehicles.command_driven.parameters import Table
from ..logs.cleaning import even_times, samples_of, smoothed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..logs.preparation import Prepared

G = 9.81
"""Gravity in m/s²."""
LEAST_SLOPE = 1e-3
"""Least change between rows of a map, in the unit of its values: readers cannot search rows whose
values are equal."""
WEAK = 1e-3
"""Weight of the smoothness of a map, as a share of the weight of the samples of a usual cell."""
FEWEST = 5
"""Samples near a cell below which the cell counts as filled."""
PRESSED = 0.02
"""Pedal position above which a pedal counts as pressed."""
WAIT: s = 0.3
"""Time for which a pedal must have rested before a sample."""
MOVED = 0.03
"""Change of a pedal within `WAIT` up to which it counts as resting."""
LONGEST: s = 0.6
"""Longest delay that is searched."""
CORNERING = 2.0
"""Lateral acceleration v_x omega in m/s² above which samples are left out: turning wheels brake."""


@dataclass(frozen=True)
class PedalMap:
    """A map with the number of samples behind each of its cells."""

    rows: Array
    """Row coordinates: pedal position or steering command, (r,)."""
    columns: Array
    """Column coordinates: speed in m/s, or tyre angle in rad, (c,)."""
    values: Array
    """Acceleration in m/s², or rate of the tyre angle in rad/s, (r, c)."""
    coverage: NDArray[np.intp]
    """Samples that are closer to this cell than to any other, (r, c)."""
    filled: NDArray[np.bool_]
    """Cells without samples, whose values are interpolated or extrapolated, (r, c)."""
    latency: s
    """Delay in s of the acceleration or the steering rate behind the command, taken out."""
    error: float
    """Root mean square of the residuals of the samples, in the unit of the values."""
    left_out: Mapping[str, int]
    """Samples not used, by reason."""
    row_name: str
    column_name: str
    value_name: str

    __repr__ = brief_repr

    @property
    def table(self) -> Table:
        """The map as the table that the models read."""
        lines = tuple(tuple(line) for line in self.values.tolist())
        return Table(tuple(self.rows.tolist()), tuple(self.columns.tolist()), lines)

    def __str__(self) -> str:
        """Coverage as a table of text, with `*` at the cells that are filled."""
        head = ["", *(f"{v:.4g}" for v in self.columns)]
        lines = [head]
        for row, counts, filled in zip(self.rows, self.coverage, self.filled, strict=True):
            cells = (
                f"{int(n)}{'*' if empty else ''}" for n, empty in zip(counts, filled, strict=True)
            )
            lines.append([f"{row:.4g}", *cells])
        width = max(len(cell) for line in lines for cell in line)
        text = "\n".join("  ".join(cell.rjust(width) for cell in line) for line in lines)
        return f"samples by {self.row_name} (rows) and {self.column_name} (columns)\n{text}"


@dataclass(frozen=True)
class PedalMaps:
    """Maps of a vehicle for Autoware; None where the logs have no channel for one."""

    acceleration: PedalMap | None
    brake: PedalMap | None
    steering: PedalMap | None
    notes: tuple[str, ...] = ()
    """Why there is no map for a channel."""

    __repr__ = brief_repr

    @property
    def maps(self) -> dict[str, PedalMap]:
        """The maps that there are, by the names of their files without suffix."""
        maps = {"accel_map": self.acceleration, "brake_map": self.brake, "steer_map": self.steering}
        return {name: one for name, one in maps.items() if one is not None}

    @property
    def coverage(self) -> str:
        """Samples behind each cell of each map, as text."""
        return "\n\n".join(
            f"{name}: latency {one.latency:.3g} s, error {one.error:.3g}\n{one}"
            for name, one in self.maps.items()
        )

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write `accel_map.csv`, `brake_map.csv` and `steer_map.csv` into a folder, which is made
        if needed; returns the paths."""
        place = path_of(folder)
        place.mkdir(parents=True, exist_ok=True)
        paths: list[Path] = []
        for name, one in self.maps.items():
            lines = [["default", *map(_written, one.columns)]]
            for row, values in zip(one.rows, one.values, strict=True):
                lines.append([_written(row), *map(_written, values)])
            text = "".join(",".join(line) + "\n" for line in lines)
            path = place / f"{name}.csv"
            with replacing(path) as temporary:
                temporary.write_text(text, newline="\n")
            paths.append(path)
        return paths

    def plot(
        self,
        path: Any = None,
        *,
        title: str = "Maps from logs",
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Figure of the maps, each next to the number of samples in its cells.

        Args:
            path: PNG, SVG or PDF to write, by its suffix.
            title: title of the figure.
            size: width and height in inches.
        """
        from ...view.plots.identification import map_figure

        titles = {"accel_map": "Acceleration", "brake_map": "Brake", "steer_map": "Steering"}
        maps = {titles[name]: one for name, one in self.maps.items()}
        return map_figure(maps, path=path, title=title, size=size)


def _written(value: float) -> str:
    return f"{value:.6g}"


def pedal_maps(
    drives: Prepared | Iterable[Prepared],
    *,
    velocities: Sequence[m_s] | None = None,
    pedals: Sequence[float] | None = None,
    commands: Sequence[float] | None = None,
    angles: Sequence[rad] | None = None,
    window: s = 0.2,
    v_min: m_s = 0.3,
) -> PedalMaps:
    """Maps for Autoware from prepared logs of a vehicle.

    Channels: `v_x`; `throttle`, `brake` (0 to 1) for the maps of the pedals; `u_steer` (command, in
    its own unit) and `steer` for the map of the steering. Optional: `a_x` (rate of the speed along
    the road, without gravity; else it is the derivative of v_x), `pitch` (positive nose down, ISO
    8855) or `slope` (angle of the road, positive uphill), which takes gravity out of the
    acceleration, and `omega`, which leaves out corners.

    Args:
        drives: one prepared log or several.
        velocities: columns of the pedal maps in m/s; by default about ten over the speeds driven.
        pedals: rows of the pedal maps; by default every 0.1 up to the largest position.
        commands: rows of the steering map; by default nine over the commands given.
        angles: columns of the steering map in rad; by default nine over the angles reached.
        window: length in s of the parabolas that smooth and differentiate the channels.
        v_min: speed in m/s below which samples are left out.
    """
    alone = hasattr(drives, "channels")
    several: list[Any] = [drives] if alone else list(drives)  # pyright: ignore[reportArgumentType]
    if not several:
        raise InvalidValue("pedal maps need at least one log")
    names = {name for drive in several for name in drive.channels}
    pairs = {"throttle": ("v_x",), "brake": ("v_x",), "u_steer": ("steer",)}
    there = [name for name, needs in pairs.items() if names.issuperset((name, *needs))]
    if not there:
        raise InvalidValue(
            "pedal maps need v_x with throttle or brake, or u_steer with steer; the logs have "
            f"{', '.join(sorted(names)) or 'no channels'}"
        )
    maps, notes = dict[str, PedalMap](), list[str]()
    for name in there:
        used = [drive for drive in several if {name, *pairs[name]} <= set(drive.channels)]
        pedal = name != "u_steer"
        if pedal and not any((np.asarray(one.channels[name]) > PRESSED).any() for one in used):
            notes.append(f"no map of {name}: the pedal is never pressed")
            continue
        lowest = positive("v_min", v_min, "m/s")
        parts = [_samples(drive, name, window, lowest) for drive in used]
        delay = _latency(parts)
        samples, left_out = _shifted(parts, delay, resting=pedal)
        if samples.rows.size < FEWEST:
            reasons = ", ".join(f"{n} samples: {reason}" for reason, n in left_out.items())
            raise InvalidValue(f"no samples of {name} are left for a map ({reasons})")
        if pedal:
            top = max(float(samples.rows.max()), 0.1)
            usual = np.round(np.arange(0.0, np.ceil(top * 10.0 - 1e-6) + 0.5) * 0.1, 1)
            rows = increasing("pedals", usual if pedals is None else pedals)
            columns = _velocities(velocities, samples.columns)
            texts = (f"{name} pedal", "speed [m/s]", "acceleration [m/s²]")
        else:
            rows = _grid("commands", commands, samples.rows, 9)
            columns = _grid("angles", angles, samples.columns, 9)
            texts = ("steering command", "tyre angle [rad]", "rate of the tyre angle [rad/s]")
        sign = -1.0 if name == "brake" else 1.0
        maps[name] = _fitted(samples, rows, columns, sign, delay, left_out, texts)
    steering = maps.get("u_steer")
    return PedalMaps(maps.get("throttle"), maps.get("brake"), steering, tuple(notes))


class _Samples(NamedTuple):
    """Samples of one log: command, column coordinate and value, (n,); NaN where left out."""

    rows: Array
    columns: Array
    values: Array
    dt: float
    left_out: Mapping[str, int]


def _samples(drive: Any, name: str, window: float, v_min: float) -> _Samples:
    """Acceleration on a level road over pedal position and speed, or for `u_steer` the rate of the
    tyre angle over steering command and tyre angle."""
    t, dt = even_times(drive.t)
    channels = {key: np.asarray(values, dtype=float) for key, values in drive.channels.items()}
    count, command = samples_of(window, dt), channels[name]
    if name == "u_steer":
        steer, rate = (smoothed(channels["steer"], count, dt, order) for order in (0, 1))
        reasons = {"a channel is unknown": ~np.isfinite(command + steer)}
        return _without(reasons, _Samples(command, steer, rate, dt, {}))
    smooth = {
        key: smoothed(channels[key], count, dt)
        for key in ("v_x", "a_x", "slope", "pitch", "omega")
        if key in channels
    }
    v_x = smooth["v_x"]
    a_x = smooth["a_x"] if "a_x" in smooth else smoothed(channels["v_x"], count, dt, 1)
    if "slope" in smooth:
        a_x = a_x + G * np.sin(smooth["slope"])
    elif "pitch" in smooth:
        a_x = a_x - G * np.sin(smooth["pitch"])
    other = channels.get("brake" if name == "throttle" else "throttle", np.zeros(len(t)))
    # A pedal acts late: it has to be released for a while before the sample.
    length = round((WAIT + LONGEST) / dt) + 1
    touched = np.convolve(other > PRESSED, np.ones(length))[: len(t)] > 0.5
    cornering = np.abs(v_x * smooth.get("omega", np.zeros(len(t))))
    reasons = {
        "a channel is unknown": ~np.isfinite(a_x + command + v_x),
        f"slower than {v_min:g} m/s": v_x < v_min,
        "the other pedal is pressed": touched,
        f"more than {CORNERING:g} m/s² in a corner": cornering > CORNERING,
    }
    return _without(reasons, _Samples(command, v_x, a_x, dt, {}))


def _without(reasons: Mapping[str, Any], samples: _Samples) -> _Samples:
    """Samples with NaN as value where a reason holds, and the number for each reason."""
    values, left_out = samples.values.copy(), dict[str, int]()
    for reason, holds in reasons.items():
        left_out[reason] = int((holds & np.isfinite(values)).sum())
        values[holds] = np.nan
    left_out["a channel is unknown"] = int(reasons["a channel is unknown"].sum())
    return samples._replace(values=values, left_out=left_out)


def _shifted(
    parts: Sequence[_Samples], delay: float, *, resting: bool
) -> tuple[_Samples, dict[str, int]]:
    """Join the samples of all logs, each with the command given `delay` s before.

    Samples without a value are dropped and, if `resting`, those whose pedal moved shortly before.
    """
    found: list[tuple[Array, Array, Array]] = []
    left_out: dict[str, int] = {}
    for part in parts:
        late, wait = round(delay / part.dt), round(WAIT / part.dt)
        rows = np.concatenate([np.full(late, np.nan), part.rows[: len(part.rows) - late]])
        used = np.isfinite(part.values) & np.isfinite(rows)
        counts = dict(part.left_out)
        if resting:
            windows = np.lib.stride_tricks.sliding_window_view(rows, wait + 1)
            still = np.full(len(rows), False)
            still[wait:] = windows.max(axis=1) - windows.min(axis=1) <= MOVED
            counts["the pedal moved shortly before"] = int((used & ~still).sum())
            used &= still
        found.append((rows[used], part.columns[used], part.values[used]))
        for reason, n in counts.items():
            left_out[reason] = left_out.get(reason, 0) + n
    rows, columns, values = (np.concatenate(column) for column in zip(*found, strict=True))
    return _Samples(rows, columns, values, parts[0].dt, {}), left_out


def _latency(parts: Sequence[_Samples]) -> float:
    """Delay in s with which commands explain the values best: that with the smallest variance of
    the values within the cells of a coarse grid."""
    step = max(part.dt for part in parts)
    delays = np.arange(0.0, LONGEST + 0.5 * step, step)
    scores: list[float] = []
    for delay in delays:
        samples, _ = _shifted(parts, float(delay), resting=False)
        if samples.rows.size < FEWEST:
            return 0.0
        place = np.zeros(samples.rows.size, dtype=int)
        for values, count in ((samples.rows, 20), (samples.columns, 10)):
            low, high = values.min(), values.max()
            share = (values - low) / max(high - low, 1e-12)
            place = place * count + np.minimum((share * count).astype(int), count - 1)
        n = np.bincount(place)
        total, squares = (np.bincount(place, samples.values**k) for k in (1, 2))
        within = squares - total**2 / np.maximum(n, 1)
        scores.append(float(within.sum() / samples.rows.size))
    return float(delays[int(np.argmin(scores))])


def _grid(name: str, given: Sequence[float] | None, values: Array, count: int) -> Array:
    """Coordinates as given, or even ones over the values."""
    if given is not None:
        return increasing(name, given)
    low, high = float(values.min()), float(values.max())
    return np.linspace(low, max(high, low + 1e-3), count)


def _velocities(given: Sequence[float] | None, speeds: Array) -> Array:
    """Speeds as given, or about ten round ones from 0 on."""
    if given is not None:
        return increasing("velocities", given, "m/s")
    highest = float(speeds.max())
    steps = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0)
    step = next((size for size in steps if highest / size <= 11.0), steps[-1])
    return np.arange(max(2.0, np.ceil(highest / step - 1e-9) + 1.0)) * step


def _fitted(
    samples: _Samples,
    rows: Array,
    columns: Array,
    sign: float,
    delay: float,
    left_out: dict[str, int],
    texts: tuple[str, str, str],
) -> PedalMap:
    """The map that is closest to the samples; `sign` is that of the change from row to row."""
    if len(rows) < 2 or len(columns) < 2:
        raise InvalidValue("a map needs at least 2 rows and 2 columns")
    inside = (samples.rows >= rows[0]) & (samples.rows <= rows[-1])
    inside &= (samples.columns >= columns[0]) & (samples.columns <= columns[-1])
    left_out = {**left_out, "outside the map": int((~inside).sum())}
    i, down = _place(rows, samples.rows[inside])
    k, right = _place(columns, samples.columns[inside])
    values, width, size = samples.values[inside], len(columns), len(rows) * len(columns)
    corners = [((i + a) * width + k + b) for a in (0, 1) for b in (0, 1)]
    weights = [(down if a else 1.0 - down) * (right if b else 1.0 - right) for a in (0, 1) for b in (0, 1)]  # fmt: skip # noqa: E501

    closest = (i + (down > 0.5)) * width + k + (right > 0.5)
    coverage = np.bincount(closest, minlength=size).reshape(len(rows), width)
    supported = np.zeros(size)
    for corner, weight in zip(corners, weights, strict=True):
        supported += np.bincount(corner, weight, minlength=size)
    filled = coverage < FEWEST

    # Unknown are the values of the first row and the steps to the rows after it.
    steps = np.tril(np.ones((len(rows), len(rows))))
    steps[:, 1:] *= sign
    to_values = np.kron(steps, np.eye(width))
    low = np.concatenate([np.full(width, -np.inf), np.full(size - width, LEAST_SLOPE)])
    rough = _roughness(rows, columns)
    usual = max(float(np.median(supported[supported > 0.0])), 1.0)
    cells, left, trust = np.zeros(size), values, np.ones(len(values))
    for _ in range(4):
        normal = WEAK * usual * rough
        target = np.zeros(size)
        for a, weight_a in zip(corners, weights, strict=True):
            target += np.bincount(a, trust * weight_a * values, minlength=size)
            for b, weight_b in zip(corners, weights, strict=True):
                np.add.at(normal, (a, b), trust * weight_a * weight_b)
        root = np.linalg.cholesky(normal + 1e-9 * usual * np.eye(size))
        wanted = np.linalg.solve(root, target)
        cells = to_values @ lsq_linear(root.T @ to_values, wanted, (low, np.inf)).x
        left = values - sum(w * cells[c] for c, w in zip(corners, weights, strict=True))
        scale = max(1.4826 * float(np.median(np.abs(left))), 1e-9)
        trust = 1.0 / np.maximum(1.0, np.abs(left) / (2.0 * scale))
    error = float(np.sqrt(np.mean(left**2)))
    shape = cells.reshape(len(rows), width)
    return PedalMap(rows, columns, shape, coverage, filled, delay, error, left_out, *texts)


def _place(coordinates: Array, values: Array) -> tuple[Any, Array]:
    """Index of the interval of each value and its share within the interval."""
    index = np.clip(np.searchsorted(coordinates, values, side="right") - 1, 0, len(coordinates) - 2)
    start, end = coordinates[index], coordinates[index + 1]
    return index, (values - start) / (end - start)


def _roughness(rows: Array, columns: Array) -> Array:
    """Matrix of the squared second differences of a map along its rows and columns, with a tenth
    of the squared first differences along the rows."""

    def second(at: Array) -> Array:
        matrix = np.zeros((max(len(at) - 2, 0), len(at)))
        mean = (at[-1] - at[0]) / (len(at) - 1)
        for k in range(len(matrix)):
            before, after = (at[k + 1] - at[k]) / mean, (at[k + 2] - at[k + 1]) / mean
            matrix[k, k : k + 3] = 1.0 / before, -1.0 / before - 1.0 / after, 1.0 / after
        return matrix

    down = np.kron(second(rows), np.eye(len(columns)))
    across = np.kron(np.eye(len(rows)), second(columns))
    flat = np.kron(np.eye(len(rows)), np.diff(np.eye(len(columns)), axis=0))
    return down.T @ down + across.T @ across + 0.1 * flat.T @ flat
