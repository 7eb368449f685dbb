"""Events of Formula Student against the clock: skidpad and acceleration.

Any car that fits may drive them. Times are smooth in its parameters: the skidpad's is that of the
fastest steady turn, and the acceleration holds slips of the tyres by continuous feedback, several
side by side, and counts the drive at the quickest one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Demand
from ...core.checks import not_negative, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...ops import Grid1, grid, interpolate
from ...run.fastest_turn import FastestTurn, fastest_turn
from ...tyres.contract import Contact, each_tyre
from ...units import m, m_s, m_s2, rad, s
from ...vehicles.parts.powertrain.electric import WHEEL_DRIVES, WheelMotors
from .case import POINTS, Case, Path, path_of_curvature, straight
from .case_run import OK, CaseRun, cubic_at, passing_time
from .cone_courses import CONE, box_of, reach, struck, width_needed
from .driver import WHEELS
from .manoeuvre import Performing, Rounds, StandardManoeuvre
from .metric import Chart, Curve, Findings
from .search import least_value, tyre_deceleration
from .subject import Subject, drive_needed, tyres_needed

LEAD: m = 15.0
"""Straight before the first circle and after the last."""
EASED: m = 4.0
"""Over which the driver turns the wheel from a curvature to the next."""
SHOWN = 0.95
"""Speed at which the figure of eight is driven, over that of the fastest steady turn."""
PRECISE = {"settling": 0.2, "damping": 2.3, "speed.k_p": 3.0}
"""Of a driver who stays on the path; what counts does not depend on it."""
CLAIMED = 1.5
"""Lateral acceleration of a steady turn over the grip that a vehicle says it has, from which on its
equations do not know this grip."""
SLIPS = np.geomspace(0.3, 3.0, 12)
"""Longitudinal slips of the driven wheels that are tried, over that at the peak of their tyres."""
CEILINGS = np.geomspace(0.85, 4.0, 24)
"""Ceilings of the drive torque that are tried, over what the driven tyres transmit at rest."""
FACTORS = np.geomspace(0.93, 1.07, 5)
"""Factors on the best slip and on the best ceiling that are tried next."""
NEAR = (0.85, 1.0, 1.15)
"""Slips that are tried with each ceiling, over the best one with the highest."""
MOST_SLIP = 0.6
"""Longitudinal slip up to which the peak of a tyre is looked for."""
NEARLY = 0.9999
"""Share of the largest force that counts as the peak, which some tyres keep from there on."""
ROLLING: m_s = 10.0
"""Speed at which it is looked for."""
SHARES = np.geomspace(0.4, 1.0, 6)
"""Shares of the drive that are tried for vehicles without spinning wheels."""
G: m_s2 = 9.81
LONGEST: s = 60.0
"""Longest time in which a vehicle has to arrive."""


Laps = tuple[tuple[m, m], tuple[m, m]]
"""Distances along a path at which timed laps begin and end."""


class Course(NamedTuple):
    """The line of a car through the figure of eight."""

    path: Path
    """At 1 m/s."""
    laps: Laps
    """To the right and to the left."""


@dataclass(frozen=True)
class FormulaSkidpad(StandardManoeuvre):
    """A figure of eight; the second lap on each side is timed.

    The car drives the tightest circle on which it stays `margin` away from the inner cones, since
    the time is 2π sqrt(R / a). It is as fast there as its equations of motion have a steady turn
    (`fastest_turn`). The figure of eight is then driven a little slower, to be
    looked at.
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
    time [s]: Lap of the circle by the fastest steady turn of the equations of motion.
    speed [m/s]: Of the centre of mass in that turn.
    radius [m]: Of that circle.
    lateral_acceleration [m/s²]: In that turn: v² / R.
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
        """Radius of the circle that the centre of mass drives along, in m.

        The car is nearest to the inner cones at its rear axle if it does not slip, so that at the
        limit it stays farther away.
        """
        rear_axle = 0.5 * self.inner + CONE + self.margin - box_of(car).right
        return float(np.hypot(rear_axle, car.l_r[0]))

    def unfit(self, car: Subject) -> str:
        """Why a vehicle cannot do it."""
        lacks = tyres_needed(car) or width_needed(car, 0.8, self.width)
        if lacks:
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
        """The line, in axes at its start: in, twice round to the right, twice to the left and out.
        From circle to circle the curvature changes linearly, half of the way on each side of the
        line between the centres."""
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
        """Where cones stand, (n, 2), seen from the start of the path on a line of a radius: inner
        circles, and those parts of the outer ones that are neither lane nor way in or out."""
        angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
        ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        centres = np.array([[LEAD, -self.middle], [LEAD, self.middle]])
        inside = np.concatenate([centre + 0.5 * self.inner * ring for centre in centres])
        outside = np.concatenate([centre + 0.5 * self.outer * ring for centre in centres])
        away = np.hypot(*(outside[:, None] - centres).transpose(2, 0, 1)).min(axis=1)
        free = (away > 0.5 * self.outer - 1e-6) & (np.abs(outside[:, 1]) > 0.5 * self.width)
        return np.concatenate([inside, outside[free]]) + np.array([0.0, self.middle - radius])

    def perform(self, car: Subject) -> Performing:
        """The fastest turns are computed, then all of it is driven a little slower."""
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
        (run,) = yield [
            Case(
                label=f"{pace[0]:.1f} m/s",
                duration=1.1 * (laps[1][1] + 0.5 * LEAD) / float(np.min(pace)),
                v=pace,
                path=path,
                driving=PRECISE | {"v_gain": pace},
                run_in=0.0,
            )
        ]
        cones = self.cones(radius)
        values = {
            "time": 2.0 * np.pi * radius / v,
            "speed": v,
            "radius": np.where(np.isfinite(v), radius, np.nan),
            "lateral_acceleration": v * v / radius,
        }
        theory = {
            "time": 2.0 * np.pi * np.sqrt(radius / grip),
            "speed": np.sqrt(grip * radius),
            "lateral_acceleration": grip,
        }
        curves = [
            Curve(run["x"][:, 0], run["y"][:, 0], run.label),
            Curve(cones[:, 0], cones[:, 1], "cones", "cones"),
        ]
        notes = [f"no time: {why[0]}"] if why[0] else []
        if run.outcomes[0] != OK or struck(car, run, cones, until=laps[1][1])[:, 0].any():
            said = run.outcomes[0] if run.outcomes[0] != OK else "touches a cone"
            notes.append(f"the figure of eight at {run.label}, which is only shown: {said}")
        chart = Chart("Skidpad", "x in m", "y in m", curves, equal=True)
        return Findings(self.metrics(values, theory), [chart], notes)

    def measure(self, car: Subject, drive: CaseRun) -> Findings:
        """No log is comparable: the time is that of the equations of motion."""
        raise InvalidValue(
            f"{self.name} computes the fastest turn of {car.name} from its equations of motion: "
            f"one log does not tell it, and {drive.label} is not used"
        )

    def _turn(self, vehicle: Vehicle, radius: m) -> FastestTurn | str:
        """The fastest one on the line, or why there is none."""
        try:
            turn = fastest_turn(vehicle, radius)
        except InvalidValue as error:
            return str(error)
        a, grip = turn.v**2 / radius, vehicle.limits.grip
        if a > CLAIMED * grip:
            return (
                f"the equations of {vehicle.name!r} have steady turns at {a:.0f} m/s², beyond its "
                f"grip of {grip:.0f} m/s²: nothing in them limits its tyres"
            )
        return turn

    def _in_the_way(self, car: Subject, turn: FastestTurn) -> str:
        """Which cones a car touches in a steady turn; empty if none."""
        inside, outside = self.room(car, self.line_radius(car), turn.sideslip)
        if min(inside, outside) > 0.0:
            return ""
        return f"{car.name} touches the {'inner' if inside <= outside else 'outer'} cones"

    def room(self, car: Subject, radius: m, sideslip: rad) -> tuple[m, m]:
        """Between a car in a steady turn and the bases of the inner and of the outer cones."""
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
    """Length of the clothoid that leads from a circle to the point at the distance `middle` from
    its centre, straight there, and the heading against the tangent of the circle next to it."""

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
    """The mean curvature of a path over a stretch about each point."""
    s = np.linspace(0.0, path.length, POINTS)
    before, after = (interpolate(path.heading, s + side * 0.5 * EASED) for side in (-1.0, 1.0))
    return grid((after - before) / EASED, step=path.length / (POINTS - 1))


