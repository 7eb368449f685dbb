"""Warnings about implausible parameters, mostly numbers in a unit other than SI.

A length in mm, an angle in degrees, a pressure in bar and a mass in tonnes pass every check of sign
and range. They are compared with the rest of the vehicle (its wheelbase, track and mass) and with
the default of the same parameter. A `Vehicle` warns once, when it receives its parameters.

The bounds are far from any real vehicle, robots of a few centimetres and road trains included, so
that sweeps stay silent. Rates and stiffnesses are not checked, since large values of them mean "no
limit" or "rigid".
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ..errors import ImplausibleParameter
from . import record
from .arrays import ArrayNumber
from .body import Body, Geometry

T = TypeVar("T")

_MISTAKEN = {
    "m": {"mm": 1e-3, "cm": 1e-2},
    "kg": {"t": 1e3, "g": 1e-3},
    "rad": {"degrees": math.pi / 180.0},
    "Pa": {"bar": 1e5, "kPa": 1e3, "psi": 6894.757},
}
"""Units often used by mistake, with their size in SI units."""
_USUAL_FACTOR = 60.0
"""Largest ratio of a length to its default."""
_SIZE_FACTOR = 10.0
"""Largest ratio of a length to the size of the vehicle."""
_ORDINARY_LENGTH = 5.0
"""Length in m below which neither ratio is checked, as many vehicles have such lengths."""
_HEIGHT_FACTOR = 2.0
"""Largest ratio of a height to the wheelbase or the track, whichever is larger."""
_HEIGHTS = {"z_cg", "h_cg", "h_s"}
_UNLIMITED = {"gap"}
"""Lengths for which a large value means that an end stop is never reached."""
_GROUND = "road"
"""Field name of the ground's record, whose lengths do not belong to the vehicle."""
_NO_LIMIT = 1e6
"""Angle in rad from which a value means "no limit"."""
_STEERING_LIMITS = {
    *("steer_max", "inner_max", "outer_max"),
    *("max_steer", "delta_max", "max_steering_angle"),
}
"""Limits of the angles of steered wheels, which are below a quarter turn. Angles of steering
wheels and shafts are not checked: these make several turns."""
_WHEEL_ANGLES = ("camber_", "toe_")
"""Name prefixes of angles that are at most some degrees."""
_WHEEL_ANGLE_MAX = 0.6
"""Largest magnitude in rad of angles with these prefixes."""
_MASS = (0.5, 2e4)
"""Range of mass divided by wheelbase squared, kg/m²: cars 150 to 250, solar cars 20, lorries
1,500."""
_GYRATION = 0.95
"""Largest yaw radius of gyration relative to the wheelbase: cars 0.4 to 0.6."""
_GYRATION_BY_DIAGONAL = 0.16
"""Smallest radius of gyration relative to the diagonal of wheelbase and track: cars 0.3 to
0.47."""
_GYRATION_BY_REACH = 0.65
"""Largest radius of gyration relative to the distance of the farthest point, for vehicles with
long overhangs; a plate has 0.58."""
_PART_FACTOR = 50.0
"""Largest ratio of the mass of a part to the mass of the vehicle; a trailer may be heavier than its
vehicle."""
_USUAL_PRESSURE, _LOW_PRESSURE = 5e4, 5e3
"""Pressures in Pa: if the default of a parameter is above the first, values below the second
are implausible."""


class _Leaf(NamedTuple):
    """A parameter whose unit is checked."""

    place: int
    name: str
    unit: str
    usual: float
    """Default of the parameter; 0 if it has none."""


@cache
def _leaves(Params: type) -> tuple[_Leaf, ...]:
    checked = {*_MISTAKEN, "kg·m²"}
    return tuple(
        _Leaf(place, field.name, str(field.unit), field.default or 0.0)
        for place, field in enumerate(record.fields(Params))
        if str(field.unit) in checked
    )


_accepted: tuple[tuple[int, Any], ...] = ()
"""Recently checked parameter records, by their `_mark`; another vehicle with the same record causes
no warning.
"""
_MOST_REMEMBERED = 8


def accept(params: T) -> T:
    """Mark parameters as checked, so that vehicles with them cause no warning, and return them.

    Use it for copies of parameters that a vehicle already had.
    """
    global _accepted
    _accepted = (_mark(params), *_accepted[: _MOST_REMEMBERED - 1])
    return params


