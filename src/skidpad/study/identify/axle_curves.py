"""Lateral force over slip angle of each axle of a car, from a log, and the same of a model's tyres.

The forces follow from the motion alone, without a tyre model. A rigid car of mass m and yaw inertia
I_z, on axles l_f in front of and l_r behind its centre of mass (L = l_f + l_r), moves by

    m a_y        = Y_f + Y_r            Y_f = (m a_y l_r + I_z omega') / L
    I_z omega'   = l_f Y_f - l_r Y_r    Y_r = (m a_y l_f - I_z omega') / L

where Y are the forces of the axles across the car. The tyres also push it along,

    F_D = (m a_x + drag + Y_f tan(steer)) / (s / cos(steer) + 1 - s),

with the share s of F_D at the front axle. The front wheels are turned by `steer`, so that

    F_x_f = s F_D,         F_y_f = (Y_f - F_x_f sin(steer)) / cos(steer)
    F_x_r = (1 - s) F_D,   F_y_r = Y_r

    alpha_f = steer - atan((v_y + l_f omega) / v_x),   alpha_r = -atan((v_y - l_r omega) / v_x)

Slip angles are positive when the tyres push to the left; angles and forces are those of the outputs
`alpha_f`, `F_y_f`, ... of `single_track`. Aligning moments, and moments of longitudinal forces that
differ from left to right, count as lateral forces: they shift some per cent between the axles. The
standard deviations that the noise of the channels gives the slip angles and the forces are part of
the result.

`tyre_curve` determines the same forces for a vehicle, to be drawn next to those of the log. The
vehicle drifts straight ahead: at a constant speed v_x, without yaw rate, with v_y = -v_x
tan(alpha_r) and steer = alpha_f - alpha_r. Its other states, such as wheel speeds, wheel loads and
the slip of tyres with a relaxation length, are in balance. The slip angle of one axle is varied,
that of the other one is such that the axles make no yaw moment, as in a steady turn: so the load
that a lateral acceleration moves is that of a turn, too. The forces follow from the accelerations,
so the names of a vehicle's states and outputs do not matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.body import Pose, Velocity, body_of, own_fields
from ...core.checks import array, increasing, not_negative, positive
from ...core.files import brief_repr
from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...run.linearisation import linearise_continuous
from ...run.trim import drifting, slopes, solve, straight
from ...units import Allowed, m, m_s, s
from ..logs.cleaning import even_times, noise_level, noise_passed, samples_of, smoothed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

G = 9.81
"""Gravity of a vehicle without a parameter for it, in m/s²."""
SLOWEST = 0.4
"""Least Froude number v / sqrt(g L): below it slip angles are noise."""
STRAIGHT = 0.3
"""Lateral acceleration v_x omega in m/s² up to which a car counts as driving straight ahead."""
SETTLED: s = 0.3
"""Time for which a car must drive straight before its lateral velocity counts as zero."""
FEWEST = 8
"""Samples that a bin of a curve needs."""


class AxleBins(NamedTuple):
    """Medians of an axle's samples in even intervals of its slip angle."""

    alpha: Array
    """Median slip angle of each bin in rad, (bins,)."""
    F_y: Array
    """Median lateral force in N, (bins,)."""
    low: Array
    """16th percentile of the force in N, (bins,)."""
    high: Array
    """84th percentile of the force in N, (bins,)."""
    error: Array
    """Half of the 95 % interval of the median force in N, (bins,)."""
    samples: Array
    """Number of samples in each bin, (bins,)."""


