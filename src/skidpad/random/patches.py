"""Friction that depends on the position of a vehicle: patches of ice, puddles, a wet lane.

Patches are rectangles in the plane (`Patch`, `strip`), or placed at random in every run
(`Scatter`); `FrictionPatches` is the uncertainty model of the friction at a vehicle's position.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.checks import finite, interval, must_be, not_negative, whole
from ..core.files import shown
from ..errors import InvalidValue
from ..geometry.pose import to_body
from ..units import non_negative
from .model import Fields, Shape, UncertaintyModel
from .streams import Draw

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Patch:
    """A rectangle in the plane with a friction value; its edges belong to it."""

    value: float
    """A coefficient of friction, or a factor on one."""
    x: float = 0.0
    """x of the centre in the world frame, in m."""
    y: float = 0.0
    """y of the centre in the world frame, in m."""
    length: float
    """Extent along the rectangle's x axis, in m; may be infinite."""
    width: float
    """Extent along the rectangle's y axis, in m; may be infinite."""
    yaw: float = 0.0
    """Direction of the rectangle's x axis in rad, counter-clockwise positive."""

    def __post_init__(self) -> None:
        for name in ("value", "x", "y", "yaw"):
            finite(f"Patch.{name}", getattr(self, name))
        for name in ("length", "width"):
            extent: Any = getattr(self, name)
            if not (isinstance(extent, (int, float)) and extent >= 0.0):
                raise InvalidValue(f"Patch.{name} = {extent!r} must be at least 0 m")
        must_be("Patch.value", self.value, non_negative)


def strip(value: float, begin: float, end: float, yaw: float = 0.0) -> Patch:
    """Patch between two parallel lines, at distances `begin` and `end` in m along the direction
    `yaw`.

    Distances are from the origin: with yaw = 0, the patch covers x from `begin` to `end`.
    """
    finite("begin", begin)
    finite("end", end)
    if not begin <= end:
        raise InvalidValue(f"begin = {begin:g} m must be at most end = {end:g} m")
    yaw = finite("yaw", yaw, "rad")
    middle = 0.5 * (begin + end)
    return Patch(
        value=value,
        x=middle * math.cos(yaw),
        y=middle * math.sin(yaw),
        length=end - begin,
        width=math.inf,
        yaw=yaw,
    )


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Rectangles placed at random in every run; each quantity is uniform in an interval."""

    count: int
    """Number of rectangles in a run."""
    value: Interval
    """Interval of the coefficients of friction, or of factors on one."""
    x: Interval
    """Interval of x of the centres in the world frame, in m."""
    y: Interval
    """Interval of y of the centres in the world frame, in m."""
    length: Interval
    """Interval of the extents along the rectangles' x axes, in m."""
    width: Interval
    """Interval of the extents along the rectangles' y axes, in m."""
    yaw: Interval = (0.0, 0.0)
    """Interval of the directions of the rectangles' x axes, in rad."""

    def __post_init__(self) -> None:
        whole("Scatter.count", self.count, "a whole number, at least 1")
        for name in _DRAWN:
            low, _ = interval(f"Scatter.{name}", getattr(self, name))
            if name in ("value", "length", "width"):
                not_negative(f"Scatter.{name}[0]", low)

    def placed(self, draw: Draw) -> Places:
        """Rectangles of each run, drawn at random."""
        u = draw.uniform(self.count * len(_DRAWN)).reshape(draw.count, self.count, len(_DRAWN))
        ends = ((k, *getattr(self, name)) for k, name in enumerate(_DRAWN))
        return Places._make((1.0 - u[:, :, k]) * low + u[:, :, k] * high for k, low, high in ends)


class Places(NamedTuple):
    """Rectangles of all runs as arrays (runs, count), or (1, count) if they are the same in every
    run.
    """

    value: Any
    x: Any
    y: Any
    length: Any
    width: Any
    yaw: Any


_DRAWN = Places._fields


def same_for_all(patches: tuple[Patch, ...]) -> Places:
    """Patches at the same positions in every run."""
    return Places._make(
        np.array([[getattr(patch, name) for patch in patches]], dtype=float) for name in _DRAWN
    )


def on_top(places: Places, x: Array, y: Array, below: Array) -> Array:
    """Value at a point of each run, (runs,): the last rectangle there decides, else `below`."""
    out = below
    for k in range(places.x.shape[1]):
        pose = places.x[:, k], places.y[:, k], places.yaw[:, k]
        along, across = to_body(pose, x, y)
        on = np.abs(along) <= 0.5 * places.length[:, k]
        on &= np.abs(across) <= 0.5 * places.width[:, k]
        out = np.where(on, places.value[:, k], out)
    return out


