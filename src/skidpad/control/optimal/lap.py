"""Fastest lap of a vehicle on a track, computed as an optimal control problem.

    lap = sp.control.minimum_lap(car, track)
    lap.time, lap.trajectory(), lap.sensitivities(("m", "C_drag"))

The time is minimal over the line within the track and the controls, for the vehicle's own equations
of motion. The method is direct collocation over the distance along the centre line
(`transcription`), solved by IPOPT with exact derivatives from compiled code (`solver`). The start
is a quasi-steady speed profile on the centre line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Limits
from ...core.checks import instance_of, one_of, positive, whole
from ...core.files import brief_repr
from ...core.model import Vehicle, vehicle_of
from ...core.progress import Choice
from ...errors import InvalidValue, NotOptimal
from ...geometry.maps.track import Track
from ...geometry.polygon import frozen
from ...run.trajectory import Trajectory
from ...run.trajectory_table import Column
from ...units import Unit
from ..reference import Reference
from ..speed import Grip, speed_profile
from .sensitivities import Sensitivity, optimise_setup, sensitivities
from .solver import STOPPED, Evaluations, Solution, solve
from .transcription import ORDERS, Path, PointFunctions, Transcription, path_of
from .vehicle import SLOWEST, LapModel, lap_model, start_variables

METRE = Unit("m", length=1)
LINES = ("free", "centre")
"""Lines of a lap: free within the track, or the centre line (to within 1 cm)."""
SHARES = (0.7, 0.5, 0.9, 0.3, 0.8, 0.6, 0.4)
"""Shares of the grip in the speed profiles from which the solver starts, in order."""
NEAR_CENTRE = 0.01
"""Largest distance in m from the centre line for `line="centre"`."""
STEPS_ACROSS = 1.0
"""Default largest step of the mesh over the mean width of the track."""
MOST_WARM = 50
"""Largest number of iterations from a previous lap, after which the start is a new one."""
EXTRA_STARTS = 2
"""Number of further starts if the first does not converge."""


@dataclass(frozen=True, eq=False)
class Lap:
    """A lap of least time; made by `minimum_lap`.

    Arrays have a row for each point of the mesh; on a closed lap, the last point is the first one,
    a lap later.
    """

    vehicle: Vehicle
    track: Track
    time: float
    """Time in s."""
    cost: float
    """Minimised sum of the time in s and the cost of rough controls."""
    s: Array
    """Distance of the points along the centre line in m, (n,)."""
    t: Array
    """Time at the points in s, (n,)."""
    n: Array
    """Distance to the left of the centre line in m, (n,)."""
    states: Array
    """States of the vehicle, (n, nx)."""
    inputs: Array
    """Inputs of the vehicle, (n, nu)."""
    converged: bool
    """Whether the lap is optimal; False for the best iterate of an interrupted solution."""
    solution: Solution
    """Result of the solver, with iterations and seconds."""
    evaluations: Evaluations
    """The nonlinear program that was solved."""
    model: LapModel
    """Equations of the vehicle on the track."""
    path: Path
    """Mesh and data of the track."""
    bounds: tuple[Array, Array]
    """Lower and upper bounds of the scaled variables."""
    settings: _Settings
    """Settings that determine the nonlinear program, apart from parameters."""

    __repr__ = brief_repr

    @cached_property
    def outputs(self) -> Array:
        """Outputs of the vehicle at the points, (n, ny)."""
        model, (x, u) = self.vehicle.model, self._records
        w = record.build(model.Disturbance)
        y = record.flatten(model.outputs(x, u, w, self.vehicle.params))
        return np.column_stack([np.broadcast_to(value, len(self.s)) for value in y])

    def trajectory(self) -> Trajectory:
        """The lap as a trajectory, with the columns `s` and `n` of the track.

        The input of a sample is the mean until the next one.
        """
        model = self.vehicle.model
        means = 0.5 * (self.inputs + np.roll(self.inputs, -1, axis=0))
        means[-1] = self.inputs[-1]
        trajectory = Trajectory.from_arrays(
            self.t,
            (model.State, self.states),
            (model.Input, means),
            (model.Outputs, self.outputs) if record.size(model.Outputs) else None,
            name=f"{self.vehicle.name} on {self.track.name}",
            meta={"lap_time": self.time},
        )
        places = (Column(name, METRE, "output", frozen(getattr(self, name))) for name in ("s", "n"))
        return replace(trajectory, columns=(*trajectory.columns, *places))

    def sensitivities(self, names: Sequence[str] | None = None) -> tuple[Sensitivity, ...]:
        """Exact derivatives of time and cost by parameters of the vehicle; see `sensitivities`.

        By default, with respect to all parameters that have an effect; names are dotted, as in
        `drive.F_max`.
        """
        return sensitivities(self, names)

    def parameter(self, name: str) -> float:
        """Value of a parameter of the vehicle by dotted name."""
        params = self.vehicle.params
        values = dict(zip(record.names(type(params)), record.flatten(params), strict=True))
        if name not in values:
            raise InvalidValue(record.unknown_name("params", name, tuple(values)))
        return float(values[name])

    def changed(self, values: Mapping[str, float], *, progress: Choice = None) -> Lap:
        """Lap of the vehicle with parameters replaced by dotted name; the search starts from this
        lap.
        """
        params = self.vehicle.params
        flat = dict(zip(record.names(type(params)), record.flatten(params), strict=True))
        for name in values:
            if name not in flat:
                raise InvalidValue(record.unknown_name("params", name, tuple(flat)))
        new = record.unflatten(type(params), list((flat | dict(values)).values()))
        vehicle = replace(self.vehicle, params=new)
        return _minimum_lap(vehicle, self.track, self.settings, previous=self, progress=progress)

    def optimised(
        self, ranges: Mapping[str, tuple[float, float]], *, progress: Choice = None
    ) -> Lap:
        """Lap of least cost, optimised also over parameters of the vehicle within ranges.

        `ranges` have the lowest and highest value of each parameter by dotted name. The result is
        the optimum next to this lap; its vehicle has the parameters.
        """
        return optimise_setup(self, ranges, progress=progress)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the trajectory as CSV; see `Trajectory.to_csv`."""
        self.trajectory().to_csv(path)

    @cached_property
    def _velocity(self) -> tuple[Array, Array]:
        x, u = self._records
        velocity = self.model.body.velocity(x, u, self.vehicle.params)
        v_x, v_y = (np.broadcast_to(v, len(self.s)) for v in velocity[:2])
        return v_x, v_y

    @property
    def _records(self) -> tuple[Any, Any]:
        model = self.vehicle.model
        kinds = ((model.State, self.states), (model.Input, self.inputs))
        x, u = (record.unflatten(kind, list(values.T)) for kind, values in kinds)
        return x, u

    @property
    def v(self) -> Array:
        """Speed at the points in m/s, (n,)."""
        return np.hypot(*self._velocity)

    def reference(self) -> Reference:
        """Line and speeds of the lap as a reference for controllers; its heading is the course
        angle.
        """
        x, y, yaw = self.states[:, list(self.model.pose)].T
        v_x, v_y = self._velocity
        course = yaw + np.arctan2(v_y, v_x)
        return Reference.from_arrays(self.t, x, y, heading=course, v=self.v)


