"""Small films whose numbers are known in closed form."""

from __future__ import annotations

from math import pi

import numpy as np
from numpy.typing import NDArray

from skidpad.view.film import Film, ScanAt
from skidpad.view.stage import Body, Channel, Disc, Grid, Line, Polygon, Scan, Stage, Wheel

SMALL = {"width": 800, "height": 500}
"""A screen that is drawn in half of the time, for tests that wait until the view has moved."""
RADIUS = 12.0
RATE = 20.0
DURATION = 8.0
OUTLINE = ((-2.2, -0.9), (1.8, -0.9), (2.2, -0.5), (2.2, 0.5), (1.8, 0.9), (-2.2, 0.9))
CAR = ("x", "y", "yaw", "v_x", "v_y", "omega", "steer", "a_x", "a_y")
UNITS = ("m", "m", "rad", "m/s", "m/s", "rad/s", "rad", "m/s²", "m/s²")
WHEELS = ("fl", "fr", "rl", "rr")
FORCES = tuple(f"{force}_{wheel}" for force in ("F_x", "F_y", "F_z") for wheel in WHEELS)


def wrapped(angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between -pi and pi, as many simulators give headings."""
    return np.mod(angle + pi, 2.0 * pi) - pi


def circling(name: str, omega: float, phase: float, forces: bool) -> tuple[Body, list[Channel], NDArray[np.float64]]:  # fmt: skip # noqa: E501
    """A car on a circle around the origin, to the left for a positive yaw rate."""
    t = times()
    angle = phase + omega * t
    turn = np.sign(omega)
    speed = abs(omega) * RADIUS
    still = np.zeros_like(t)
    columns = [
        RADIUS * np.cos(angle),
        RADIUS * np.sin(angle),
        wrapped(angle + turn * pi / 2.0),
        still + speed,
        still,
        still + omega,
        still + turn * 0.2,
        np.sin(t),
        still + omega * speed,
    ]
    names, units = list(CAR), list(UNITS)
    if forces:
        columns += [still + 100.0] * 4 + [still + 300.0] * 4 + [still + 800.0] * 4
        names += FORCES
        units += ["N"] * len(FORCES)
    channels = [Channel(n, u, name, "state") for n, u in zip(names, units, strict=True)]
    return Body(name, "vehicle", (OUTLINE,), 0, 1, 2), channels, np.stack(columns, axis=1)


def times() -> NDArray[np.float64]:
    return np.arange(int(DURATION * RATE) + 1) / RATE


def two_cars() -> Film:
    """Two cars that circle the origin in opposite directions among walls, cones and a map.

    The first has wheels, forces and a lidar; the second is seen from one number only, its pose.
    """
    bodies: list[Body] = []
    channels: list[Channel] = []
    tables: list[NDArray[np.float64]] = []
    for name, omega, phase, forces in (("left", 0.8, 0.0, True), ("right", -0.5, 2.0, False)):
        body, own, table = circling(name, omega, phase, forces)
        begin = len(channels)
        places = {channel.name: begin + k for k, channel in enumerate(own)}
        wheels = tuple(
            Wheel(
                w, 1.3 if w[0] == "f" else -1.3, 0.75 if w[1] == "l" else -0.75, 0.65, 0.22,
                steer=places["steer"] if w[0] == "f" else None,
                F_x=places.get(f"F_x_{w}"), F_y=places.get(f"F_y_{w}"), F_z=places.get(f"F_z_{w}"),
            )
            for w in WHEELS
        )  # fmt: skip
        x, y, yaw = (places[n] for n in ("x", "y", "yaw"))
        bodies.append(Body(name, "vehicle", body.outlines, x, y, yaw, wheels, places, model="car"))
        channels += own
        tables.append(table)
    stage = Stage(
        "Two cars",
        tuple(channels),
        tuple(bodies),
        scans=(Scan("lidar", "left", 1.0, 0.0, 0.0, -pi / 2.0, pi / 20.0, 21, 30.0),),
        polygons=(Polygon(((-20.0, -20.0), (20.0, -20.0), (20.0, -19.5), (-20.0, -19.5))),),
        lines=(Line(((-20.0, 20.0), (20.0, 20.0)), "boundary"),),
        discs=(Disc(0.0, 0.0, 0.3, "cone", "#f28c28"),),
        grids=(Grid(-22.0, -22.0, 1.0, 3, 2, bytes([255, 0, 128, 0, 255, 0])),),
    )
    return Film(stage, times(), np.concatenate(tables, axis=1).astype(np.float32), scans())


def scans() -> tuple[ScanAt, ...]:
    """Four scans a second; the ranges grow with time, and one ray sees nothing."""
    found: list[ScanAt] = []
    for time in np.arange(0.0, DURATION, 0.25):
        ranges = (5.0 + 0.1 * np.arange(21) + time).astype(np.float32)
        ranges[3] = np.inf
        found.append(ScanAt(0, float(time), ranges))
    return tuple(found)


def ten_minutes(channels: int = 45, rate: float = 60.0) -> Film:
    """One car for ten minutes: signals with slow and fast parts, and noise as of a sensor."""
    t = np.arange(int(600 * rate)) / rate
    rng = np.random.default_rng(7)
    names = ["x", "y", "yaw", *(f"q{k}" for k in range(channels - 3))]
    columns = [
        80.0 * np.sin(0.05 * t) + 30.0 * np.sin(0.13 * t),
        60.0 * np.cos(0.07 * t),
        np.cumsum(0.4 * np.sin(0.3 * t)) / rate,
    ]
    for k in range(channels - 3):
        slow, fast = rng.uniform(0.05, 0.5), rng.uniform(1.0, 12.0)
        noise = 2e-3 * rng.standard_normal(t.size) if k % 3 == 0 else 0.0
        columns.append(np.sin(slow * t + k) + 0.1 * np.sin(fast * t) + noise)
    body = Body("car", "vehicle", (OUTLINE,), 0, 1, 2, channels={n: k for k, n in enumerate(names)})
    listed = tuple(Channel(n, "m" if n in "xy" else "1", "car", "state") for n in names)
    return Film(Stage("Ten minutes", listed, (body,)), t, np.stack(columns, 1).astype(np.float32))


def pose_at(film: Film, name: str, time: float) -> tuple[float, float, float]:
    """Pose between samples: positions on a straight line, the heading the short way."""
    body = film.stage.body(name)
    x, y = (np.interp(time, film.times, film.rows[:, c]) for c in (body.x, body.y))
    unwrapped = np.unwrap(film.rows[:, body.yaw].astype(np.float64))
    return float(x), float(y), float(np.interp(time, film.times, unwrapped))