class AxleSamples(NamedTuple):
    """Slip and forces of an axle (both wheels together), (n,); NaN where samples are left out."""

    alpha: Array
    """Slip angle in rad, positive when the tyres push to the left."""
    F_y: Array
    """Force across the wheels in N, positive to the left."""
    F_x: Array
    """Force along the wheels in N, positive forward."""
    F_z: Array
    """Load in N."""
    alpha_std: Array
    """Standard deviation of the slip angle by the noise of the channels, in rad."""
    F_y_std: Array
    """Standard deviation of the lateral force by the noise of the channels, in N."""

    @property
    def friction_used(self) -> Array:
        """Force in the plane of the road over load, (n,)."""
        return np.hypot(self.F_x, self.F_y) / self.F_z

    def bins(self, count: int = 25, window: int = 1) -> AxleBins:
        """Medians in `count` even intervals of the slip angle; intervals with few samples are left
        out.

        The error of a median counts one sample in `window` as independent.
        """
        known = np.isfinite(self.alpha)
        alpha, force = self.alpha[known], self.F_y[known]
        if alpha.size < FEWEST:
            return AxleBins(*np.empty((6, 0)))
        low, high = np.percentile(alpha, (0.2, 99.8))
        place = np.floor((alpha - low) / max(high - low, 1e-12) * count)
        rows: list[tuple[float, ...]] = []
        for k in range(count):
            inside = place == k
            n = int(inside.sum())
            if n < FEWEST:
                continue
            bottom, middle, top = np.percentile(force[inside], (16.0, 50.0, 84.0))
            # The median of normal samples scatters 1.253 times as much as their mean.
            error = 1.96 * 1.253 * 0.5 * (top - bottom) / np.sqrt(max(n / window, 1.0))
            rows.append((float(np.median(alpha[inside])), middle, bottom, top, error, n))
        return AxleBins(*np.array(rows).reshape(-1, 6).T)


@dataclass(frozen=True)
class AxleCurves:
    """Lateral force over slip angle of both axles of a car, from a log."""

    name: str
    t: Array
    """Times of the samples in s, (n,)."""
    front: AxleSamples
    rear: AxleSamples
    v_x: m_s
    """Median speed of the samples in m/s."""
    window: int
    """Samples over which the channels were smoothed."""
    excluded: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of samples left out, by reason."""
    notes: tuple[str, ...] = ()
    """Where quantities come from that the log does not have, and what is neglected."""

    __repr__ = brief_repr

    @property
    def friction_used(self) -> tuple[float, float]:
        """Friction that the front and the rear axle used most: the 99th percentiles."""
        used = (self.front.friction_used, self.rear.friction_used)
        front, rear = (float(np.nanpercentile(values, 99.0)) for values in used)
        return front, rear

    def tyre_curve(self, vehicle: Vehicle, points: int = 61) -> TyreCurve:
        """Curve of a vehicle's tyres at the median speed and over the slip angles of the log."""
        widest = max(np.nanpercentile(np.abs(axle.alpha), 99.8) for axle in (self.front, self.rear))
        alpha = np.linspace(-1.1 * widest, 1.1 * widest, points)
        return tyre_curve(vehicle, alpha, v_x=self.v_x)

    def plot(
        self,
        path: Any = None,
        vehicles: Vehicle | tuple[Vehicle, ...] = (),
        *,
        title: str | None = None,
        size: tuple[float, float] | None = None,
    ) -> Figure:
        """Figure of both axles' samples and medians with the curves of vehicles, and of the
        friction used over time.

        Args:
            path: PNG, SVG or PDF to write, by its suffix.
            vehicles: vehicles whose tyres are drawn next to the measurement.
            title: in place of the name of the log.
            size: width and height in inches.
        """
        from ...view.plots.identification import axle_figure

        several = vehicles if isinstance(vehicles, tuple) else (vehicles,)
        return axle_figure(
            self.t,
            {"Front axle": self.front, "Rear axle": self.rear},
            [axle.bins(window=self.window) for axle in (self.front, self.rear)],
            [self.tyre_curve(vehicle) for vehicle in several],
            title=self.name if title is None else title,
            path=path,
            size=size,
        )


