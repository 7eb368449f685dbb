"""Timed events of Formula Student: skidpad and acceleration.

Any car that fits the course can drive them. Times are smooth in its parameters: the skidpad time
is that of the fastest steady turn. The acceleration run holds the slip of the tyres by continuous
feedback; several slips are driven at once, and the quickest run counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Demand
from ...core.checks import not_negative, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...ops import Grid1, grid, interpolate
from ...run.trim import FastestTurn, fastest_turn
from ...tyres.contract import Contact, each_tyre
from ...units import m, m_s, m_s2, rad, s
from ...vehicles.parts.electric import WHEEL_DRIVES, WheelMotors
from .case import POINTS, WHEELS, Case, G, Path, path_of_curvature, straight
from .case_run import OK, CaseRun, cubic_at, passing_time
from .cone_courses import CONE, box_of, cones_curve, reach, struck, width_needed
from .manoeuvre import LABELS, Chart, Curve, Findings, Performing, Rounds, StandardManoeuvre, chart
from .search import least_value, tyre_deceleration
from .subject import Subject, drive_needed, tyres_needed

LEAD: m = 15.0
"""Straight before the first circle and after the last."""
EASED: m = 4.0
"""Distance over which the driver steers from one curvature to the next."""
SHOWN = 0.95
"""Speed in the figure of eight, relative to that of the fastest steady turn."""
PRECISE = {"settling": 0.2, "damping": 2.3, "speed.k_p": 3.0}
"""Settings of a driver who stays close to the path; the metrics do not depend on them."""
CLAIMED = 1.5
"""Limit of the ratio of lateral acceleration in a steady turn to the declared grip.