def minimum_lap(
    vehicle: Vehicle,
    track: Track,
    *,
    closed: bool | None = None,
    v_start: float = 5.0,
    line: str = "free",
    margin: float = 0.0,
    controls: str | None = None,
    roughness: float = 1.0,
    step: float | None = None,
    order: int = 2,
    starts: int = 1,
    previous: Lap | None = None,
    max_iterations: int = 500,
    progress: Choice = None,
) -> Lap:
    """Return the lap of least time of a vehicle on a track.

    Commands of the vehicle stay within their limits, the vehicle within the track, and corners of
    its equations are rounded (`vehicle.smooth`). Ctrl-C ends the search with the best iterate. If
    it does not converge, `NotOptimal` names the constraint that is violated most, and has the lap.

    Args:
        vehicle: a continuous vehicle with a body, such as `single_track` or `formula_student`.
        track: the track; the vehicle's outline stays within its widths.
        closed: whether the lap ends in the state in which it begins; by default that of the track.
            Otherwise it begins at `v_start`, straight ahead on the centre line, and its end is
            free.
        v_start: speed in m/s at the beginning of an open lap, at least 1.
        line: "free" within the track, or "centre" for the centre line.
        margin: distance in m that the outline keeps from the edges.
        controls: "driver" for steering, drive and brake, distributed as by the vehicle's `command`;
            "inputs" for every input by itself. By default "driver" for more than two inputs.
        roughness: factor on the cost of rough controls, which costs about 0.1 % of the time.
        step: largest step of the mesh in m, by default the mean width of the track; steps are
            smaller in bends.
        order: 2 for the trapezoidal rule or 4 for the Simpson rule.
        starts: number of starts, of which the best result is returned; there are several optima.
        previous: lap of the same kind of vehicle on the same track, from which to start.
        max_iterations: largest number of iterations of a start.
        progress: see `skidpad.core.progress`.
    """
    vehicle, track = vehicle_of(vehicle), instance_of("track", track, Track)
    one_of("line", line, LINES)
    if order not in ORDERS:
        raise InvalidValue(f"order = {order!r} must be 2 or 4")
    if not margin >= 0.0:
        raise InvalidValue(f"margin = {margin:g} m must be at least 0")
    closed = track.closed if closed is None else closed
    if closed and not track.closed:
        raise InvalidValue(f"closed = True, but track {track.name!r} is open")
    if not v_start >= SLOWEST:
        raise InvalidValue(f"v_start = {v_start:g} m/s must be at least {SLOWEST:g} m/s")
    roughness = positive("roughness", roughness)
    starts, most = (
        whole("starts", starts, "at least 1"),
        whole("max_iterations", max_iterations, "at least 1"),
    )
    width = float(np.mean(track.left + track.right))
    step = positive("step", STEPS_ACROSS * width if step is None else step, "m")
    settings = _Settings(closed, float(v_start), line, margin, controls, roughness, step, order)
    if previous is not None:
        instance_of("previous", previous, Lap)
    return _minimum_lap(
        vehicle, track, settings, previous=previous, starts=starts, most=most, progress=progress
    )


