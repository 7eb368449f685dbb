"""Figures of handling: the Bode diagram of steering and the phase portrait of a vehicle.

The Bode diagram uses the exact linearisation of the vehicle's own equations. States that do not
affect the outputs, such as the position, are removed, so that the system is small and well
conditioned.

The phase portrait shows trajectories in a plane of two states: a lateral quantity, `v_y` or
`beta`, and another state, usually the yaw rate `omega`. Speed and steering angle are held; the
other states are given. A point is the vehicle put into that motion. The rates are those of the
compiled derivative (`Plane`). `fixed_points` are its equilibria; `streams` are evenly spaced
streamlines, integrated over the distance in the picture rather than over time, so that they are
equally smooth for fast and slow motion. A line ends where it comes close to another, after
B. Jobard and W. Lefer, Creating Evenly-Spaced Streamlines of Arbitrary Density (1997), with cells
in place of distances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...compile import pipeline
from ...compile.cpu import CpuMap
from ...core import record
from ...core.arrays import Array
from ...core.body import Demand, Velocity, body_of, own_fields
from ...core.checks import finite, floats, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.trim import straight
from . import style
from .style import ORANGE, FilePath, Size, axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


LATERAL = ("v_y", "beta")


class Plane:
    """Motion of a vehicle in the plane of two of its quantities, in SI units.

    Args:
        vehicle: with a derivative, and states `v_x`, `v_y` or `v`, `beta`.
        names: the two quantities: states, and `v_y` or `beta` whichever the state has.
        speed: held, in m/s: longitudinal speed if `v_y` is in the plane, speed of the centre of
            mass if `beta` is.
        steer: held, in rad: the state of that name, or the input if there is no such state.
        state, inputs: values of the other states and inputs; by default those of straight driving
            at the speed, with the wheel torques that hold it.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        names: tuple[str, str],
        *,
        speed: float,
        steer: float = 0.0,
        state: Mapping[str, float] | None = None,
        inputs: Mapping[str, float] | None = None,
    ) -> None:
        model = vehicle.model
        if not model.continuous:
            raise InvalidValue(
                f"{vehicle.name!r} is a discrete model: it has no derivative to draw"
            )
        speed, steer = positive("speed", speed, "m/s"), finite("steer", steer, "rad")
        self.vehicle, self.names, self.speed, self.steer = vehicle, names, speed, steer
        self._fields = _places(vehicle)
        self._check_names()
        self._set(state or {}, inputs or {})
        self._derivative = CpuMap(pipeline.derivative_program(vehicle), "float64", 1)

    def _check_names(self) -> None:
        first, second = self.names
        components, polar = ({"v_x", "v_y"}, {"v", "beta"})
        if not (components <= set(self._fields) or polar <= set(self._fields)):
            raise InvalidValue(
                f"{self.vehicle.name!r} has no lateral motion of its own: a phase portrait needs "
                f"the states v_x and v_y or v and beta; it has {', '.join(self._fields)}"
            )
        if any(name.startswith("tan_alpha") for name in self._fields):
            raise InvalidValue(
                f"{self.vehicle.name!r} has the slip of its tyres as states, which a plane of two "
                "others would hold: draw the car with slip=SteadySlip()"
            )
        known = {*LATERAL, *self._fields}
        for name in self.names:
            if name not in known:
                raise InvalidValue(record.unknown_name("the plane", name, sorted(known), "state"))
        if first == second or set(self.names) == set(LATERAL):
            raise InvalidValue(f"{first!r} and {second!r} do not span a plane")

    def _set(self, state: Mapping[str, float], inputs: Mapping[str, float]) -> None:
        model = self.vehicle.model
        x, u, _ = straight(self.vehicle, self.speed, inputs)
        states = record.names(model.State)
        held = {states[self._fields["steer"]]: self.steer} if "steer" in self._fields else {}
        driven = {"steer": self.steer} if "steer" in record.names(model.Input) else {}
        x = record.build(model.State, {**held, **state}, base=x)
        self._base = np.array(record.flatten(x), dtype=float)
        rows = (
            record.build(model.Input, {**driven, **inputs}, base=u),
            record.build(model.Disturbance),
            self.vehicle.params,
        )
        self._rest = [np.array(record.flatten(row), dtype=float).reshape(1, 1, -1) for row in rows]

    def states(self, points: Array) -> Array:
        """State vectors (n, nx) at points (n, 2) of the plane."""
        rows = np.tile(self._base, (len(points), 1))
        for name, values in zip(self.names, points.T, strict=True):
            if name == "beta" and "v_x" in self._fields:
                rows[:, self._fields["v_x"]] = self.speed * np.cos(values)
                rows[:, self._fields["v_y"]] = self.speed * np.sin(values)
            elif name == "v_y" and "v_y" not in self._fields:
                rows[:, self._fields["beta"]] = np.arctan2(values, self.speed)
                rows[:, self._fields["v"]] = np.hypot(values, self.speed)
            else:
                rows[:, self._fields[name]] = values
        settle = self.vehicle.model.settle
        if settle is not None:
            states = record.unflatten(self.vehicle.State, list(rows.T))
            settled = settle(states, self.vehicle.params)
            columns = [np.broadcast_to(c, (len(rows),)) for c in record.flatten(settled)]
            rows = np.column_stack(columns)
        return rows

    def rates(self, points: Array) -> Array:
        """Rates (n, 2) of the two quantities at points (n, 2)."""
        x = self.states(np.ascontiguousarray(points))
        rates = self._derivative.run([x[None], x[None], *self._rest], len(x))[0][0]
        return np.column_stack([self._rate(name, x, rates) for name in self.names])

    def _rate(self, name: str, x: Array, rates: Array) -> Array:
        at = self._fields
        if name == "beta" and "v_x" in at:
            v_x, v_y = x[:, at["v_x"]], x[:, at["v_y"]]
            across = v_x * rates[:, at["v_y"]] - v_y * rates[:, at["v_x"]]
            return across / self.speed**2
        if name == "v_y" and "v_y" not in at:
            # v_y = v sin(beta) with v_x = v cos(beta) held: v_y' = v_x beta' / cos²(beta).
            return self.speed * rates[:, at["beta"]] / np.cos(x[:, at["beta"]]) ** 2
        return rates[:, at[name]]

    def unit(self, name: str) -> str:
        if name in self._fields:
            return record.fields(self.vehicle.State)[self._fields[name]].unit.symbol
        return {"v_y": "m/s", "beta": "rad"}[name]