class Ground(NamedTuple):
    """Memory of `FrictionPatches`: the patches placed at random in each run."""

    scattered: tuple[Places, ...]


class FrictionPatches(UncertaintyModel):
    """Model of the friction at the position of the vehicle, which is `base` outside of all patches.

    Patches and random ones (`Scatter`) cover each other in the order given; random ones are
    constant through a run and differ from run to run. For a vehicle whose disturbance has a factor
    on friction: `by_name(External, mu_scale=FrictionPatches(...))`.

    `position` names the two states that are the position, by index or, with `state`, the vehicle's
    State record, by name. The nominal value is `base` by default.
    """

    def __init__(
        self,
        patches: Sequence[Patch | Scatter],
        base: float = 1.0,
        nominal_value: Any = None,
        *,
        position: tuple[int | str, int | str] | None = None,
        state: type | None = None,
        fields: Fields | None = None,
    ) -> None:
        items = [patches] if isinstance(patches, (Patch, Scatter)) else list(patches)
        for k, patch in enumerate(items):
            if not isinstance(patch, (Patch, Scatter)):
                raise InvalidValue(
                    f"patches[{k}] = {patch!r} must be a Patch, a strip or a Scatter"
                )
        self._layers = [p if isinstance(p, Scatter) else same_for_all((p,)) for p in items]
        self._columns = _columns(position, state)
        self._place_names = None if state is None else _names_at(state, self._columns)
        shape = Shape.of(1, fields, base=base, nominal_value=nominal_value)
        self._base = shape.finite("base", base)
        shape.require("base", self._base, self._base >= 0.0, "at least 0")
        super().__init__(None, self._base if nominal_value is None else nominal_value, fields=shape)

    def check_state(self, State: type) -> None:
        """Raise InvalidValue if the position has other columns than in the record that named it."""
        if self._place_names not in (None, _names_at(State, self._columns)):
            raise InvalidValue(
                f"position: FrictionPatches was made for states with {', '.join(self._place_names)}"
                f" in columns {self._columns[0]} and {self._columns[1]}; these are states of "
                f"{', '.join(record.names(State))}: give state=, the State record of the vehicle"
            )

    def sample(
        self, draw: Draw, memory: Any = None, x: Array | None = None
    ) -> tuple[Array, Ground]:
        """Friction at the positions of the runs, (runs, 1); `x` are their states, (runs, nx)."""
        if x is None:
            raise InvalidValue("x = None: FrictionPatches needs the states of the runs, (runs, nx)")
        if np.ndim(x) != 2 or len(x) != draw.count or np.shape(x)[1] <= max(self._columns):
            raise InvalidValue(
                f"x has shape {np.shape(x)}; allowed is ({draw.count}, nx) with the position in "
                f"columns {self._columns[0]} and {self._columns[1]}"
            )
        ground = self._placed(draw) if memory is None else memory
        place_x, place_y = (np.asarray(x[:, column], float) for column in self._columns)
        out = np.full(draw.count, self._base[0])
        scattered = iter(ground.scattered)
        for layer in self._layers:
            places = layer if isinstance(layer, Places) else next(scattered)
            out = on_top(places, place_x, place_y, out)
        return out[:, None], ground

    def _placed(self, draw: Draw) -> Ground:
        once = draw.once()
        scatters = [layer for layer in self._layers if isinstance(layer, Scatter)]
        return Ground(tuple(s.placed(once.part(k)) for k, s in enumerate(scatters)))


def _columns(position: Any, state: type | None) -> tuple[int, int]:
    if position is None:
        position = (0, 1) if state is None else ("x", "y")
    names = () if state is None else record.names(state)
    try:
        first, second = (_column(place, names) for place in position)
    except InvalidValue:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(
            f"position = {shown(position)} must be two numbers of columns, or with state= two names"
        ) from None
    return first, second


def _names_at(state: type, columns: tuple[int, int]) -> tuple[str, ...]:
    names = record.names(state)
    return tuple(names[column] for column in columns if column < len(names))


def _column(place: Any, names: tuple[str, ...]) -> int:
    if isinstance(place, str):
        if place not in names:
            raise InvalidValue(record.unknown_name("state", place, names))
        return names.index(place)
    column = operator.index(place)
    if column < 0:
        raise InvalidValue(f"position = {column} must be at least 0")
    return column
