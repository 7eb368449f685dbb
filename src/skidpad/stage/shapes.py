"""What vehicles look like from above: an outline and wheels, from their parameters."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import record
from ..model import Vehicle
from .description import Outline, Wheel

_OVERHANG = 0.22
"""Of a car without a length: the body beyond each axle, as a share of the wheelbase."""
_WIDTH = 0.56
"""Of a car without a width, as a share of its wheelbase."""


_FROM_REAR_AXLE = ("commonroad_ks", "commonroad_kst")
"""Models with the place of the centre of mass among their parameters whose state is that of the
rear axle."""


_OPEN_WHEELERS = ("formula_student", "four_wheel", "brains2", "kinematic_bicycle")
"""Models of a Formula Student car: a narrow body between the wheels, and wings."""


class BodyShape(NamedTuple):
    """Outline and wheels in the frame of the vehicle's state, in m."""

    outlines: tuple[Outline, ...]
    wheels: tuple[Wheel, ...] = ()
    trailer: BodyShape | None = None
    """Of a vehicle with a `hitch` state: in the frame of the trailer's axle."""
    hitch_x: float = 0.0
    """Where the trailer hangs, ahead of the reference point of the vehicle."""
    drawbar: float = 0.0
    """From the hitch back to the trailer's axle."""


class _Axles(NamedTuple):
    front: float
    rear: float
    track: float


def shape_of(vehicle: Vehicle) -> BodyShape:
    """The shape of a vehicle, from what its parameters say of axles, length and width.

    Cars described from the centre of mass have `l_f` and `l_r` (or `a` and `b`); those described
    from the rear axle a `wheel_base`. What is not said is guessed from the wheelbase.
    """
    p = vehicle.params
    axles = _axles(p)
    if vehicle.name.startswith(_FROM_REAR_AXLE):
        axles = axles._replace(front=axles.front - axles.rear, rear=0.0)
    base = axles.front - axles.rear
    length = _number(p, "length", "l") or base * (1.0 + 2.0 * _OVERHANG)
    width = _number(p, "width", "w") or axles.track + 0.1 * base
    wheels = _wheels(axles, _number(p, "wheel_radius", "R_w") or 0.12 * base)
    if vehicle.name in _OPEN_WHEELERS:
        return BodyShape(_open_wheeler(axles), wheels)
    front, rear = _ends(p, axles, length)
    body = _rounded(rear, front, 0.5 * width, 0.18 * width)
    shape = BodyShape((body,), wheels)
    if "hitch" in record.names(vehicle.State):
        shape = _with_trailer(shape, p, axles, width)
    return shape


def _axles(p: Any) -> _Axles:
    l_f, l_r = _number(p, "l_f", "a"), _number(p, "l_r", "b")
    base = _number(p, "wheel_base", "l_wb")
    if l_f is not None and l_r is not None:
        front, rear = l_f, -l_r
    else:
        front, rear = base or 2.7, 0.0
    track = _number(p, "track", "front.track") or _WIDTH * (front - rear)
    return _Axles(front, rear, track)


def _ends(p: Any, axles: _Axles, length: float) -> tuple[float, float]:
    """The front and the rear end of the body."""
    tail = _number(p, "base_to_tail")
    if tail is not None:
        behind = tail - (_number(p, "base_to_rear") or 0.0)
        return length - behind, -behind
    middle = 0.5 * (axles.front + axles.rear)
    return middle + 0.5 * length, middle - 0.5 * length


def _wheels(axles: _Axles, radius: float) -> tuple[Wheel, ...]:
    places = {"fl": (axles.front, 1), "fr": (axles.front, -1), "rl": (axles.rear, 1), "rr": (axles.rear, -1)}  # fmt: skip # noqa: E501
    return tuple(
        Wheel(name, x, 0.5 * side * axles.track, 2.0 * radius, 0.85 * radius)
        for name, (x, side) in places.items()
    )


def _rounded(rear: float, front: float, half: float, corner: float) -> Outline:
    """A rectangle whose front corners are cut: one sees which way it points."""
    nose = 1.6 * corner
    return (
        (rear + 0.5 * corner, -half),
        (front - nose, -half),
        (front, -half + corner),
        (front, half - corner),
        (front - nose, half),
        (rear + 0.5 * corner, half),
        (rear, half - 0.5 * corner),
        (rear, -half + 0.5 * corner),
    )


def _open_wheeler(axles: _Axles) -> tuple[Outline, ...]:
    """Tub with side pods, front wing and rear wing, in proportion to wheelbase and track."""
    base, half = axles.front - axles.rear, 0.5 * axles.track
    nose, tail, middle = axles.front + 0.3 * base, axles.rear - 0.18 * base, axles.rear + 0.5 * base
    side = (
        (tail, 0.22 * half),
        (axles.rear + 0.12 * base, 0.3 * half),
        (middle - 0.12 * base, 0.62 * half),
        (middle + 0.1 * base, 0.6 * half),
        (middle + 0.22 * base, 0.36 * half),
        (axles.front, 0.26 * half),
        (nose, 0.14 * half),
    )
    tub = (*((x, -y) for x, y in side), *reversed(side))
    return (
        _plate(axles.rear - 0.34 * base, axles.rear - 0.14 * base, 0.85 * half),
        _plate(nose - 0.08 * base, nose + 0.1 * base, half),
        tub,
    )


def _plate(rear: float, front: float, half: float) -> Outline:
    return ((rear, -half), (front, -half), (front, half), (rear, half))


def _with_trailer(shape: BodyShape, p: Any, axles: _Axles, width: float) -> BodyShape:
    drawbar = _number(p, "l_trailer")
    drawbar = drawbar or 2.0 * (axles.front - axles.rear)
    long = 1.35 * drawbar
    half = 0.5 * width
    box: Outline = (
        (-long + drawbar + 0.4, -half),
        (drawbar + 0.4, -half),
        (drawbar + 0.4, half),
        (-long + drawbar + 0.4, half),
    )
    wheel = shape.wheels[-1]
    wheels = tuple(
        Wheel(f"t{side}", 0.0, sign * (half - 0.5 * wheel.width), wheel.length, wheel.width)
        for side, sign in (("l", 1), ("r", -1))
    )
    return shape._replace(trailer=BodyShape((box,), wheels), hitch_x=axles.rear, drawbar=drawbar)


def _number(p: Any, *names: str) -> float | None:
    """The first of these parameters that there is and that is not 0."""
    leaves = dict(zip(record.names(type(p)), record.flatten(p), strict=True))
    found = (leaves[name] for name in names if leaves.get(name))
    return next((float(value) for value in found), None)