def _places(vehicle: Vehicle) -> dict[str, int]:
    """Indices of the states by name; states that are the body's velocity or steering angle also by
    the name of that quantity."""
    places = {name: k for k, name in enumerate(record.names(vehicle.State))}
    body, u, p = vehicle.model.body, record.build(vehicle.Input), vehicle.params
    if body is None:
        return places
    moving = own_fields(vehicle.State, lambda x: body.velocity(x, u, p))
    own = dict(zip(Velocity._fields, moving, strict=True))
    if (steer := body.steer) is not None:
        (own["steer"],) = own_fields(vehicle.State, lambda x: (steer(x, u, p),))
    return places | {name: places[field] for name, field in own.items() if field is not None}


Kind = Literal["stable", "saddle", "unstable"]
Field = Callable[[Array], Array]
"""Rates (n, 2) at points (n, 2)."""
GRID = 61
"""Grid points per axis for the search for sign changes."""
NEWTON_STEPS = 30
TOLERANCE = 1e-10
"""Convergence tolerance: the last Newton step, as a share of the range."""
_SAME = 1e-4
"""Distance below which two roots count as one, as a share of the range."""
_DIFFERENCE = 1e-6
"""Half step of the central differences, as a share of the range."""


class FixedPoint(NamedTuple):
    """Equilibrium: a point where both rates are zero."""

    at: Array
    """Position in the plane, (2,)."""
    jacobian: Array
    """Jacobian of the rates, (2, 2)."""
    kind: Kind

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of the Jacobian, in 1/s."""
        return np.linalg.eigvals(self.jacobian).astype(np.complex128)


def fixed_points(field: Field, low: Array, high: Array) -> list[FixedPoint]:
    """Fixed points in the rectangle between two corners, from left to right."""
    span = high - low
    points: list[FixedPoint] = []
    axes = [np.linspace(a, b, GRID) for a, b in zip(low, high, strict=True)]
    across, up = np.meshgrid(*axes, indexing="ij")
    rates = field(np.column_stack([across.ravel(), up.ravel()])).reshape(GRID, GRID, 2)
    corners = np.stack([rates[:-1, :-1], rates[1:, :-1], rates[:-1, 1:], rates[1:, 1:]])
    mixed = (corners.min(axis=0) <= 0.0) & (corners.max(axis=0) >= 0.0)
    i, j = np.nonzero(mixed.all(axis=-1))
    half = 0.5 * (high - low) / (GRID - 1)
    for start in np.column_stack([axes[0][i] + half[0], axes[1][j] + half[1]]):
        at = _newton(field, start, span)
        if at is None or ((at < low - 1e-9 * span) | (at > high + 1e-9 * span)).any():
            continue
        if all(np.abs((at - known.at) / span).max() > _SAME for known in points):
            jacobian = derivative(field, at, span)
            points.append(FixedPoint(at, jacobian, _kind(jacobian)))
    return sorted(points, key=lambda point: (float(point.at[0]), float(point.at[1])))


def _newton(field: Field, start: Array, span: Array) -> Array | None:
    at = start.copy()
    for _ in range(NEWTON_STEPS):
        rate = field(at[None])[0]
        jacobian = derivative(field, at, span)
        if not np.isfinite(jacobian).all() or abs(np.linalg.det(jacobian)) < 1e-300:
            return None
        step = np.linalg.solve(jacobian, rate)
        # No further than a tenth of the picture at once: the field may turn sharply.
        step *= min(1.0, 0.1 / max(float(np.abs(step / span).max()), 1e-300))
        at = at - step
        if np.abs(step / span).max() < TOLERANCE:
            return at
    return None


def derivative(field: Field, at: Array, span: Array) -> Array:
    """Jacobian (2, 2) of the field by central differences."""
    h = _DIFFERENCE * span
    ends = at + np.array([[h[0], 0.0], [-h[0], 0.0], [0.0, h[1]], [0.0, -h[1]]])
    rates = field(ends)
    return np.column_stack([(rates[0] - rates[1]) / (2 * h[0]), (rates[2] - rates[3]) / (2 * h[1])])


def _kind(jacobian: Array) -> Kind:
    if np.linalg.det(jacobian) < 0.0:
        return "saddle"
    return "stable" if np.trace(jacobian) < 0.0 else "unstable"


CELLS = 51
"""Cells per axis; a line reserves its cells and their neighbours."""
STEP = 0.005
"""Integration step as a share of the picture."""
LEAST_LENGTH = 0.15
"""Length below which lines are left out, as a share of the picture."""
MOST_STEPS = 600
_NUDGE = 1e-3
"""Distance from a saddle at which its separatrix starts, as a share of the picture."""


class Streams(NamedTuple):
    """Streamlines and the positions of their arrows."""

    lines: list[Array]
    """Lines (n, 2) in the direction of the motion."""
    heads: Array
    """Midpoints of the lines, (lines, 2)."""
    directions: Array
    """Directions of motion at the midpoints, (lines, 2)."""


def streams(field: Field, low: Array, high: Array) -> Streams:
    """Streamlines that fill the rectangle between two corners."""
    span = high - low

    def unit_field(points: Array) -> Array:
        return field(low + span * points) / span

    seeds = _seeds()
    forward, backward = (follow(unit_field, seeds, sign) for sign in (1.0, -1.0))
    lines = _spread(seeds, forward, backward)
    middles = [(line[len(line) // 2], line[len(line) // 2 - 1]) for line in lines]
    heads, before = np.array(middles).reshape(-1, 2, 2).transpose(1, 0, 2)
    drawn = [low + span * line for line in lines]
    return Streams(drawn, low + span * heads, span * (heads - before))


def follow(field: Field, starts: Array, sign: float) -> list[Array]:
    """Streamlines from points (n, 2) of the unit square along the field, or against it for sign -1.

    Each ends where it leaves the square, or where the field vanishes or reverses.
    """
    at, count = starts.copy(), len(starts)
    paths = np.full((MOST_STEPS + 1, count, 2), np.nan)
    paths[0] = at
    alive = np.ones(count, bool)
    last = _direction(field, at, sign)
    for step in range(1, MOST_STEPS + 1):
        rows = np.flatnonzero(alive)
        if not rows.size:
            break
        moved, direction = _runge_kutta_step(field, at[rows], sign)
        inside = ((moved >= 0.0) & (moved <= 1.0)).all(axis=1)
        onwards = (direction * last[rows]).sum(axis=1) > 0.0
        good = inside & onwards & np.isfinite(moved).all(axis=1)
        alive[rows[~good]] = False
        rows, moved, direction = rows[good], moved[good], direction[good]
        at[rows], last[rows] = moved, direction
        paths[step, rows] = moved
    return [path[np.isfinite(path[:, 0])] for path in paths.transpose(1, 0, 2)]


def boundary(field: Field, point: FixedPoint, low: Array, high: Array) -> list[Array]:
    """Separatrix of a saddle: on one side of it the car recovers, on the other it does not.

    It is integrated backwards in time from next to the saddle, along the stable direction.
    """
    if point.kind != "saddle":
        return []
    span = high - low
    values, vectors = np.linalg.eig(point.jacobian)
    inwards = np.real(vectors[:, int(np.argmin(np.real(values)))]) / span
    inwards /= np.hypot(*inwards)
    at = (point.at - low) / span
    starts = np.array([at + _NUDGE * inwards, at - _NUDGE * inwards])
    lines = follow(lambda p: field(low + span * p) / span, starts, -1.0)
    return [low + span * np.vstack([at, line]) for line in lines]


def _direction(field: Field, points: Array, sign: float) -> Array:
    rates = field(points)
    length = np.hypot(rates[:, 0], rates[:, 1])
    # A point where nothing moves gets no direction, and its line ends.
    return sign * rates / np.where(length > 0.0, length, np.inf)[:, None]


def _runge_kutta_step(field: Field, at: Array, sign: float) -> tuple[Array, Array]:
    """Classical Runge-Kutta step of length `STEP`, and the direction at its start."""
    k1 = _direction(field, at, sign)
    k2 = _direction(field, at + 0.5 * STEP * k1, sign)
    k3 = _direction(field, at + 0.5 * STEP * k2, sign)
    k4 = _direction(field, at + STEP * k3, sign)
    return at + (STEP / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4), k1


def _seeds() -> Array:
    """Centres of every third cell, from the rim inwards, so that long lines come first."""
    middle = (np.arange(1, CELLS, 3) + 0.5) / CELLS
    grid = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    rim = np.minimum(grid, 1.0 - grid).min(axis=1)
    return grid[np.argsort(rim, kind="stable")]


def _spread(seeds: Array, forward: Sequence[Array], backward: Sequence[Array]) -> list[Array]:
    taken = np.zeros((CELLS, CELLS), bool)
    lines: list[Array] = []
    for k, seed in enumerate(seeds):
        if taken[_cell(seed[None])[0]]:
            continue
        ahead, behind = (_free(path[k], taken) for path in (forward, backward))
        line = np.concatenate([behind[:0:-1], ahead])
        if len(line) * STEP < LEAST_LENGTH:
            continue
        for i, j in _cell(line):
            taken[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = True
        lines.append(line)
    return lines


def _free(path: Array, taken: Array) -> Array:
    """Part of a line before it enters a reserved cell."""
    hits = [k for k, cell in enumerate(_cell(path)) if taken[cell]]
    return path[: hits[0]] if hits else path


def _cell(points: Array) -> list[tuple[int, int]]:
    cells = np.clip((points * CELLS).astype(int), 0, CELLS - 1)
    return [(int(i), int(j)) for i, j in cells]


Range = tuple[float, float] | None
_MARKERS: dict[str, Any] = {
    "stable": {"marker": "o", "color": style.GREEN, "markeredgecolor": "white"},
    "saddle": {"marker": "x", "color": ORANGE},
    "unstable": {"marker": "o", "markerfacecolor": "white", "markeredgecolor": ORANGE},
}
_LINE = "#7A9DB8"


def phase_portrait(
    vehicle: Vehicle,
    x: str = "beta",
    y: str = "omega",
    *,
    speed: float,
    steer: float = 0.0,
    state: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    x_range: Range = None,
    y_range: Range = None,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Phase portrait of a vehicle: motion from any point of a plane, with speed and steering held.

    `x` is "beta" or "v_y", `y` usually "omega"; other states need a range. `speed` in m/s,
    `steer` in rad, ranges in SI units. `state` and `inputs` are values of the other states and
    inputs. Equilibria are marked as stable, saddles or unstable; the separatrices through the
    saddles enclose the motions that recover without intervention.
    """
    style.check(path, backend, size)
    plane = Plane(vehicle, (x, y), speed=speed, steer=steer, state=state, inputs=inputs)
    ranges = [_range(plane, x, x_range), _range(plane, y, y_range)]
    low, high = np.array(ranges).T
    by = np.array([style.factor(plane.unit(name)) for name in plane.names])
    flow = streams(plane.rates, low, high)
    points = fixed_points(plane.rates, low, high)
    borders = [line for point in points for line in boundary(plane.rates, point, low, high)]
    with style.new_figure((5.6,), (4.6,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        axes.grid(False)
        axes.set(
            xlim=(by[0] * low[0], by[0] * high[0]),
            ylim=(by[1] * low[1], by[1] * high[1]),
            xlabel=axis_label(x, plane.unit(x)),
            ylabel=axis_label(y, plane.unit(y)),
        )
        from matplotlib.patches import FancyArrowPatch

        axes.plot(*_join_lines(flow.lines, by), color=_LINE, linewidth=1.0, zorder=2.0)
        # A patch, as in unequal axes a direction is known only when the figure is laid out.
        for head, direction in zip(flow.heads * by, flow.directions * by, strict=True):
            ends = tuple(head - direction), tuple(head)
            look: Any = {"color": _LINE, "linewidth": 0.0, "zorder": 2.5, "arrowstyle": "-|>"}
            head_size: Any = {"mutation_scale": 8.0, "shrinkA": 0.0, "shrinkB": 0.0}
            axes.add_patch(FancyArrowPatch(*ends, **look, **head_size))
        if borders:
            border = _join_lines(borders, by)
            axes.plot(*border, color=ORANGE, lw=1.8, label="stability boundary", zorder=3.0)
        _draw_points(axes, points, by)
        style.legend_above(axes)
        own = f"{vehicle.name} at {speed:g} m/s, steered by {math.degrees(steer):.3g}°"
        style.headings(figure, own if title is None else title)
    return style.write_figure(figure, path)


def _range(plane: Plane, name: str, limits: Range) -> tuple[float, float]:
    """The range given, or by default slip angles of 30° and the yaw rates that a car can reach."""
    if limits is None:
        most = {
            "beta": np.deg2rad(30.0),
            "v_y": 0.5 * plane.speed,
            "omega": max(0.5, 2.5 * 9.81 / plane.speed),
        }.get(name)
        if most is None:
            raise InvalidValue(f"no range of {name!r} is known: give x_range= or y_range=")
        return -float(most), float(most)
    low, high = limits
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidValue(f"range of {name} = {limits} must be two numbers, the lower one first")
    return float(low), float(high)


def _draw_points(axes: Axes, points: Sequence[FixedPoint], by: Array) -> None:
    for kind, look in _MARKERS.items():
        places = np.array([point.at for point in points if point.kind == kind]).reshape(-1, 2) * by
        if len(places):
            axes.plot(*places.T, ls="none", ms=8.0, mew=1.3, label=kind, zorder=4.0, **look)


def _join_lines(lines: Sequence[Array], by: Array) -> tuple[Array, Array]:
    """Many lines as one, separated by NaN."""
    broken = [np.vstack([line * by, [[np.nan, np.nan]]]) for line in lines]
    points = np.concatenate(broken)[:-1] if broken else np.empty((0, 2))
    return points[:, 0], points[:, 1]


Complex = NDArray[np.complex128]


class LinearSystem(NamedTuple):
    """Linearised system x' = A x + B u, y = C x + D u."""

    A: Array
    """(n, n)"""
    B: Array
    """(n,): single input."""
    C: Array
    """(outputs, n)"""
    D: Array
    """(outputs,)"""
    outputs: tuple[str, ...]

    def response(self, frequency: ArrayLike) -> Complex:
        """Complex amplitudes (outputs, n) per unit input, at frequencies (n,) in Hz."""
        s = 2j * np.pi * np.atleast_1d(np.asarray(frequency, dtype=float))
        systems = s[:, None, None] * np.eye(len(self.A)) - self.A
        states = np.linalg.solve(systems, np.broadcast_to(self.B, (len(s), len(self.B)))[..., None])
        return self.C @ states[..., 0].T + self.D[:, None]


class Response(NamedTuple):
    """Frequency response to steering, per rad of steering."""

    frequency: Array
    """Frequencies in Hz."""
    yaw_rate: Complex
    """Yaw rate in 1/s: rad/s per rad."""
    lateral_acceleration: Complex
    """Lateral acceleration in m/s² per rad."""


def steering_response(
    vehicle: Vehicle,
    speed: float,
    frequency: ArrayLike,
    *,
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
) -> Response:
    """Frequency response to steering when driving straight at `speed` in m/s, at frequencies (n,)
    in Hz.

    `input` is "steer", the road-wheel angle, or "u_steer", the command, where the two differ by
    an actuator. `inputs` replaces inputs of the steady state. Outputs are at the reference point
    of the vehicle's body.
    """
    if input not in ("steer", "u_steer"):
        raise InvalidValue(f"input = {input!r} is unknown; allowed are steer and u_steer")
    system, angles = steering_system(vehicle, *straight(vehicle, speed, inputs)[:2])
    if input == "u_steer" and not angles:
        raise InvalidValue(
            f"input = 'u_steer': no input of {vehicle.name!r} is the angle to steer to; it has "
            f"{', '.join(record.names(vehicle.Input))}"
        )
    hertz = np.atleast_1d(floats("frequency", frequency))
    if not (hertz.size and np.isfinite(hertz).all() and (hertz > 0.0).all()):
        raise InvalidValue("frequency must be finite and greater than 0 Hz")
    v_y, omega, steer = system.response(hertz)
    if not steer.all():
        raise InvalidValue(f"the wheels of {vehicle.name!r} do not follow what its body commands")
    # Motion per wheel angle is motion per command divided by wheel angle per command.
    per = steer if input == "steer" else 1.0
    # a_y = v_y' + v_x omega, where v_x is steady.
    return Response(hertz, omega / per, (2j * np.pi * hertz * v_y + speed * omega) / per)


def steering_system(vehicle: Vehicle, x: Any, u: Any) -> tuple[LinearSystem, bool]:
    """Linearised vehicle about a state and input.

    The input is the command of a steering angle, the outputs are `v_y`, `omega` and the road-wheel
    angle. Also returns whether the commanded quantity is an angle.
    """
    if not vehicle.model.continuous:
        raise InvalidValue(f"{vehicle.name!r} is a discrete model: it has no linearisation in time")
    A, B, C, D, by_demand = _derivatives(vehicle, x, u)
    units = [field.unit.symbol for field in record.fields(vehicle.Input)]
    angles = all(units[k] == "rad" for k in np.flatnonzero(by_demand))
    return _reduce(
        LinearSystem(A, B @ by_demand, C, D @ by_demand, ("v_y", "omega", "steer"))
    ), angles


def _derivatives(vehicle: Vehicle, x: Any, u: Any) -> list[Array]:
    """Jacobians by state and input of the state's rate and of the body's `v_y`, `omega` and
    road-wheel angle; then the derivative of the commanded input (nu,) by the demand for that
    angle."""
    import casadi as ca

    body, model, traced = body_of(vehicle, "steering"), vehicle.model, vehicle.casadi()
    if body.steer is None:
        raise InvalidValue(f"{vehicle.name!r} does not steer: its body has no steering angle")
    columns = traced.x, traced.u, traced.p
    states, given, p = (
        record.unflatten(kind, ca.vertsplit(column) if column.numel() else [])
        for kind, column in zip((model.State, model.Input, model.Params), columns, strict=True)
    )
    calm = ca.DM(list(record.flatten(record.build(model.Disturbance))))
    rate = ca.substitute(traced.f_expl, traced.w, calm)
    velocity = body.velocity(states, given, p)
    answers = ca.vertcat(velocity.v_y, velocity.omega, body.steer(states, given, p))
    demand = type(columns[0]).sym("steer")
    command = ca.vertcat(*record.flatten(body.command(states, Demand(steer=demand), p)))
    jacobians = [ca.jacobian(value, column) for value in (rate, answers) for column in columns[:2]]
    jacobians.append(ca.jacobian(command, demand))
    function = ca.Function("derivatives", [*columns, demand], jacobians)
    rows = (np.array(record.flatten(part), dtype=float) for part in (x, u, vehicle.params))
    *matrices, by_demand = (np.asarray(value) for value in function(*rows, 0.0))
    return [*matrices, by_demand.ravel()]


def _reduce(system: LinearSystem) -> LinearSystem:
    """Remove states that do not affect an output."""
    seen = (system.C != 0.0).any(axis=0)
    while True:
        more = seen | (system.A[seen] != 0.0).any(axis=0)
        if (more == seen).all():
            break
        seen = more
    return system._replace(A=system.A[np.ix_(seen, seen)], B=system.B[seen], C=system.C[:, seen])


def phase(answer: Complex) -> Array:
    """Unwrapped phase in degrees of complex amplitudes, within ±180° at the first frequency."""
    angle = np.rad2deg(np.unwrap(np.angle(answer)))
    return angle - 360.0 * np.round(angle[0] / 360.0)


PER_DEGREE = float(np.deg2rad(1.0))
_POINTS = 241


def bode(
    vehicle: Vehicle,
    *,
    speed: float | Sequence[float],
    frequency: tuple[float, float] = (0.1, 10.0),
    input: str = "steer",
    inputs: Mapping[str, float] | None = None,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Bode diagram of yaw rate and lateral acceleration for small steering in straight driving.

    `speed` in m/s, one or several; `frequency` is the range in Hz. `input` is "steer", the
    road-wheel angle, or "u_steer", the command, which includes the steering actuator. Drive
    torques hold the speed unless `inputs` replaces them.
    """
    style.check(path, backend, size)
    speeds: list[float] = np.atleast_1d(floats("speed", speed)).tolist()
    if not speeds:
        raise InvalidValue("speed: no speed is given")
    low, high = frequency
    if not (np.isfinite([low, high]).all() and 0.0 < low < high):
        raise InvalidValue(
            f"frequency = {frequency} Hz must be two numbers above 0, the lower one first"
        )
    hertz = np.geomspace(low, high, _POINTS)
    responses = [steering_response(vehicle, v, hertz, input=input, inputs=inputs) for v in speeds]
    labels = [f"{v:g} m/s" for v in speeds]
    with style.new_figure((4.3, 4.3), (2.5, 1.9), size) as (figure, grid):
        axes: Any = grid.subplots(sharex=True, squeeze=False)
        turning = [r.yaw_rate for r in responses]
        axes[0, 0].set_title("Yaw rate per steering angle")
        lines = _draw(axes[:, 0], hertz, turning, labels, 1.0, "gain [1/s]")
        across = [r.lateral_acceleration for r in responses]
        axes[0, 1].set_title("Lateral acceleration per steering angle")
        _draw(axes[:, 1], hertz, across, labels, PER_DEGREE, "gain [(m/s²)/°]")
        own = f"Steering response of {vehicle.name}"
        style.headings(figure, own if title is None else title, lines)
    return style.write_figure(figure, path)


def _draw(
    pair: Sequence[Axes],
    hertz: Any,
    answers: Sequence[Complex],
    labels: Sequence[str],
    by: float,
    gain_label: str,
) -> list[Any]:
    """Draw gain above phase, a line per response; returns the gain lines."""
    from matplotlib.ticker import MultipleLocator

    gain, angle = pair
    lines: list[Any] = []
    for answer, label, colour in zip(answers, labels, style.shades(len(answers)), strict=True):
        look: Any = {"color": colour, "linewidth": 1.6, "label": label}
        lines += gain.plot(hertz, by * np.abs(answer), **look)
        angle.plot(hertz, phase(answer), **look)
    gain.set_ylabel(gain_label)
    _set_log(gain, "y")
    for axes in pair:
        _set_log(axes, "x")
        axes.set_xlim(hertz[0], hertz[-1])
    angle.set(xlabel="frequency [Hz]", ylabel="phase [°]")
    angle.yaxis.set_major_locator(MultipleLocator(30.0))
    return lines


def _set_log(axes: Axes, name: str) -> None:
    """Set a logarithmic axis with labels 0.5, 1, 2, which over the few decades of a vehicle are
    easier to read than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis: Any = axes.xaxis if name == "x" else axes.yaxis
    (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    axis.grid(True, which="minor", alpha=0.4)
