"""Channels that follow from others: positions from GNSS, velocities from wheels and positions.

Accelerations are not made from speed and yaw rate, and lateral velocity not from anything but
positions and sideslip: such channels would add nothing to those they are made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...core.arrays import Array
from ...core.files import listed
from ...errors import InvalidValue
from ...geometry.geodesy import Origin, Place, position_in_world
from ...units import m, m_s, s
from .cleaning import low_pass
from .log import Channel
from .units import GRAVITY

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

Said = tuple[str, str, float]
"""Channel, what was done to it, and the share of its samples."""


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


def speed_of_wheels(rows: dict[str, Array], dt: s, radius: m | None) -> Iterator[Said]:
    """Compare wheel speeds with the speed over ground, and add `v_x` where it is missing."""
    for kind in ("wheel_speed", "spin"):
        names = [n for n in rows if n == kind or n.removeprefix(f"{kind}_") in _WHEELS]
        if not names:
            continue
        wheels = ", ".join(names)
        turning = np.median(np.array([rows[name] for name in names]), axis=0)
        factor = radius if kind == "spin" else 1.0
        source, ground = _speed_over_ground(rows, dt)
        ratio = None if ground is None else _ratio(turning, ground)
        if ratio is not None:
            value, half = ratio
            label = "radius" if kind == "spin" else "speed over ground per wheel speed"
            unit = " m" if kind == "spin" else ""
            text = f"{label} {value:.4g} ({value - half:.4g} to {value + half:.4g}){unit}, slip "
            yield wheels, f"{text}included, by {source}", 0.0
            factor = value if radius is None else factor
        # Positions with a heading tell both velocities, without slip.
        if "v_x" in rows or factor is None or _has_pose(rows):
            continue
        rows["v_x"] = factor * turning
        yield "v_x", f"not in the log: {factor:.4g} times {wheels}, with their slip", 1.0


_WHEELS = ("fl", "fr", "rl", "rr")


def _has_pose(rows: Mapping[str, Array]) -> bool:
    return {"x", "y", "yaw"} <= rows.keys()


def _speed_over_ground(rows: Mapping[str, Array], dt: s) -> tuple[str, Array | None]:
    for name in ("speed", "v_x"):
        if name in rows:
            return name, np.abs(rows[name])
    if not {"x", "y"} <= rows.keys():
        return "", None
    width = max(int(_PATH / dt), 1) | 1
    rates = [np.gradient(rows[axis], dt) for axis in ("x", "y")]
    return "x and y", np.hypot(*(np.convolve(r, np.ones(width) / width, "same") for r in rates))


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


def missing_channels(rows: dict[str, Array], dt: s, antenna: tuple[m, m]) -> Iterator[Said]:
    """Move positions from the antenna to the reference point, and add what follows from others."""
    new = "not in the log: "
    if "x" in rows and any(antenna):
        yield "x, y", *_move_antenna(rows, *antenna)
    if "yaw" in rows and "omega" not in rows:
        rows["omega"] = np.gradient(rows["yaw"], dt)
        yield "omega", f"{new}the rate of yaw", 1.0
    if {"x", "y"} <= rows.keys():
        x, y = (np.gradient(rows[axis], dt) for axis in ("x", "y"))
        if _has_pose(rows):
            c, sn = np.cos(rows["yaw"]), np.sin(rows["yaw"])
            made = {"v_x": c * x + sn * y, "v_y": c * y - sn * x}
            known = {*rows, *(["v_y"] if "sideslip" in rows else [])}
            added = [name for name in made if name not in known]
            rows |= {name: made[name] for name in added}
            if added:
                yield ", ".join(added), f"{new}from the rates of x and y and yaw", 1.0
        elif "latitude" in rows and "course" not in rows:
            course = np.where(np.hypot(x, y) > 2.0 * _MOVING, np.arctan2(y, x), np.nan)
            known = np.isfinite(course)
            course[known] = np.unwrap(course[known])
            rows["course"] = course
            yield "course", "direction of the track: yaw plus sideslip, not yaw", 1.0
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
        yield "v_x", new + text, 1.0
    if "v_y" not in rows and {"v_x", "sideslip"} <= rows.keys():
        rows["v_y"] = rows["v_x"] * np.tan(rows["sideslip"])
        yield "v_y", f"{new}from v_x and sideslip", 1.0


def _move_antenna(rows: dict[str, Array], ahead: m, left: m) -> tuple[str, float]:
    if "yaw" not in rows:
        return f"not moved from the antenna at ({ahead:g}, {left:g}) m, as yaw is unknown", 0.0
    c, sn = np.cos(rows["yaw"]), np.sin(rows["yaw"])
    rows["x"] = rows["x"] - c * ahead + sn * left
    rows["y"] = rows["y"] - sn * ahead - c * left
    return f"moved from the antenna at ({ahead:g}, {left:g}) m to the reference point", 1.0
