"""Lidar: ranges along the rays of a fan, on any mounting, with noise and motion distortion.

Ranges follow REP 117 of ROS: a distance in m, `inf` if nothing is within range, `-inf` if something
is closer than the sensor can measure, and `nan` for a lost beam.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.arrays import Array
from ..core.checks import floats, must_be
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..geometry.polygon import edges_at
from ..geometry.pose import placed
from ..random import streams
from ..units import Allowed, m, m_s, non_negative, rad, rad_s, s
from .motion import AT_BODY_POINT, Mounting, checked_mounting, pose_in_world
from .sensor import Sampler, check_sampling

if TYPE_CHECKING:
    from ..geometry.raycast.scene import Scene

_FULL_TURN = 2.0 * pi


class Twist(NamedTuple):
    """Motion of the body point in body axes."""

    v_x: m_s = 0.0
    """Velocity of the body point along the body, forward positive."""
    v_y: m_s = 0.0
    """Velocity of the body point across the body, positive to the left."""
    omega: rad_s = 0.0
    """Yaw rate, positive to the left."""


AT_REST = Twist()


@dataclass(frozen=True, kw_only=True)
class Lidar:
    """Planar laser scanner.

    Beam k of n is at the angle angle_min + k (angle_max - angle_min) / (n - 1) from the sensor's x
    axis, positive to the left; over a full turn the last beam stops one spacing short of the first.
    """

    name: str = "lidar"
    """Name of its random streams."""
    rays: int = 1080
    """Beams per scan, 1 to a million."""
    angle_min: rad = -pi
    """Angle of the first beam."""
    angle_max: rad = pi
    """Angle of the last beam, at most a full turn beyond `angle_min`."""
    range_min: m = 0.0
    """Smallest range; closer objects give -inf."""
    range_max: m = inf
    """Largest range; farther objects give inf."""
    mounting: Mounting = AT_BODY_POINT
    """Pose on the vehicle; roll and pitch must be 0, and z has no effect."""
    rate: float | None = None
    """Scans per second in Hz; None for one scan at every step."""
    delay: s = 0.0
    """Smallest age of a scan when it becomes available."""
    std: m = 0.0
    """Standard deviation of the noise of a range."""
    std_relative: float = 0.0
    """Standard deviation of noise proportional to the range, as a fraction of it."""
    dropout: float = 0.0
    """Fraction of the beams that are lost, 0 to 1."""
    distorted: bool = False
    """Whether a scan is distorted by the motion of the vehicle; needs a rate.

    The beams of a scan are then cast one after the other over 1/rate, the last one at the time
    stamp, each from the pose at its time.
    """

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        check_sampling("Lidar", self.rate, self.delay, self.dropout)
        if isinstance(self.rays, bool) or not isinstance(self.rays, int) or not (
            1 <= self.rays <= 1_000_000
        ):  # fmt: skip
            raise InvalidValue(f"Lidar.rays = {self.rays!r} must be a whole number from 1 to 1e6")
        for name in ("angle_min", "angle_max"):
            must_be(f"Lidar.{name}", getattr(self, name), Allowed(), "rad")
        opening = self.angle_max - self.angle_min
        if not 0.0 <= opening <= _FULL_TURN * (1.0 + 1e-12):
            raise InvalidValue(
                f"Lidar.angle_min = {self.angle_min} rad and angle_max = {self.angle_max} rad: "
                "the opening must be from 0 to a full turn"
            )
        must_be("Lidar.range_min", self.range_min, non_negative, "m")
        if not self.range_max > self.range_min:
            raise InvalidValue(
                f"Lidar.range_max = {self.range_max} m must be above range_min = {self.range_min} m"
            )
        for name in ("std", "std_relative"):
            must_be(f"Lidar.{name}", getattr(self, name), non_negative)
        checked_mounting("Lidar", self.mounting)
        if self.mounting.roll or self.mounting.pitch:
            raise InvalidValue(
                f"Lidar.mounting has roll = {self.mounting.roll} and pitch = "
                f"{self.mounting.pitch} rad; a scanner in the plane needs both to be 0"
            )
        if self.distorted and self.rate is None:
            raise InvalidValue("Lidar.distorted needs a rate in Hz: a scan takes 1/rate")

    @cached_property
    def angles(self) -> Array:
        """Angles of the beams from the sensor's x axis in rad, read-only."""
        full = self.angle_max - self.angle_min >= _FULL_TURN * (1.0 - 1e-12)
        spaces = self.rays if full else max(self.rays - 1, 1)
        angles: Array = self.angle_min + np.arange(self.rays, dtype=np.float64) * (
            (self.angle_max - self.angle_min) / spaces
        )
        angles.flags.writeable = False
        return angles

    @property
    def increment(self) -> rad:
        """Angle between neighbouring beams."""
        return float(self.angles[1] - self.angles[0]) if self.rays > 1 else 0.0

    def poses(self, body: ArrayLike) -> Array:
        """Poses (B, 3) of the sensor in the world, for poses x, y, yaw of the body point (B, 3)."""
        poses = np.atleast_2d(floats("body", body))
        if poses.ndim != 2 or poses.shape[1] != 3:
            raise InvalidValue(f"body has shape {np.shape(body)}; expected (B, 3): x, y, yaw")
        x, y, yaw = poses.T
        return np.stack(pose_in_world(self.mounting, x, y, yaw), axis=1)

    def scan(
        self,
        scene: Scene,
        body: ArrayLike,
        *,
        twist: ArrayLike | None = None,
        movers: ArrayLike | None = None,
        seed: int = 0,
        steps: ArrayLike = 0,
        vehicles: ArrayLike | None = None,
        threads: int | None = None,
    ) -> Array:
        """Ranges (B, rays) in m of sensors on bodies at poses (B, 3), errors included.

        Args:
            scene: the obstacles.
            body: poses x, y, yaw of the body points in the world.
            twist: motions v_x, v_y, omega of the bodies (B, 3), for `distorted`; at rest if None.
            movers: segments (m, 4) or (B, m, 4) of moving objects, such as other vehicles.
            seed, steps, vehicles: select the random numbers: the seed, the index of the scan, one
                for all or one per body, and the indices of the vehicles, 0, 1, ... if None.
            threads: number of threads; all processors if None.
        """
        from ..geometry.raycast.scene import check_rays

        bodies = np.atleast_2d(np.asarray(body, dtype=float))
        if bodies.ndim == 2 and bodies.shape[1] == 3:
            # Check before mounting: a NaN yaw would make the positions NaN, too.
            check_rays(*bodies.T)
        poses = self.poses(body)
        if self.distorted and twist is not None:
            true = self._swept(scene, bodies, twist, movers)
        else:
            true = scene.scan(
                poses, self.angles, max_range=self.range_max, movers=movers, threads=threads
            )
        numbers = np.arange(len(poses)) if vehicles is None else vehicles
        return self.read(true, seed=seed, steps=steps, vehicles=numbers)

    def _swept(
        self, scene: Scene, body: Array, twist: ArrayLike, movers: ArrayLike | None
    ) -> Array:
        """Ranges of a scan whose beams are cast one after the other from moving bodies."""
        assert self.rate is not None
        before = (np.arange(self.rays) / self.rays - (self.rays - 1) / self.rays) / self.rate
        moved = moved_by(body, twist, before)
        origins = self.poses(moved.reshape(-1, 3)).reshape(len(body), self.rays, 3)
        if movers is not None and np.ndim(movers) == 3:
            parts = [
                scene.cast(*self._rays(one), max_range=self.range_max, movers=its)
                for one, its in zip(origins, np.asarray(movers), strict=True)
            ]
            return np.array(parts)
        flat = self._rays(origins)
        ranges = scene.cast(*(a.ravel() for a in flat), max_range=self.range_max, movers=movers)
        return ranges.reshape(len(body), self.rays)

    def _rays(self, origins: Array) -> tuple[Array, Array, Array]:
        return origins[..., 0], origins[..., 1], origins[..., 2] + self.angles

    def read(
        self, true: Array, *, seed: int = 0, steps: ArrayLike = 0, vehicles: ArrayLike = 0
    ) -> Array:
        """Lidar readings for true ranges (B, rays), with noise, limits and lost beams applied."""
        out = np.array(true, dtype=float)
        if self.std > 0.0 or self.std_relative > 0.0:
            noise = self._drawn(streams.normals, "white", seed, steps, vehicles)
            spread = self.std + self.std_relative * out if self.std_relative else self.std
            with np.errstate(invalid="ignore"):
                out = np.where(np.isfinite(out), out + spread * noise, out)
        out[out > self.range_max] = inf
        out[out < self.range_min] = -inf
        if self.dropout > 0.0:
            lost = self._drawn(streams.uniforms, "dropout", seed, steps, vehicles) < self.dropout
            out[lost] = np.nan
        return out

    def _drawn(self, draw: Any, part: str, seed: int, steps: ArrayLike, who: ArrayLike) -> Array:
        numbers, vehicles = np.atleast_1d(steps), np.atleast_1d(who)
        channel = f"{self.name}.{part}"
        if numbers.size == 1:
            return draw(seed, channel, numbers, vehicles, self.rays)[0]
        rows = [
            draw(seed, channel, k, v, self.rays)[0, 0]
            for k, v in zip(numbers, vehicles, strict=True)
        ]
        return np.array(rows)

    def runner(self, scene: Scene, *, seed: int = 0, vehicle: int = 0) -> LidarRunner:
        """Runner for a simulation loop: `step(t, body, twist, movers)` returns a scan or None."""
        return LidarRunner(self, scene, seed, vehicle)