class _Settings(NamedTuple):
    """Settings of a lap that determine the nonlinear program; see `minimum_lap`."""

    closed: bool
    v_start: float
    line: str
    margin: float
    controls: str | None
    roughness: float
    step: float
    order: int


def _minimum_lap(
    vehicle: Vehicle,
    track: Track,
    settings: _Settings,
    *,
    previous: Lap | None,
    starts: int = 1,
    most: int = 500,
    progress: Choice = None,
) -> Lap:
    warm = previous if previous and _same_program(previous, vehicle, track, settings) else None
    if warm is not None:
        model, path, transcription = warm.model, warm.path, warm.evaluations.of
    else:
        path = path_of(track, closed=settings.closed, step=settings.step, order=settings.order)
        short = float(np.median(path.mesh.steps))
        model = lap_model(
            vehicle, step=short, controls=settings.controls, roughness=settings.roughness
        )
        functions = PointFunctions(model.problem)
        transcription = Transcription(functions, path.mesh, path.data, np.zeros(0))
    p, low, high = model.parameters(vehicle.params)
    limits, scales = model.body.limits(vehicle.params), transcription.scales
    lows, highs = _bounds(model, path, low, high, settings, track)
    evaluations = Evaluations(transcription, p)
    best: Lap | None = None
    found = 0
    cold = [(None, share) for share in SHARES[: starts + EXTRA_STARTS]]
    for near, share in [(warm, SHARES[0]), *cold] if warm else cold:
        begin = _start(model, path, track, limits, share)
        lower, upper = lows.copy(), highs.copy()
        if not settings.closed:
            # Fix the state of the first point in the start variables and bounds.
            zero = np.zeros(1)
            first = start_variables(model, zero + settings.v_start, zero, zero)[0]
            count = len(model.problem.variables) - len(model.controls.variables)
            names = [variable.name for variable in model.problem.variables[:count]]
            # States in balance are determined by the other states.
            fixed = [k for k, name in enumerate(names) if name not in model.problem.rows]
            begin[0] = first
            lower[0, fixed] = upper[0, fixed] = first[fixed]
        bounds = lower.ravel() / scales, upper.ravel() / scales
        solution = solve(
            evaluations,
            np.clip(begin, lower, upper).ravel() / scales if near is None else near.solution.x,
            *bounds,
            previous=None if near is None else near.solution,
            options={"max_iter": most if near is None else min(most, MOST_WARM)},
            progress=progress,
        )
        lap = _lap(vehicle, track, model, path, evaluations, solution, bounds, settings)
        better = best is None or (lap.converged, -lap.cost) > (best.converged, -best.cost)
        best = lap if better else best
        found += lap.converged
        if found >= starts or solution.status == STOPPED:
            break
    assert best is not None
    if not best.converged and best.solution.status != STOPPED:
        raise NotOptimal(_blame(best), lap=best)
    return best


def _same_program(previous: Lap, vehicle: Vehicle, track: Track, settings: _Settings) -> bool:
    """Whether `previous` differs only in vehicle parameters; raises for another model or track."""
    if previous.vehicle.model is not vehicle.model or previous.track is not track:
        raise InvalidValue(
            f"previous is a lap of {previous.vehicle.name!r} on {previous.track.name!r}; it must "
            f"be of the same model and track, {vehicle.name!r} on {track.name!r}"
        )
    return previous.settings == settings