def axle_curves(
    vehicle: Vehicle,
    channels: Mapping[str, Array],
    t: Array,
    *,
    v_y: Array | None = None,
    noise: Mapping[str, float] | None = None,
    window: s = 0.2,
    v_min: m_s | None = None,
    front_share: tuple[float, float] | None = None,
    z_cg: m | None = None,
    name: str = "log",
) -> AxleCurves:
    """Lateral force over slip angle of each axle from the channels of a log on an even grid.

    Args:
        vehicle: vehicle with a body, which gives mass, yaw inertia and the positions of the axles;
            its tyres are not used.
        channels: arrays (n,) in SI units and ISO 8855 at the centre of mass, NaN where nothing is
            known: `v_x`, `omega`, `steer` (angle of the front wheels), and `a_y`, which may be left
            out if there is `v_y` or `sideslip`; `a_x` is optional.
        t: times in s, evenly spaced, (n,).
        v_y: lateral velocity in m/s, (n,), from an estimator, in place of the channels. Without
            it and without the channels it is estimated by integration, see `integrated_v_y`.
        noise: standard deviations by channel; others are estimated from fast differences.
        window: length in s of the parabolas that smooth and differentiate the channels without a
            delay; at least 5 samples.
        v_min: least speed in m/s; by default 0.4 sqrt(g L).
        front_share: share of the front axle in drive and in brake forces; by default the
            parameters `drive_front` and `brake_front` of the vehicle, or else 0.5.
        z_cg: height of the centre of mass in m; by default the parameter `z_cg` of the vehicle, or
            else 0, which means no load transfer.
        name: name of the log, for titles.
    """
    vehicle = vehicle_of(vehicle)
    t, dt = even_times(t)
    raw = _channels(channels, v_y, len(t))
    count = samples_of(window, dt)
    if len(t) < count:
        raise InvalidValue(
            f"{name!r} has {len(t)} samples, fewer than the {count} of window = {window:g} s"
        )
    smooth = {key: smoothed(values, count, dt) for key, values in raw.items()}
    rate = {key: smoothed(raw[key], count, dt, 1) for key in ("v_x", "v_y", "omega") if key in raw}
    std = {key: float(np.nan_to_num(noise_level(values))) for key, values in raw.items()}
    std |= {key: float(sd) for key, sd in (noise or {}).items() if key in raw}
    car, notes = _car(vehicle, front_share, z_cg), list[str]()
    v_x, omega, steer = smooth["v_x"], smooth["omega"], smooth["steer"]
    # A parabola passes this share of white noise into the value and into the rate.
    passed, passed_rate = (noise_passed(count, dt, order) for order in (0, 1))

    drift = np.zeros(len(t))
    if "v_y" in raw:
        lateral, v_y_std = smooth["v_y"], std["v_y"] * passed
    else:
        lateral, drift = integrated_v_y(v_x, smooth["a_y"], omega, dt)
        v_y_std = 0.0
        notes.append(
            "v_y is integrated from a_y - v_x omega and set to zero where the car drives straight: "
            "its error grows with the time spent in a corner"
        )
    across_std: Any
    if "a_y" in raw:
        a_y, across_std = smooth["a_y"], std["a_y"] * passed
    else:
        a_y = rate["v_y"] + v_x * omega
        across_std = np.hypot(std["v_y"] * passed_rate, std["omega"] * passed * v_x)
        notes.append("a_y is computed as v_y' + v_x omega, as the log has none")
    a_x = smooth["a_x"] if "a_x" in raw else rate["v_x"] - lateral * omega
    if "a_x" not in raw:
        notes.append("a_x is computed as v_x' - v_y omega, as the log has none")
    if car.z_cg == 0.0:
        notes.append("no load moves with a_x, as the height of the centre of mass is not known")
    notes.append(
        "aligning moments of the tyres count as lateral forces, which shifts some per cent"
    )

    slowest = SLOWEST * np.sqrt(G * car.base) if v_min is None else positive("v_min", v_min, "m/s")
    parts = (v_x, lateral, omega, rate["omega"], steer, a_x, a_y)
    unknown = ~np.isfinite(np.sum(parts, axis=0))
    slow = ~unknown & ~(v_x > slowest)
    excluded = {
        "a channel is unknown": int(unknown.sum()),
        f"slower than {slowest:.3g} m/s": int(slow.sum()),
    }
    kept = ~(unknown | slow)
    if not kept.any():
        counts = ", ".join(f"{n} samples: {reason}" for reason, n in excluded.items() if n)
        raise InvalidValue(f"no sample of {name!r} is left for axle curves ({counts})")

    # Samples that are left out are NaN from here on.
    v = np.where(kept, v_x, np.nan)
    forces = car.forces(v, a_x, a_y, rate["omega"], steer)
    turning_std = car.I_z * std["omega"] * passed_rate
    lateral_std = np.hypot(v_y_std, drift)
    steer_std, yaw_std = std["steer"] * passed, std["omega"] * passed
    axles: list[AxleSamples] = []
    for side, (F_x, F_y, F_z) in zip((1.0, -1.0), forces, strict=True):
        arm, other = (car.l_f, car.l_r) if side > 0.0 else (car.l_r, car.l_f)
        turn, turn_std = (steer, steer_std) if side > 0.0 else (0.0, 0.0)
        alpha = turn - np.arctan((lateral + side * arm * omega) / v)
        alpha_std = np.hypot(np.hypot(lateral_std, arm * yaw_std) / v, turn_std)
        F_y_std = np.hypot(car.m * other * across_std, turning_std) / (car.base * np.cos(turn))
        axles.append(AxleSamples(alpha, F_y, F_x, F_z, alpha_std, np.where(kept, F_y_std, np.nan)))
    speed = float(np.nanmedian(v))
    front, rear = axles
    return AxleCurves(name, t, front, rear, speed, count, excluded, (*car.notes, *notes))


