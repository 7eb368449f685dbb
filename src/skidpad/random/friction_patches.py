"""Friction that depends on where a vehicle is: ice, puddles, a wet lane."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..brief import shown
from ..errors import InvalidValue
from .draw import Draw
from .model import Fields, UncertaintyModel
from .patches import Patch, Places, Scatter, on_top, same_for_all
from .vectors import Shape


class Ground(NamedTuple):
    """What is remembered of a run: where the patches thrown at random lie."""

    thrown: tuple[Places, ...]


class FrictionPatches(UncertaintyModel):
    """One value, the friction at the place of the vehicle: `base` outside of all patches.

    Patches and what is thrown at random (`Scatter`) lie on top of each other in the order given;
    random ones are the same through a run and differ from run to run. For a vehicle whose
    disturbance has a factor on friction: `by_name(External, mu_scale=FrictionPatches(...))`.

    `position` says which two values of the state are the place, by number or, with `state`, the
    vehicle's State record, by name. The nominal value is `base` if not given.
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
        self._layers = _checked_layers(patches)
        self._columns = _columns(position, state)
        self._place_names = None if state is None else _names_at(state, self._columns)
        shape = Shape.of(1, fields, base=base, nominal_value=nominal_value)
        self._base = shape.finite("base", base)
        shape.require("base", self._base, self._base >= 0.0, "at least 0")
        super().__init__(None, self._base if nominal_value is None else nominal_value, fields=shape)

    def check_state(self, State: type) -> None:
        """Raise if the place is not where it was in the record that it was named by."""
        if self._place_names not in (None, _names_at(State, self._columns)):
            raise InvalidValue(
                f"position: FrictionPatches was made for states with {', '.join(self._place_names)}"
                f" in columns {self._columns[0]} and {self._columns[1]}; these are states of "
                f"{', '.join(record.names(State))}: give state=, the State record of the vehicle"
            )

    def sample(
        self, draw: Draw, memory: Any = None, x: Array | None = None
    ) -> tuple[Array, Ground]:
        """The friction at the places of the runs; `x` are their states, (runs, nx)."""
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
        thrown = iter(ground.thrown)
        for layer in self._layers:
            places = layer if isinstance(layer, Places) else next(thrown)
            out = on_top(places, place_x, place_y, out)
        return out[:, None], ground

    def _placed(self, draw: Draw) -> Ground:
        once = draw.once()
        scatters = [layer for layer in self._layers if isinstance(layer, Scatter)]
        return Ground(tuple(s.placed(once.part(k)) for k, s in enumerate(scatters)))


def _checked_layers(patches: Any) -> list[Places | Scatter]:
    items = [patches] if isinstance(patches, (Patch, Scatter)) else list(patches)
    for k, patch in enumerate(items):
        if not isinstance(patch, (Patch, Scatter)):
            raise InvalidValue(f"patches[{k}] = {patch!r} must be a Patch, a strip or a Scatter")
    return [p if isinstance(p, Scatter) else same_for_all((p,)) for p in items]


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