def _mark(params: Any) -> tuple[int, Any]:
    """Identity of a record, with the record itself, so that no other one gets the same identity.

    A record with shared arrays is replaced by its numbers, as it would keep the arrays alive.
    """
    values = record.flatten(params)
    if any(type(value) is ArrayNumber for value in values):
        return id(params), tuple(map(float, values))
    return id(params), params


_postponed = ContextVar("_postponed", default=False)


@contextmanager
def postponed() -> Generator[None]:
    """Context manager that suppresses checks while intermediate vehicles are made."""
    token = _postponed.set(True)
    try:
        yield
    finally:
        _postponed.reset(token)


def warn_if_implausible(name: str, body: Body | None, params: Any) -> None:
    """Warn (`ImplausibleParameter`) about each implausible parameter, once per record."""
    if _postponed.get() or _mark(params) in _accepted:
        return
    accept(params)
    for text in implausible_parameters(body, params):
        warnings.warn(f"{name}: {text}", ImplausibleParameter, stacklevel=_callers_level())


def warn_of_changes(name: str, body: Body | None, params: Any, rows: Iterable[Any]) -> None:
    """Warn once about each parameter that is implausible in one of several arrays (n,), but not in
    the vehicle itself."""
    kind, own = type(params), record.flatten(params)
    known = {text.partition(" = ")[0] for text in implausible_parameters(body, params)}
    for row in rows:
        # Keep the original object of unchanged leaves, which may be the index of a shared array.
        changed = [a if float(a) == b else b for a, b in zip(own, row.tolist(), strict=True)]
        for text in implausible_parameters(body, record.unflatten(kind, changed)):
            leaf = text.partition(" = ")[0]
            if leaf not in known:
                warnings.warn(f"{name}: {text}", ImplausibleParameter, stacklevel=_callers_level())
            known.add(leaf)


def _callers_level() -> int:
    """Stack level of the first caller outside the package, for the line that the warning shows."""
    level, frame = 1, inspect.currentframe()
    frame = None if frame is None else frame.f_back
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (
        "skidpad",
        "dataclasses",
    ):
        level, frame = level + 1, frame.f_back
    return level


def implausible_parameters(body: Body | None, params: Any) -> list[str]:
    """A sentence for each implausible parameter."""
    values = record.flatten(params)
    leaves = _leaves(type(params))
    geometry = _geometry(body, params)
    texts = [*_lengths(leaves, values, geometry)]
    if geometry is not None and not texts:
        texts += _masses(leaves, values, geometry)
    texts += _angles(leaves, values)
    texts += _pressures(leaves, values)
    return texts


def _geometry(body: Body | None, params: Any) -> Geometry | None:
    """Geometry of the body; None if there is no body or it raises an error."""
    if body is None:
        return None
    try:
        return body.geometry(params)
    except (
        Exception
    ):  # a user's body may raise anything; the error appears where the geometry is used
        return None


def _lengths(
    leaves: tuple[_Leaf, ...], values: tuple[float, ...], geometry: Geometry | None
) -> Iterator[str]:
    base = 0.0 if geometry is None else max(geometry.wheel_base, geometry.track)
    size = 0.0 if geometry is None else max(_size(geometry), base)
    for leaf in leaves:
        *path, name = leaf.name.split(".")
        if leaf.unit != "m" or name in _UNLIMITED or _GROUND in path:
            continue
        if isinstance(values[leaf.place], ArrayNumber):
            continue  # the value is the number of a shared array, not a length
        value = abs(values[leaf.place])
        usual = abs(leaf.usual)
        if value > _ORDINARY_LENGTH and 0.0 < _USUAL_FACTOR * usual < value:
            reason = f"{leaf.usual:.4g} m is usual"
        elif value > _ORDINARY_LENGTH and 0.0 < _SIZE_FACTOR * size < value:
            reason = f"the whole vehicle is {size:.3g} m long"
        elif name in _HEIGHTS and 0.0 < _HEIGHT_FACTOR * base < value:
            times = f"{_HEIGHT_FACTOR:g} times the wheelbase or track"
            reason = f"up to {_HEIGHT_FACTOR * base:.3g} m, {times}, is plausible"
        else:
            continue
        near = usual or 0.3 * base or 1.0
        yield _sentence(leaf, values[leaf.place], reason, near, _up_to(_USUAL_FACTOR * near))


def _size(geometry: Geometry) -> float:
    along = [x for outline in geometry.outlines for x, _ in outline]
    return max(along) - min(along) if along else 0.0