def _channels(channels: Mapping[str, Array], v_y: Array | None, n: int) -> dict[str, Array]:
    """Check the channels that the forces follow from, with `v_y` from the sideslip if needed."""
    wanted = ("v_x", "omega", "steer", "a_x", "a_y", "v_y", "sideslip")
    used = {key: array(key, channels[key], (n,), None) for key in wanted if key in channels}
    if v_y is not None:
        used["v_y"] = array("v_y", v_y, (n,), None)
    missing = [key for key in ("v_x", "omega", "steer") if key not in used]
    if not {"a_y", "v_y", "sideslip"} & set(used):
        missing.append("a_y (or v_y, or sideslip)")
    if missing:
        raise InvalidValue(
            f"axle curves need the channels {', '.join(missing)}, and the log has only "
            f"{', '.join(channels) or 'none'}"
        )
    angle = used.pop("sideslip", None)
    if angle is not None and "v_y" not in used:
        used["v_y"] = used["v_x"] * np.tan(angle)
    return used


def integrated_v_y(v_x: Array, a_y: Array, omega: Array, dt: s) -> tuple[Array, Array]:
    """Lateral velocity in m/s by integration of a_y - v_x omega, and its standard deviation.

    The integral drifts with every bias. The drift is what remains of it where the car drives
    straight ahead, where v_y is zero, and is interpolated between these places. The standard
    deviation is the usual rate of the drift times the time to the closest straight.
    """
    slope = a_y - v_x * omega
    integral = np.concatenate(([0.0], np.cumsum(0.5 * dt * np.nan_to_num(slope[1:] + slope[:-1]))))
    width = 2 * round(SETTLED / dt) + 1
    curved = ~(np.abs(v_x * omega) < STRAIGHT) | ~np.isfinite(slope)
    near_a_curve = np.convolve(curved, np.ones(width), mode="same") > 0.5
    anchors = np.flatnonzero(~near_a_curve)
    if not anchors.size:
        raise InvalidValue(
            f"v_y cannot be estimated: the car never drives straight (|v_x omega| < {STRAIGHT} "
            f"m/s²) for {2 * SETTLED:g} s; give v_y, from an estimator or another sensor"
        )
    places = np.arange(len(slope))
    v_y = integral - np.interp(places, anchors, integral[anchors])
    apart = np.diff(anchors) * dt
    rates = np.diff(integral[anchors]) / apart
    usual = float(np.sqrt(np.average(rates**2, weights=apart))) if apart.size else 0.0
    after = np.clip(np.searchsorted(anchors, places), 0, len(anchors) - 1)
    before = np.clip(after - 1, 0, None)
    away = np.minimum(np.abs(anchors[after] - places), np.abs(places - anchors[before])) * dt
    v_y[~np.isfinite(slope)] = np.nan
    return v_y, usual * away