Above it, the vehicle's equations evidently do not contain that grip.
"""
SLIPS = np.geomspace(0.3, 3.0, 12)
"""Longitudinal slips tried, relative to that at the peak of the driven tyres."""
CEILINGS = np.geomspace(0.85, 4.0, 24)
"""Ceilings of the drive torque tried, relative to what the driven tyres transmit at rest."""
FACTORS = np.geomspace(0.93, 1.07, 5)
"""Factors on the best slip and on the best ceiling for the next round."""
NEAR = (0.85, 1.0, 1.15)
"""Slips tried with each ceiling, relative to the best slip at the highest ceiling."""
MOST_SLIP = 0.6
"""Largest longitudinal slip in the search for the peak of a tyre."""
NEARLY = 0.9999
"""Share of the largest force that counts as the peak; some tyres have a plateau from there
on."""
ROLLING: m_s = 10.0
"""Speed at which the peak of a tyre is determined."""
SHARES = np.geomspace(0.4, 1.0, 6)
"""Shares of the drive tried for vehicles without wheel spins as states."""
LONGEST: s = 60.0
"""Longest time in which a vehicle has to arrive."""


Laps = tuple[tuple[m, m], tuple[m, m]]
"""Distances along a path at which timed laps begin and end."""


class Course(NamedTuple):
    """Path of a car through the figure of eight, with its timed laps."""

    path: Path
    """Path at 1 m/s."""
    laps: Laps
    """Timed laps to the right and to the left."""


@dataclass(frozen=True)
class FormulaSkidpad(StandardManoeuvre):
    """Skidpad of Formula Student: a figure of eight; the second lap on each side is timed.

    The car drives the tightest circle on which it stays `margin` away from the inner cones, since
    the time is 2π sqrt(R / a). Its speed there is that of the fastest steady turn by its equations
    of motion (`fastest_turn`). The figure of eight is then driven a little slower, for the replay.
    """

    inner: m = 15.25
    """Diameter of the circles of cones inside the lanes."""
    outer: m = 21.25
    """Diameter of the circles of cones outside the lanes. The centre lines of the lanes touch, so
    the mean of both diameters is the distance of the centres."""
    margin: m = 0.2
    """Distance between the car and the bases of the inner cones."""
    name = "formula_skidpad"
    title = "Formula Student skidpad"
    source = "Formula Student Rules, dynamic events, skidpad"
    METRICS = """
    time [s]: Time of a lap of the circle in the fastest steady turn of the equations of motion.
    speed [m/s]: Speed of the centre of mass in that turn.
    radius [m]: Radius of the circle of the centre of mass.
    lateral_acceleration [m/s²]: Lateral acceleration in that turn, v² / R.
    """

    def __post_init__(self) -> None:
        positive("inner", self.inner, "m")
        not_negative("margin", self.margin, "m")
        if not self.outer > self.inner:
            raise InvalidValue(
                f"outer = {self.outer:g} m must be more than inner, {self.inner:g} m"
            )

    @property
    def width(self) -> m:
        """Width of the lanes, from cone to cone."""
        return 0.5 * (self.outer - self.inner)

    @property
    def middle(self) -> m:
        """Radius of the middle of the lanes."""
        return 0.25 * (self.inner + self.outer)

    def line_radius(self, car: Subject) -> m:
        """Radius of the circle of the centre of mass, in m.

        Without slip the rear axle is nearest to the inner cones; at the limit it stays farther
        away.
        """
        rear_axle = 0.5 * self.inner + CONE + self.margin - box_of(car).right
        return float(np.hypot(rear_axle, car.l_r[0]))

    def unfit(self, car: Subject) -> str:
        """Reason why a vehicle cannot do the manoeuvre, as a sentence; empty if it can."""
        if lacks := tyres_needed(car) or width_needed(car, 0.8, self.width):
            return lacks
        radius = self.line_radius(car)
        ring = sum(reach(car, radius)) + 2.0 * (CONE + self.margin)
        if ring > self.width:
            return f"{car.name} needs {ring:.2f} m between cones; the lane is {self.width:g} m wide"
        tightest = np.hypot(car.wheel_base[0] / np.tan(car.abilities.steer_max), car.l_r[0])
        if tightest > 0.9 * radius:
            return f"{car.name} turns on {tightest:.1f} m at best; its line has {radius:.1f} m"
        return ""

    def course(self, radius: m) -> Course:
        """Line of the car: entry, two laps to the right, two to the left, exit.

        Its origin is the start of the line. From circle to circle the curvature changes linearly;
        half of this transition lies on either side of the line between the centres.
        """
        half, heading = crossing(radius, self.middle)
        arc = 4.0 * np.pi * radius - radius * heading - 0.5 * half
        bends = np.array([0.0, 0.0, -1.0, -1.0, 1.0, 1.0, 0.0, 0.0]) / radius
        marks = np.cumsum([0.0, LEAD, 0.0, arc, 2.0 * half, arc, 0.0, LEAD])
        s = np.linspace(0.0, marks[-1], 4 * POINTS)
        exact = path_of_curvature(s, np.interp(s, marks, bends), v=1.0)
        lap = 2.0 * np.pi * radius
        across = marks[3] + half
        path = exact._replace(curvature=eased(exact))
        return Course(path, ((LEAD + lap, across), (marks[5] - lap, marks[5])))

    def cones(self, radius: m) -> Array:
        """Positions of the cones, (n, 2) in m, relative to the start of a path with this line
        radius.

        The inner circles, and the parts of the outer ones outside of lanes, entry and exit.
        """
        angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        centres = np.array([[LEAD, -self.middle], [LEAD, self.middle]])
        inside = np.concatenate([centre + 0.5 * self.inner * ring for centre in centres])
        outside = np.concatenate([centre + 0.5 * self.outer * ring for centre in centres])
        away = np.hypot(*(outside[:, None] - centres).transpose(2, 0, 1)).min(axis=1)
        free = (away > 0.5 * self.outer - 1e-6) & (np.abs(outside[:, 1]) > 0.5 * self.width)
        return np.concatenate([inside, outside[free]]) + np.array([0.0, self.middle - radius])

    def perform(self, car: Subject) -> Performing:
        """Compute the fastest turns, then drive the figure of eight a little slower."""
        radius = self.line_radius(car)
        turns = [self._turn(vehicle, radius) for vehicle in car.each]
        why = [turn if isinstance(turn, str) else self._in_the_way(car, turn) for turn in turns]
        if all(isinstance(turn, str) for turn in turns):
            raise InvalidValue(why[0])
        v = np.array([np.nan if isinstance(turn, str) else turn.v for turn in turns])
        v = np.where([not reason for reason in why], v, np.nan)
        grip = np.array([min(one.limits.grip, one.limits.v_max**2 / radius) for one in car.each])
        pace = SHOWN * np.where(np.isfinite(v), v, 0.5 * np.sqrt(grip * radius))
        path, laps = self.course(radius)
        duration = 1.1 * (laps[1][1] + 0.5 * LEAD) / float(np.min(pace))
        driving = PRECISE | {"v_gain": pace}
        label = f"{pace[0]:.1f} m/s"
        (run,) = yield [Case(label, duration, pace, path=path, driving=driving, run_in=0.0)]
        cones = self.cones(radius)
        by_grip = {"time": 2.0 * np.pi * np.sqrt(radius / grip), "speed": np.sqrt(grip * radius)}
        metrics = self.metrics(
            theory=by_grip | {"lateral_acceleration": grip},
            time=2.0 * np.pi * radius / v,
            speed=v,
            radius=np.where(np.isfinite(v), radius, np.nan),
            lateral_acceleration=v * v / radius,
        )
        notes = [f"no time: {why[0]}"] if why[0] else []
        if run.outcomes[0] != OK or struck(car, run, cones, until=laps[1][1])[:, 0].any():
            said = run.outcomes[0] if run.outcomes[0] != OK else "touches a cone"
            notes.append(f"the figure of eight at {run.label}, which is only shown: {said}")
        shown = chart("Skidpad", "x", "y", run, cones_curve(cones), equal=True)
        return Findings(metrics, [shown], notes)

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """Raise InvalidValue: logs cannot be compared, since the time is computed from the
        equations of motion.
        """
        raise InvalidValue(
            f"{self.name} computes the fastest turn of {car.name} from its equations of motion: "
            f"a single log cannot show it, so {drive.label} is not used"
        )

    def _turn(self, vehicle: Vehicle, radius: m) -> FastestTurn | str:
        """Fastest steady turn on the line, or the reason why it does not exist."""
        try:
            turn = fastest_turn(vehicle, radius)
        except InvalidValue as error:
            return str(error)
        a, grip = turn.v**2 / radius, vehicle.limits.grip
        why = (
            f"the equations of {vehicle.name!r} have steady turns at {a:.0f} m/s², beyond its "
            f"grip of {grip:.0f} m/s²: nothing in them limits its tyres"
        )
        return why if a > CLAIMED * grip else turn

    def _in_the_way(self, car: Subject, turn: FastestTurn) -> str:
        """Reason why a car does not fit the lane in a steady turn; empty if it fits."""
        inside, outside = self.room(car, self.line_radius(car), turn.sideslip)
        if min(inside, outside) > 0.0:
            return ""
        return f"{car.name} touches the {'inner' if inside <= outside else 'outer'} cones"

    def room(self, car: Subject, radius: m, sideslip: rad) -> tuple[m, m]:
        """Clearance of a car in a steady turn from the bases of the inner and of the outer
        cones."""
        box = box_of(car)
        # Centre of a turn to the left, seen from the centre of mass.
        x, y = -radius * np.sin(sideslip), radius * np.cos(sideslip)
        nearest = np.hypot(x - np.clip(x, box.rear, box.front), y - np.clip(y, box.right, box.left))
        farthest = np.hypot(
            max(abs(x - box.rear), abs(x - box.front)), max(abs(y - box.right), abs(y - box.left))
        )
        inside = nearest - (0.5 * self.inner + CONE)
        return float(inside), float(0.5 * self.outer - CONE - farthest)


def crossing(radius: m, middle: m) -> tuple[m, rad]:
    """Length and final heading of the clothoid from a circle to the crossing of the eight.

    It leads to the point at the distance `middle` from the centre of the circle, where it is
    straight. The heading is relative to the tangent of the circle next to that point.
    """

    def centre(length: m) -> Array:
        """Centre of the circle at the end of a clothoid from the origin along x."""
        s = np.linspace(0.0, length, 400)
        heading = 0.5 * s * s / (length * radius)
        middles = 0.5 * (heading[1:] + heading[:-1])
        step = s[1]
        end = np.array([np.cos(middles).sum(), np.sin(middles).sum()]) * step
        return end + radius * np.array([-np.sin(heading[-1]), np.cos(heading[-1])])

    low, high = 1e-6, 2.0 * middle
    for _ in range(60):
        length = 0.5 * (low + high)
        low, high = (length, high) if np.hypot(*centre(length)) < middle else (low, length)
    x, y = centre(low)
    return low, float(np.arctan2(x, y))


def eased(path: Path) -> Grid1:
    """Curvature of a path over distance, averaged over a stretch around each point."""
    s = np.linspace(0.0, path.length, POINTS)
    before, after = (interpolate(path.heading, s + side * 0.5 * EASED) for side in (-1.0, 1.0))
    return grid((after - before) / EASED, step=path.length / (POINTS - 1))


class Launch(NamedTuple):
    """Launch from rest: the kind of setting to optimise, and all fixed quantities."""

    by_slip: bool
    """Whether the setting is the slip of the driven wheels relative to that at the tyre peak.

    Otherwise it is a share of the drive, for a vehicle whose state has no wheel spins.
    """
    slip: Array
    """Longitudinal slip of the driven wheels at the peak of their tyres, (V,)."""
    a: Array
    """Acceleration demanded from the whole drive, (V,)."""
    reached: Array
    """Acceleration that the driven tyres transmit at rest, (V,); NaN without wheel spins."""
    grip: Array
    """Acceleration with all tyres at their longitudinal peak under static loads, (V,)."""
    driving: dict[str, Array]
    """Parameters of the driver."""

    @classmethod
    def of(cls, car: Subject) -> Launch:
        """Launch of a car with its full drive.

        If wheel spins are not states, the drive is limited to 1.5 times what the tyres can
        transmit.
        """
        along = tyre_deceleration(car)
        across = np.array([min(vehicle.limits.grip, 2.0 * G) for vehicle in car.each])
        grip = np.where(np.isfinite(along), along, across)
        by_slip = {f"spin_{w}" for w in WHEELS} <= set(car.vehicle.State._fields)
        most = np.array([vehicle.limits.a_max for vehicle in car.each])
        if not by_slip:
            unknown = np.full(car.variants, np.nan)
            return cls(by_slip, unknown, np.minimum(most, 1.5 * grip), unknown, grip, {})
        radii = [{wheel.name: wheel.radius for wheel in v.geometry.wheels} for v in car.each]
        driven = [_driven_axles(vehicle) for vehicle in car.each]
        slip = np.array([slip for _, slip in driven])
        driving = {
            "traction.radius_f": np.array([radius["fl"] for radius in radii]),
            "traction.radius_r": np.array([radius["rl"] for radius in radii]),
            "traction.lag": np.array([getattr(v.params, "t_tau", 0.0) for v in car.each]),
        }
        reached = grip * np.array([load for load, _ in driven])
        return cls(by_slip, slip, most, reached, grip, driving)


def _driven_axles(vehicle: Vehicle) -> tuple[float, float]:
    """Share of the static weight on driven wheels, and the slip at their tyres' peak force.

    The slip is that of the axle whose tyres are near their largest longitudinal force first.
    """
    p, shape = vehicle.params, vehicle.geometry
    layout = getattr(getattr(p, "powertrain", None), "layout", None)
    if layout is not None:
        front, _, rear, _ = layout.weights()
    else:
        u = vehicle.body.command(record.build(vehicle.State), Demand(a=1.0), p)
        front, rear = u.tau_fl, u.tau_rl
    ahead = (shape.centre_of_mass[0] - shape.rear_axle) / shape.wheel_base
    shares = ahead * float(front > 0.0), (1.0 - ahead) * float(rear > 0.0)
    if getattr(p, "tyres", None) is None:
        return sum(shares), MOST_SLIP
    tyres, weight = each_tyre(p.tyres), shape.mass * G
    pairs = zip((tyres[0], tyres[2]), shares, strict=True)
    slips = (peak_slip_of(tyre, 0.5 * share * weight) for tyre, share in pairs if share)
    return sum(shares), min(slips, default=MOST_SLIP)


def peak_slip_of(tyre: Any, load: float) -> float:
    """Smallest slip at which the longitudinal force of a tyre is near its largest value."""
    from scipy.optimize import brentq, minimize_scalar

    def missing(kappa: float, goal: float = 0.0) -> float:
        at = Contact(F_z=load, kappa=kappa, v_x=ROLLING, p=tyre.pressure)
        return goal - float(tyre.forces(at).F_x)

    slips = np.geomspace(1e-3, MOST_SLIP, 80)
    best = int(np.argmin([missing(kappa) for kappa in slips.tolist()]))
    ends = slips[max(best - 1, 0)], slips[min(best + 1, len(slips) - 1)]
    found: Any = minimize_scalar(missing, bounds=ends, method="bounded", options={"xatol": 1e-9})
    goal = -NEARLY * min(float(found.fun), missing(float(slips[best])))
    last = max((float(found.x), float(slips[best])), key=lambda kappa: -missing(kappa))
    return float(brentq(missing, 0.0, last, args=(goal,)))


@dataclass(frozen=True)
class FormulaAcceleration(StandardManoeuvre):
    """Acceleration event of Formula Student: a straight from rest; timing starts shortly after the
    car."""

    way: m = 75.0
    before: m = 0.3
    """Distance from the start to the timing line."""
    name = "formula_acceleration"
    title = "Formula Student acceleration"
    source = "Formula Student Rules, dynamic events, acceleration"
    needs = (drive_needed,)
    METRICS = """
    time [s]: Time for {test.way:g} m, beginning {test.before:g} m after the start.
    end_speed [m/s]: Speed at the finish.
    """

    def perform(self, car: Subject) -> Performing:
        """Find the quickest run over the held slips, or over the shares of the drive."""
        launch = Launch.of(car)
        transmitted = np.fmin(launch.a, launch.reached)
        duration = 1.6 * self.closed_form(float(np.min(transmitted))) + 1.0
        run = yield from self._quickest(launch, duration)
        if not np.isfinite(self.passage(run)[0]).all():  # a car with little power
            run = yield from self._quickest(launch, max(LONGEST, duration))
        time, end_speed = self.passage(run)
        pairs = zip(car.each, launch.grip, strict=True)
        theory = np.array([self.theory(vehicle, grip) for vehicle, grip in pairs]).T
        known = [None if np.isnan(row).any() else row for row in theory]
        by_theory = {"time": known[0], "end_speed": known[1]}
        metrics = self.metrics({"time": time, "end_speed": end_speed}, by_theory)
        on = run["x"][:, 0] - run["x"][0, 0] <= 1.1 * self.way
        speed = [Curve(run["x"][on, 0], run["v_x"][on, 0], run.label)]
        shown = Chart("Acceleration", "way in m", LABELS["v_x"], speed)
        late = f"{run.outcomes[0]}, not over the line within {run.t[-1]:.0f} s"
        return Findings(metrics, [shown], [] if np.isfinite(time[0]) else [f"{run.label}: {late}"])

    def _quickest(self, launch: Launch, duration: s) -> Rounds:
        """Find the quickest run: by the held slip, then the torque ceiling, then the slip again.

        Torque beyond the ceiling is never demanded, so excess torque does not change the time.
        """
        case = partial(self._case, launch, duration)

        def time(run: CaseRun) -> Array:
            return self.passage(run)[0]

        def quickest(grid: Array, case: Callable[[Array], Case]) -> Rounds:
            return (yield from least_value(grid, len(launch.a), case, time))

        if not launch.by_slip:
            return (yield from quickest(SHARES, lambda share: case(share=share)))[1]
        slip, _ = yield from quickest(SLIPS, lambda slip: case(slip, CEILINGS[-1]))
        # The time has several local minima over slip and ceiling, so pairs of both are tried.
        pairs = [(near, ceiling) for ceiling in CEILINGS for near in NEAR]
        runs = yield [case(near * slip, ceiling) for near, ceiling in pairs]
        best = np.argmin(np.nan_to_num(np.stack([*map(time, runs)]), nan=np.inf), axis=0)
        near, ceiling = np.array(pairs)[best].T
        slip = near * slip
        factor, _ = yield from quickest(FACTORS, lambda f: case(slip, f * ceiling))
        ceiling = factor * ceiling
        return (yield from quickest(FACTORS, lambda f: case(f * slip, ceiling)))[1]

    def _case(
        self,
        launch: Launch,
        duration: s,
        slip: Array | float = 1.0,
        ceiling: Array | float = 1.0,
        share: Array | float = 1.0,
    ) -> Case:
        """Case that holds a slip (relative to that at the tyre peak) below a ceiling of the torque.

        For a car without wheel spins, a case with a share of its drive.
        """
        a = share * launch.a
        driving, label = launch.driving, f"{a[0]:.1f} m/s² demanded"
        if launch.by_slip:
            held, a = slip * launch.slip, np.minimum(launch.a, ceiling * launch.reached)
            feedforward = np.minimum(launch.reached / a, 1.0)
            driving = driving | {"traction.slip": held, "traction.feedforward": feedforward}
            label = f"slip {held[0]:.3f}"
        told: Any = {"a": 1.0, "a_gain": a, "hold": 0.0, "driving": driving}
        return Case(label, duration, path=straight(), rests=True, run_in=0.0, **told)

    def passage(self, run: CaseRun) -> tuple[Array, Array]:
        """Time over the distance and final speed, each (V,); NaN for a vehicle that did not
        arrive."""
        x_rate = run["v_x"] * np.cos(run["yaw"]) - run["v_y"] * np.sin(run["yaw"])
        way = run["x"] - run["x"][0]
        ends = self.before, self.before + self.way
        start, end = (passing_time(run.t, way, x_rate, at) for at in ends)
        time = np.where(run.done, end - start, np.nan)
        return time, np.where(np.isfinite(time), cubic_at(run.t, run["v_x"], end), np.nan)

    def closed_form(self, a: float) -> s:
        """Time at constant acceleration `a` in m/s²."""
        return float(np.sqrt(2.0 * (self.before + self.way) / a) - np.sqrt(2.0 * self.before / a))

    def theory(self, vehicle: Vehicle, grip: m_s2) -> tuple[s, m_s]:
        """Time and final speed with an acceleration limited by grip, motor power and motor speed.

        NaN for a powertrain with further parts, such as gears.
        """
        powertrain, limits = getattr(vehicle.params, "powertrain", None), vehicle.limits
        a = min(limits.a_max, grip)
        if powertrain is not None and not isinstance(powertrain, WHEEL_DRIVES):
            return np.nan, np.nan
        if not isinstance(powertrain, WheelMotors):
            return self.closed_form(a), float(np.sqrt(2.0 * a * (self.before + self.way)))
        by_mass = powertrain.efficiency * powertrain.P_max / vehicle.geometry.mass
        return self.limited(a, by_mass, limits.v_max)

    def limited(self, a: m_s2, power_by_mass: float, v_max: m_s) -> tuple[s, m_s]:
        """Time and final speed at constant acceleration, then constant power, then constant speed.

        The power is per mass, in W/kg.
        """
        x = np.linspace(0.0, self.before + self.way, 20_001)
        v_even = min(power_by_mass / a, v_max)
        x_even = 0.5 * v_even**2 / a
        # At constant power, v² dv = P / m dx.
        powered = np.cbrt(v_even**3 + 3.0 * power_by_mass * np.maximum(x - x_even, 0.0))
        v = np.minimum(np.where(x < x_even, np.sqrt(2.0 * a * x), powered), v_max)
        middle = 0.5 * (v[1:] + v[:-1])
        t = np.concatenate([[0.0], np.cumsum(np.diff(x) / middle)])
        return float(t[-1] - np.interp(self.before, x, t)), float(v[-1])