def lap_time(run: CaseRun, begin: m, end: m) -> Array:
    """Time from one distance along the path to another in s, (V,)."""
    rate = np.gradient(run["progress"], run.t, axis=0)
    start, stop = (passing_time(run.t, run["progress"], rate, at) for at in (begin, end))
    return stop - start


class Launch(NamedTuple):
    """How a vehicle is launched: the setting to find the best of, and all that is fixed."""

    by_slip: bool
    """Whether the setting is the slip of the driven wheels over that at the peak of their tyres;
    else it is a share of the drive, of a vehicle whose state has no spinning wheels."""
    slip: Array
    """Longitudinal slip of the driven wheels at the peak of their tyres, (V,)."""
    a: Array
    """Acceleration demanded of the whole drive, (V,)."""
    reached: Array
    """Acceleration that the driven tyres transmit at rest, (V,); NaN without spinning wheels."""
    grip: Array
    """Acceleration with all tyres at their longitudinal peak under static loads, (V,)."""
    driving: dict[str, Array]
    """Parameters of the driver."""


def launch_of(car: Subject) -> Launch:
    """The launch of a car with its whole drive; if its wheels do not spin as states, with at most
    1.5 times what the tyres can transmit."""
    along = tyre_deceleration(car)
    across = np.array([min(vehicle.limits.grip, 2.0 * G) for vehicle in car.each])
    grip = np.where(np.isfinite(along), along, across)
    by_slip = {f"spin_{w}" for w in WHEELS} <= set(car.vehicle.State._fields)
    most = np.array([vehicle.limits.a_max for vehicle in car.each])
    if not by_slip:
        unknown = np.full(car.variants, np.nan)
        return Launch(by_slip, unknown, np.minimum(most, 1.5 * grip), unknown, grip, {})
    radii = [{wheel.name: wheel.radius for wheel in v.geometry.wheels} for v in car.each]
    driven = [_driven_loads(vehicle) for vehicle in car.each]
    reached = grip * np.array([front + rear for front, rear in driven])
    slip = [_peak_slip(vehicle, loads) for vehicle, loads in zip(car.each, driven, strict=True)]
    driving = {
        "traction.radius_f": np.array([radius["fl"] for radius in radii]),
        "traction.radius_r": np.array([radius["rl"] for radius in radii]),
        "traction.lag": np.array([getattr(vehicle.params, "t_tau", 0.0) for vehicle in car.each]),
    }
    return Launch(by_slip, np.array(slip), most, reached, grip, driving)