@dataclass(frozen=True)
class _Car:
    """Properties of a car that determine its forces, in addition to its motion."""

    m: float
    I_z: float
    l_f: float
    l_r: float
    z_cg: float
    shares: Array
    """Share of the front axle in drive and in brake forces."""
    speeds: Array
    """Speeds in m/s of `loads` and `drag`, (k,)."""
    loads: Array
    """Loads of front and rear axle in N when driving straight ahead, (2, k)."""
    drag: Array
    """Force of the tyres in N that holds the speed, (k,)."""
    notes: tuple[str, ...]

    @property
    def base(self) -> float:
        return self.l_f + self.l_r

    def forces(
        self, v_x: Array, a_x: Array, a_y: Array, omega_rate: Array, steer: Array
    ) -> list[tuple[Array, Array, Array]]:
        """F_x, F_y and F_z of the front and the rear axle; equations in the docstring of the
        module."""
        Y_f = (self.m * a_y * self.l_r + self.I_z * omega_rate) / self.base
        Y_r = (self.m * a_y * self.l_f - self.I_z * omega_rate) / self.base
        pushed = self.m * a_x + np.interp(v_x, self.speeds, self.drag) + Y_f * np.tan(steer)
        share = np.where(pushed > 0.0, *self.shares)
        F_D = pushed / (share / np.cos(steer) + 1.0 - share)
        F_x_f, F_x_r = share * F_D, (1.0 - share) * F_D
        F_y_f = (Y_f - F_x_f * np.sin(steer)) / np.cos(steer)
        moved = self.m * self.z_cg / self.base * a_x
        F_z_f, F_z_r = (np.interp(v_x, self.speeds, load) for load in self.loads)
        left_out = 0.0 * v_x
        return [
            (F_x_f + left_out, F_y_f + left_out, F_z_f - moved),
            (F_x_r + left_out, Y_r + left_out, F_z_r + moved),
        ]


def _car(vehicle: Vehicle, front_share: tuple[float, float] | None, z_cg: float | None) -> _Car:
    """Mass, axles and loads of a vehicle; the loads and the drag from its outputs at a few speeds,
    so that any kind of aerodynamics counts."""
    shape = (body_of(vehicle, "an axle curve") and vehicle).geometry
    l_f, l_r = axle_distances(vehicle)
    p, speeds = vehicle.params, np.array([5.0, 15.0, 30.0, 50.0, 80.0]) * np.sqrt((l_f + l_r) / 2.5)
    gravity = float(getattr(p, "g", G))
    standing = shape.mass * gravity * np.array([[l_r], [l_f]]) / (l_f + l_r)
    notes, rows = list[str](), list[list[float]]()
    for v in speeds:
        try:
            x, u, _ = straight(vehicle, float(v), may_change_speed=True)
        except InvalidValue:
            break
        outputs = vehicle.outputs(x, u)
        row: list[float] = []
        for whole in ("F_z_f", "F_z_r", "F_x_f", "F_x_r"):
            both = [f"{whole}l", f"{whole}r"]
            names = [whole] if hasattr(outputs, whole) else both
            known = [float(getattr(outputs, key)) for key in names if hasattr(outputs, key)]
            row.append(sum(known) if len(known) == len(names) else np.nan)
        if np.isnan(row[:2]).any():
            break
        rows.append(np.nan_to_num(row).tolist())
    if rows:
        front, rear, *along = np.array(rows).T
        loads, drag, speeds = np.array([front, rear]), np.sum(along, axis=0), speeds[: len(rows)]
    else:
        loads, drag = np.tile(standing, len(speeds)), np.zeros(len(speeds))
        notes.append(f"loads are those at rest, as {vehicle.name} has no outputs for them")
    own = (float(getattr(p, key, 0.5)) for key in ("drive_front", "brake_front"))
    shares = array("front_share", front_share or tuple(own), (2,), Allowed(0.0, 1.0))
    return _Car(
        m=shape.mass,
        I_z=shape.inertia,
        l_f=l_f,
        l_r=l_r,
        z_cg=float(getattr(p, "z_cg", 0.0)) if z_cg is None else not_negative("z_cg", z_cg, "m"),
        shares=shares,
        speeds=speeds,
        loads=loads,
        drag=drag,
        notes=tuple(notes),
    )


