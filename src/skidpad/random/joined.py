"""Several models side by side, each over a part of the vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..errors import InvalidValue
from .draw import Draw
from .model import UncertaintyModel, checked_model
from .vectors import Names, Shape


class Part(NamedTuple):
    """A model, the places of its values in the whole, and the name of its channel."""

    name: str
    model: UncertaintyModel
    places: tuple[int, ...]


class Composed(UncertaintyModel):
    """A vector put together from the samples of other models.

    Each part draws from a channel of its own, so that changing one leaves the others' numbers
    alone.
    """

    def __init__(self, parts: Sequence[Part], shape: Shape) -> None:
        """Where there is no part, the values are those at rest of the shape."""
        nominal = shape.rest.copy()
        for part in parts:
            nominal[list(part.places)] = part.model.nominal_value
        self._parts = tuple(parts)
        super().__init__(None, nominal, fields=shape)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The models and where their values are."""
        return self._parts

    @property
    def named_places(self) -> Mapping[int, str]:
        """Names of those values that have one, by their places in the vector."""
        return super().named_places or _named_places(self._parts)

    def check_state(self, State: type) -> None:
        """Raise if a part was made for other states."""
        for part in self._parts:
            part.model.check_state(State)

    def start(self, runs: int) -> Any:
        """The memories of the parts."""
        return tuple(part.model.start(runs) for part in self._parts)

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """What the parts sample, each at its places; the nominal value where there is none."""
        before = self.start(draw.count) if memory is None else memory
        out = np.tile(self.nominal_value, (draw.count, 1))
        after: list[Any] = []
        for part, own in zip(self._parts, before, strict=True):
            out[:, part.places], kept = part.model.sample(draw.part(part.name), own, x)
            after.append(kept)
        return out, tuple(after)


class Joined(Composed):
    """Models one after the other: `Joined([Gaussian(...), Uniform(...)])`.

    Its values have the names that those of the models have, if they have any. For parts of a vector
    by the names of its fields see `by_name`.
    """

    def __init__(self, models: Sequence[UncertaintyModel]) -> None:
        parts: list[Part] = []
        first = 0
        for k, model in enumerate(models):
            _check_model(f"models[{k}]", model)
            parts.append(Part(str(k), model, tuple(range(first, first + model.dim))))
            first += model.dim
        super().__init__(parts, Shape.of(first, _all_names(parts, first)))


def by_name(
    kind: type,
    groups: Mapping[str | tuple[str, ...], UncertaintyModel] | None = None,
    /,
    **models: UncertaintyModel,
) -> Composed:
    """A model of all fields of a record from models of some: `by_name(State, v_x=Gaussian(0, 1))`.

    Fields not named keep their default, 0 without one. Dotted names and groups of fields go into a
    mapping: `by_name(State, {("v_x", "v_y"): Gaussian(covariance=...)})`. The channel of each part
    has the name of its fields.
    """
    names = record.names(kind)
    parts: list[Part] = []
    for key, model in {**(groups or {}), **models}.items():
        fields = (key,) if isinstance(key, str) else tuple(key)
        label = ", ".join(fields)
        _check_model(label, model)
        for name in fields:
            if name not in names:
                raise InvalidValue(record.unknown_name(kind.__name__, name, names))
            if any(names.index(name) in part.places for part in parts):
                raise InvalidValue(f"{name} has two models; allowed is one")
        if len(set(fields)) != len(fields):
            raise InvalidValue(f"{label}: a field is named twice; allowed is once")
        checked_model(f"the model of {label}", model, fields, f"this part of {kind.__name__}")
        parts.append(Part("+".join(fields), model, tuple(names.index(name) for name in fields)))
    return Composed(parts, Shape.of(None, kind))


def _named_places(parts: Sequence[Part]) -> dict[int, str]:
    return {part.places[k]: name for part in parts for k, name in part.model.named_places.items()}


def _all_names(parts: Sequence[Part], dim: int) -> Names | None:
    """Names of all values, if each has one of its own."""
    places = _named_places(parts)
    names = tuple(places[k] for k in sorted(places))
    return names if 0 < dim == len(set(names)) == len(names) else None


def _check_model(name: str, model: Any) -> None:
    if not isinstance(model, UncertaintyModel):
        raise InvalidValue(f"{name} = {model!r} must be an UncertaintyModel")