def _masses(
    leaves: tuple[_Leaf, ...], values: tuple[float, ...], geometry: Geometry
) -> Iterator[str]:
    """Check the mass against the wheelbase, the yaw inertia against both, and the masses of parts
    against the whole. Only parameters are checked, not estimates of a body."""
    mass, base = geometry.mass, geometry.wheel_base
    whole = next((f for f in leaves if f.unit == "kg" and values[f.place] == mass), None)
    if whole is None or not (mass > 0.0 and base > 0.0):
        return
    low, high = (bound * base * base for bound in _MASS)
    if not low <= mass <= high:
        reason = f"{low:.2g} to {high:.2g} kg is plausible at a wheelbase of {base:.3g} m"
        near = whole.usual or 150.0 * base * base
        yield _sentence(whole, mass, reason, near, lambda x: low <= x <= high)
        return
    heaviest = _PART_FACTOR * mass
    for leaf in leaves:
        if leaf.unit == "kg" and values[leaf.place] > heaviest:
            reason = f"all of the vehicle is {whole.name} = {mass:.4g} kg"
            near = leaf.usual or 0.1 * mass
            yield _sentence(leaf, values[leaf.place], reason, near, lambda x: x <= heaviest)
    yaw = next(
        (f for f in leaves if f.unit == "kg·m²" and values[f.place] == geometry.inertia), None
    )
    if yaw is None or not geometry.inertia > 0.0:
        return
    gyration = math.sqrt(geometry.inertia / mass)
    reach = _reach(geometry)
    shortest = _GYRATION_BY_DIAGONAL * math.hypot(base, geometry.track)
    longest = max(_GYRATION * base, _GYRATION_BY_REACH * reach)
    if not shortest <= gyration <= longest:
        yield (
            f"{whole.name} = {mass:.6g} kg and {yaw.name} = {geometry.inertia:.6g} kg·m² are "
            f"hardly of one vehicle: with a wheelbase of {base:.3g} m, {yaw.name} from "
            f"{mass * shortest**2:.2g} to {mass * longest**2:.2g} kg·m² is plausible at this mass"
        )


def _reach(geometry: Geometry) -> float:
    """Distance in m from the centre of mass to the farthest point of the outline."""
    points = [point for outline in geometry.outlines for point in outline]
    return max((math.dist(point, geometry.centre_of_mass) for point in points), default=0.0)


def _angles(leaves: tuple[_Leaf, ...], values: tuple[float, ...]) -> Iterator[str]:
    for leaf in leaves:
        name = leaf.name.rpartition(".")[2]
        if leaf.unit != "rad" or not (name in _STEERING_LIMITS or name.startswith(_WHEEL_ANGLES)):
            continue
        limit = math.pi / 2.0 if name in _STEERING_LIMITS else _WHEEL_ANGLE_MAX
        if limit * (1.0 + 1e-9) < abs(values[leaf.place]) < _NO_LIMIT:
            reason = f"up to {limit:.3g} rad, {math.degrees(limit):.0f} degrees, is plausible"
            yield _sentence(leaf, values[leaf.place], reason, 0.1, _up_to(limit))


def _up_to(limit: float) -> Callable[[float], bool]:
    return lambda x: abs(x) <= limit


def _pressures(leaves: tuple[_Leaf, ...], values: tuple[float, ...]) -> Iterator[str]:
    for leaf in leaves:
        value = values[leaf.place]
        if leaf.unit == "Pa" and leaf.usual > _USUAL_PRESSURE and 0.0 < value < _LOW_PRESSURE:
            reason = f"{leaf.usual:.4g} Pa is usual"
            yield _sentence(leaf, value, reason, leaf.usual, lambda x: x >= _LOW_PRESSURE)


def _sentence(
    leaf: _Leaf, value: float, reason: str, near: float, fits: Callable[[float], bool]
) -> str:
    """Warning about one parameter, with the unit that it is probably in: of the units in which it
    `fits`, the one that brings it nearest to `near`."""
    text = f"{leaf.name} = {value:.6g} {leaf.unit} is implausible: {reason}"
    meant = {unit: value * factor for unit, factor in _MISTAKEN[leaf.unit].items()}
    meant = {unit: x for unit, x in meant.items() if x and fits(x)}
    if not meant:
        return text
    unit = min(meant, key=lambda unit: abs(math.log(abs(meant[unit]) / abs(near))))
    return f"{text}; did you mean {meant[unit]:.4g} {leaf.unit} ({value:.6g} {unit})?"