ORIGIN = Pose(0.0, 0.0, 0.0)
NUDGE = 1e-6
"""Change of a slip angle in rad for the derivative of the state by it."""


class TyreCurve(NamedTuple):
    """Lateral forces of the axles of a vehicle over slip angle."""

    name: str
    """Name of the vehicle."""
    alpha: Array
    """Slip angle in rad, (points,); positive when the tyres push to the left."""
    F_y_f: Array
    """Force of the front axle in N, (points,); NaN where the vehicle finds no balance."""
    F_y_r: Array
    """Force of the rear axle in N, (points,)."""


def axle_distances(vehicle: Vehicle) -> tuple[m, m]:
    """Distances in m of the front and the rear axle from the centre of mass."""
    shape = vehicle.geometry
    ahead = shape.centre_of_mass[0]
    return shape.front_axle - ahead, ahead - shape.rear_axle


def tyre_curve(vehicle: Vehicle, alpha: Array, *, v_x: m_s) -> TyreCurve:
    """Lateral forces of the axles of a vehicle over slip angles, at a speed in m/s.

    Args:
        vehicle: continuous vehicle with a body, tyres that slip and steered front wheels.
        alpha: slip angles in rad, increasing, (points,).
        v_x: speed along the vehicle.
    """
    vehicle, angles = vehicle_of(vehicle), increasing("alpha", alpha, "rad")
    rig = _Rig(vehicle, positive("v_x", v_x, "m/s"))
    front, rear = (_sweep(rig, angles, axle) for axle in (0, 1))
    return TyreCurve(vehicle.name, angles, front, rear)