def moved_by(body: Array, twist: ArrayLike, times: Array) -> Array:
    """Poses (B, n, 3) at times in s from now of bodies (B, 3) with constant twists (B, 3).

    A body with a constant twist moves along an arc; the formula is exact, also without rotation.
    """
    v_x, v_y, omega = np.broadcast_to(np.asarray(twist, dtype=float), body.shape).T[..., None]
    turn = omega * times
    # sin(θ)/θ and (1 - cos θ)/θ; np.sinc has the right limit at 0.
    along = np.sinc(turn / pi)
    half = np.sinc(turn / _FULL_TURN)
    across = 0.5 * turn * half * half
    d_x = times * (v_x * along - v_y * across)
    d_y = times * (v_x * across + v_y * along)
    return np.stack(placed(body.T[..., None], (d_x, d_y, turn)), axis=-1)


def outlines(shapes: Sequence[ArrayLike], poses: ArrayLike) -> Array:
    """Segments (m, 4) of vehicles for `movers`: outlines in body axes, each (k, 2), at poses."""
    where = np.atleast_2d(floats("poses", poses))
    rings = [floats("shapes", shape) for shape in shapes]
    edges = [edges_at([ring], pose) for ring, pose in zip(rings, where, strict=True)]
    return np.concatenate([np.empty((0, 4)), *edges])