def _driven_loads(vehicle: Vehicle) -> tuple[float, float]:
    """Shares of the static weight that driven wheels carry in front and at the rear."""
    p, shape = vehicle.params, vehicle.geometry
    layout = getattr(getattr(p, "powertrain", None), "layout", None)
    if layout is not None:
        front, _, rear, _ = layout.weights()
    else:
        u = vehicle.body.command(record.build(vehicle.State), Demand(a=1.0), p)
        front, rear = u.tau_fl, u.tau_rl
    ahead = (shape.centre_of_mass[0] - shape.rear_axle) / shape.wheel_base
    return ahead * float(front > 0.0), (1.0 - ahead) * float(rear > 0.0)


def _peak_slip(vehicle: Vehicle, driven: tuple[float, float]) -> float:
    """Slip at which the first of the driven tyres has nearly its largest longitudinal force."""
    tyres = getattr(vehicle.params, "tyres", None)
    if tyres is None:
        return MOST_SLIP
    weight = vehicle.geometry.mass * G
    each = [each_tyre(tyres)[k] for k in (0, 2)]
    pairs = zip(each, driven, strict=True)
    return min((peak_slip_of(tyre, 0.5 * share * weight) for tyre, share in pairs if share > 0.0),
               default=MOST_SLIP)  # fmt: skip