class _Rig:
    """A vehicle that drifts straight ahead with its other states in balance."""

    def __init__(self, vehicle: Vehicle, v_x: m_s) -> None:
        self.vehicle, self.v_x = vehicle, v_x
        self.body = body_of(vehicle, "a tyre curve")
        trim = straight(vehicle, v_x, may_change_speed=True)
        self.u, self.input = np.array(record.flatten(trim.u), dtype=float), trim.u
        self.start = np.array(record.flatten(trim.x), dtype=float)
        steer, p = self.body.steer, vehicle.params
        field = None
        if steer is not None:
            (field,) = own_fields(vehicle.State, lambda x: (steer(x, trim.u, p),))
        sideways = Velocity(v_x, 0.1 * v_x, 0.1)
        placed = self._placed(self.start, ORIGIN, sideways)
        drifts = np.allclose(self.velocity(placed.tolist()), sideways, rtol=1e-9)
        if not vehicle.model.continuous or field is None or not drifts:
            raise InvalidValue(
                f"{vehicle.name!r} has no tyre curve: lateral velocity, yaw rate and the angle of "
                "the front wheels must be among the states of a continuous model"
            )
        self.steer = record.names(vehicle.State).index(field)
        # Pose and velocity are held: all states that differ when the body is put elsewhere.
        moved = self._placed(self.start, Pose(1.0, 2.0, 0.5), Velocity(2.0 * v_x, 0.1, 0.1))
        held = (moved != self.start) | (placed != self.start)
        held[self.steer] = True
        self.inner = np.flatnonzero(~held & ~drifting(vehicle, self.start))

    def _placed(self, row: Array, pose: Pose, v: Velocity) -> Array:
        x = record.unflatten(self.vehicle.State, row.tolist())
        moved = self.body.placed(x, pose, v, self.vehicle.params)
        return np.array(record.flatten(moved), dtype=float)

    def velocity(self, row: Sequence[float]) -> Array:
        x = record.unflatten(self.vehicle.State, list(row))
        return np.array(self.body.velocity(x, self.input, self.vehicle.params), dtype=float)

    def at(self, row: Array, angles: tuple[float, float]) -> Array:
        """State with these slip angles of front and rear axle, the inner states as in `row`."""
        front, rear = angles
        moved = self._placed(row, ORIGIN, Velocity(self.v_x, -self.v_x * np.tan(rear), 0.0))
        moved[self.steer] = front - rear
        moved[self.inner] = row[self.inner]
        return moved

    def accelerations(self, row: Array) -> tuple[Array, Array, Array]:
        """Rates of the velocity (v_x, v_y, omega), all rates, and their derivatives by the
        state."""
        rate, A, _ = linearise_continuous(self.vehicle, row, self.u)
        by_state = slopes(self.velocity, row)
        return by_state @ rate, np.asarray(rate), np.asarray(A)

    def forces(self, row: Array) -> tuple[float, float]:
        """Forces in N across the wheels of front and rear axle."""
        (_, side, turn), _, _ = self.accelerations(row)
        shape, (l_f, l_r) = self.vehicle.geometry, axle_distances(self.vehicle)
        Y, M = shape.mass * (side + turn * shape.centre_of_mass[0]), shape.inertia * turn
        front, rear = (Y * l_r + M) / (l_f + l_r), (Y * l_f - M) / (l_f + l_r)
        return float(front / np.cos(row[self.steer])), float(rear)

    def balance(self, row: Array, angles: tuple[float, float], free: int | None) -> Array | None:
        """State with these slip angles in balance, or None; `free` is the axle (0 or 1) whose angle
        is such that there is no yaw moment, from the given one on."""

        def state(z: Array, inner: Array) -> Array:
            own = list(angles)
            if free is not None:
                own[free] = float(z[-1])
            full = self.at(row, (own[0], own[1]))
            full[self.inner] = inner
            return full

        def imbalance(z: Array) -> tuple[Array, Array, Array]:
            inner = z[: len(self.inner)]
            full = state(z, inner)
            motion, rate, A = self.accelerations(full)
            left, slope = rate[self.inner], A[np.ix_(self.inner, self.inner)]
            if free is None:
                return left, slope, z
            by_angle = (state(z + NUDGE, inner) - state(z - NUDGE, inner)) / (2.0 * NUDGE)
            by_rates = slopes(self.velocity, full)[2]
            rows = np.column_stack([A[:, self.inner], A @ by_angle])
            slope = np.vstack([rows[self.inner], by_rates @ rows])
            return np.append(left, motion[2]), slope, z

        extra = [] if free is None else [angles[free]]
        z, left = solve(imbalance, np.append(row[self.inner], extra))
        return None if left is not None else state(z, z[: len(self.inner)])

    def slip_angle(self, row: Array, axle: int) -> float:
        """Slip angle in rad of the front (0) or the rear (1) axle."""
        rear = -float(np.arctan2(self.velocity(row.tolist())[1], self.v_x))
        return rear if axle else float(row[self.steer]) + rear


def _sweep(rig: _Rig, angles: Array, axle: int) -> Array:
    """Forces of an axle over slip angles, from the smallest one outwards; each balance starts from
    the one before."""
    curve = np.full(len(angles), np.nan)
    middle = int(np.argmin(np.abs(angles)))
    for way in (range(middle, len(angles)), range(middle - 1, -1, -1)):
        row, other, free = rig.start, 0.0, True
        for k in way:
            own = float(angles[k])
            pair = (own, other) if axle == 0 else (other, own)
            found = rig.balance(row, pair, 1 - axle) if free else None
            if found is None:
                # The other axle makes no greater force: it keeps its angle from here on.
                free = False
                found = rig.balance(row, pair, None)
            if found is None:
                break
            row, other = found, rig.slip_angle(found, 1 - axle)
            curve[k] = rig.forces(row)[axle]
    return curve