NO_ANGLES: Array = np.empty(0)
"""Placeholder for the angles of a scan without angles."""


class Scan(NamedTuple):
    """One scan of one lidar."""

    ranges: Array
    """Ranges in m, one per beam; for inf, -inf and nan see the module docstring."""
    stamp: s
    """Time of the scan; for a distorted scan, time of its last beam."""
    angles: Array = NO_ANGLES
    """Angles of the beams from the sensor's x axis in rad, positive to the left, read-only."""

    __repr__ = brief_repr


class LidarRunner:
    """One lidar on one vehicle, advanced step by step."""

    __repr__ = brief_repr

    def __init__(self, lidar: Lidar, scene: Scene, seed: int = 0, vehicle: int = 0) -> None:
        self.lidar, self.seed, self.vehicle = lidar, seed, vehicle
        self.scene = scene
        """Obstacles; may be replaced at any time."""
        self._sampler = Sampler(lidar.rate, lidar.delay)

    def step(
        self,
        t: float,
        body: Sequence[float],
        twist: Sequence[float] = AT_REST,
        movers: ArrayLike | None = None,
    ) -> Scan | None:
        """Advance to time t in s; returns a scan if one becomes available, else None.

        Args:
            t: time in s.
            body: pose x, y, yaw of the body point.
            twist: motion v_x, v_y, omega of the body.
            movers: segments (m, 4) of moving objects, in m.
        """

        def take(number: int, now: float) -> Scan:
            ranges = self.lidar.scan(
                self.scene,
                [body],
                twist=[twist],
                movers=movers,
                seed=self.seed,
                steps=number,
                vehicles=[self.vehicle],
                threads=1,
            )
            return Scan(ranges[0], now, self.lidar.angles)

        return self._sampler.step(t, take)