def peak_slip_of(tyre: Any, load: float) -> float:
    """Slip at which the longitudinal force of a tyre first is nearly its largest."""
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
    """From rest over a straight, the clock starts a little after the car."""

    way: m = 75.0
    before: m = 0.3
    """Distance that the car covers before the clock starts."""
    name = "formula_acceleration"
    title = "Formula Student acceleration"
    source = "Formula Student Rules, dynamic events, acceleration"
    needs = (drive_needed,)
    METRICS = """
    time [s]: Over {test.way:g} m, from {test.before:g} m after the start on.
    end_speed [m/s]: At the end of it.
    """

    def perform(self, car: Subject) -> Performing:
        """Drive torque held at a longitudinal slip, the quickest of all slips; of a car without
        spinning wheels, a share of its drive."""
        launch = launch_of(car)
        transmitted = np.fmin(launch.a, launch.reached)
        duration = 1.6 * self.closed_form(float(np.min(transmitted))) + 1.0
        run = yield from self._quickest(launch, duration)
        if not np.isfinite(self.passage(run)[0]).all():  # its power is small
            run = yield from self._quickest(launch, max(LONGEST, duration))
        time, end_speed = self.passage(run)
        pairs = zip(car.each, launch.grip, strict=True)
        theory = np.array([self.theory(vehicle, grip) for vehicle, grip in pairs]).T
        known = [None if np.isnan(row).any() else row for row in theory]
        metrics = self.metrics(
            {"time": time, "end_speed": end_speed}, {"time": known[0], "end_speed": known[1]}
        )
        on = run["x"][:, 0] - run["x"][0, 0] <= 1.1 * self.way
        curve = Curve(run["x"][on, 0], run["v_x"][on, 0], run.label)
        chart = Chart("Acceleration", "way in m", "speed in m/s", [curve])
        late = f"{run.outcomes[0]}, not over the line within {run.t[-1]:.0f} s"
        return Findings(metrics, [chart], [] if np.isfinite(time[0]) else [f"{run.label}: {late}"])

    def _quickest(self, launch: Launch, duration: s) -> Rounds:
        """The quickest drive: by the slip that is held, then by the ceiling of the torque, then by
        the slip again. Torque beyond the ceiling is never demanded, so that a car that has more
        of it is as quick."""
        variants = len(launch.a)

        def time(run: CaseRun) -> Array:
            return self.passage(run)[0]

        if not launch.by_slip:
            _, run = yield from least_value(
                SHARES, variants, lambda share: self._case(launch, duration, share=share), time
            )
            return run
        slip, _ = yield from least_value(
            SLIPS, variants, lambda slip: self._case(launch, duration, slip, CEILINGS[-1]), time
        )
        # Times over slip and ceiling have several valleys, so these are tried in pairs.
        pairs = [(near, ceiling) for ceiling in CEILINGS for near in NEAR]
        runs = yield [self._case(launch, duration, near * slip, ceiling) for near, ceiling in pairs]
        best = np.argmin(np.nan_to_num(np.stack([*map(time, runs)]), nan=np.inf), axis=0)
        near, ceiling = np.array(pairs)[best].T
        slip = near * slip
        factor, _ = yield from least_value(
            FACTORS, variants, lambda f: self._case(launch, duration, slip, f * ceiling), time
        )
        ceiling = factor * ceiling
        _, run = yield from least_value(
            FACTORS, variants, lambda f: self._case(launch, duration, f * slip, ceiling), time
        )
        return run

    def _case(
        self,
        launch: Launch,
        duration: s,
        slip: Array | float = 1.0,
        ceiling: Array | float = 1.0,
        share: Array | float = 1.0,
    ) -> Case:
        """A drive that holds a slip (over that at the peak of the tyres) below a ceiling of the
        torque; of a car without spinning wheels, one with a share of its drive."""
        a = share * launch.a
        driving, label = launch.driving, f"{a[0]:.1f} m/s² demanded"
        if launch.by_slip:
            held, a = slip * launch.slip, np.minimum(launch.a, ceiling * launch.reached)
            feedforward = np.minimum(launch.reached / a, 1.0)
            driving = driving | {"traction.slip": held, "traction.feedforward": feedforward}
            label = f"slip {held[0]:.3f}"
        return Case(
            label=label,
            duration=duration,
            a=1.0,
            a_gain=a,
            path=straight(),
            rests=True,
            hold=0.0,
            run_in=0.0,
            driving=driving,
        )

    def passage(self, run: CaseRun) -> tuple[Array, Array]:
        """Time over the way and speed at its end, each (V,); NaN of one that did not arrive."""
        x_rate = run["v_x"] * np.cos(run["yaw"]) - run["v_y"] * np.sin(run["yaw"])
        way = run["x"] - run["x"][0]
        start, end = (
            passing_time(run.t, way, x_rate, at) for at in (self.before, self.before + self.way)
        )
        time = np.where(run.done, end - start, np.nan)
        return time, np.where(np.isfinite(time), cubic_at(run.t, run["v_x"], end), np.nan)

    def closed_form(self, a: float) -> s:
        """Time of an even acceleration in m/s²."""
        return float(np.sqrt(2.0 * (self.before + self.way) / a) - np.sqrt(2.0 * self.before / a))

    def theory(self, vehicle: Vehicle, grip: m_s2) -> tuple[s, m_s]:
        """Time and end speed with an acceleration that grip, power and speed of the motors limit;
        NaN where a powertrain has more than that, such as gears."""
        powertrain, limits = getattr(vehicle.params, "powertrain", None), vehicle.limits
        a = min(limits.a_max, grip)
        if powertrain is not None and not isinstance(powertrain, WHEEL_DRIVES):
            return np.nan, np.nan
        if not isinstance(powertrain, WheelMotors):
            return self.closed_form(a), float(np.sqrt(2.0 * a * (self.before + self.way)))
        by_mass = powertrain.efficiency * powertrain.P_max / vehicle.geometry.mass
        return self.limited(a, by_mass, limits.v_max)

    def limited(self, a: m_s2, power_by_mass: float, v_max: m_s) -> tuple[s, m_s]:
        """Time and end speed of an even acceleration, then of a power in W/kg, then of a speed."""
        x = np.linspace(0.0, self.before + self.way, 20_001)
        v_even = min(power_by_mass / a, v_max)
        x_even = 0.5 * v_even**2 / a
        # At a power v² dv = P / m dx.
        powered = np.cbrt(v_even**3 + 3.0 * power_by_mass * np.maximum(x - x_even, 0.0))
        v = np.minimum(np.where(x < x_even, np.sqrt(2.0 * a * x), powered), v_max)
        middle = 0.5 * (v[1:] + v[:-1])
        t = np.concatenate([[0.0], np.cumsum(np.diff(x) / middle)])
        return float(t[-1] - np.interp(self.before, x, t)), float(v[-1])