def _bounds(
    model: LapModel, path: Path, low: Array, high: Array, settings: _Settings, track: Track
) -> tuple[Array, Array]:
    """Bounds (n, nz) of the variables at all points."""
    n, count, margin = model.problem.index("n"), len(path.data), settings.margin
    lows, highs = np.tile(low, (count, 1)), np.tile(high, (count, 1))
    lows[:, n] += margin - path.right
    highs[:, n] += path.left - margin
    narrow = int((highs[:, n] - lows[:, n]).argmin())
    if highs[narrow, n] < lows[narrow, n]:
        raise InvalidValue(
            f"track {track.name!r} is {path.left[narrow] + path.right[narrow]:.4g} m wide at "
            f"s = {path.mesh.s[narrow]:.6g} m; the vehicle with its margins needs "
            f"{2.0 * (low[n] + margin):.4g} m"
        )
    # Road coordinates are valid only up to the centre of a bend.
    curvature = path.data[:, 3]
    folded = int(np.argmax(np.maximum(curvature * highs[:, n], curvature * lows[:, n])))
    if max(curvature[folded] * highs[folded, n], curvature[folded] * lows[folded, n]) > 0.95:
        raise InvalidValue(
            f"track {track.name!r} reaches the centre of its bend at "
            f"s = {path.mesh.s[folded]:.6g} m, of radius {1.0 / abs(curvature[folded]):.4g} m; "
            "give smaller widths on its inner side"
        )
    if settings.line == "centre":
        lows[:, n] = np.clip(-NEAR_CENTRE, lows[:, n], highs[:, n])
        highs[:, n] = np.clip(NEAR_CENTRE, lows[:, n], highs[:, n])
    return lows, highs


def _start(model: LapModel, path: Path, track: Track, limits: Limits, share: float) -> Array:
    """Variables (n, nz) of a quasi-steady drive along the centre line with a share of the grip."""
    grip = min(limits.grip, 20.0)
    profile = Grip(
        share * grip,
        share * min(limits.a_max, grip),
        share * min(-limits.a_min, grip),
        0.9 * limits.v_max,
    )
    if not profile.a_drive > 0.0:
        raise InvalidValue(
            f"{model.vehicle.name!r} cannot drive off: its largest acceleration is "
            f"{limits.a_max:g} m/s²"
        )
    speeds = speed_profile(track.line, profile)
    v = np.maximum(np.interp(path.mesh.s, track.line.s, speeds), 1.5 * SLOWEST)
    a = np.gradient(v, path.mesh.s) * v
    return start_variables(model, v, a, path.data[:, 3])


def _lap(
    vehicle: Vehicle,
    track: Track,
    model: LapModel,
    path: Path,
    evaluations: Evaluations,
    solution: Solution,
    bounds: tuple[Array, Array],
    settings: _Settings,
) -> Lap:
    z, p = evaluations.of.split(solution.x, evaluations.params)
    states, inputs = model.columns(z, path.data, p)
    n, s, t = z[:, model.problem.index("n")], path.mesh.s, evaluations.times(solution.x)
    if path.mesh.closed:
        states, inputs, n = (np.concatenate([values, values[:1]]) for values in (states, inputs, n))
        s = np.append(s, path.mesh.length)
        line = track.line
        states[-1, model.pose[2]] += line.heading[-1] - line.heading[0]
    return Lap(
        vehicle, track, solution.time, solution.cost, s, t, n, states, inputs,
        solution.converged, solution, evaluations, model, path, bounds, settings,
    )  # fmt: skip


def _blame(lap: Lap) -> str:
    """Error message for a lap that did not converge, naming the most violated constraint."""
    solution, of = lap.solution, lap.evaluations.of
    rows, (low, high) = lap.evaluations.rows(solution.x), of.row_bounds
    excess = np.maximum(low - rows, rows - high)
    name, point = of.row_names[int(excess.argmax())]
    text = (
        f"the lap of {lap.vehicle.name!r} on {lap.track.name!r} did not converge in "
        f"{solution.iterations} iterations (IPOPT: {solution.status})"
    )
    if float(excess.max()) <= FEASIBLE:
        return f"{text}; all constraints hold, so only the time is not least: raise max_iterations"
    return (
        f"{text}; the equation or limit of {name} at s = {of.mesh.s[point]:.6g} m is violated "
        f"most, by {excess.max():.3g} of its typical size. Try a smaller step, more roughness or "
        "more starts"
    )


FEASIBLE = 1e-6
"""Violation of a row below which it counts as satisfied."""
