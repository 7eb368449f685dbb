"""What hangs behind a car: the records of its trailers.

Which equations a car has is the class of its record `trailers`: `NoTrailers`, or a chain of one to
four `Trailer`, each on tyres of any class. The equations are in `towing.py`.
"""

from __future__ import annotations

from math import pi
from typing import Annotated, Any, NamedTuple, get_type_hints

from .. import record
from ..brief import shortened
from ..errors import InvalidValue
from ..recipes import Recipe, made_once, recipe_of
from ..units import (
    Allowed,
    N_s2_m2,
    Nm_rad,
    Nm_s_rad,
    kg,
    kg_m2,
    m,
    non_negative,
    one,
    positive,
    rad,
    s,
)
from .tyre.contract import record_of
from .tyre.load_sensitive import LoadSensitiveTyre

__all__ = ["ORDINALS", "NoTrailers", "Trailer", "trailer_chain", "trailers_type"]

ORDINALS = ("first", "second", "third", "fourth")
"""Fields of a chain: its trailers, from the car back."""


class Trailer(NamedTuple):
    """A trailer on one axle, or on several that stand close together and count as one.

    The defaults are a caravan of 1.2 t; all numbers are estimates.
    """

    m: Annotated[kg, positive] = 1200.0
    """Mass with wheels."""
    I_z: Annotated[kg_m2, positive] = 2900.0
    """Yaw inertia about the centre of mass, with wheels."""
    behind: m = 0.9
    """Where it hangs: how far behind the axle of the unit ahead, of a car the rear one. Negative
    ahead of it, like a fifth wheel."""
    l_axle: Annotated[m, positive] = 4.0
    """From the hitch back to the axle; of several, to their middle."""
    l_cg: Annotated[m, non_negative] = 3.77
    """From the hitch back to the centre of mass. Ahead of the axle it presses the hitch down."""
    track: Annotated[m, positive] = 2.0
    """Distance between the wheels of the two sides."""
    z_cg: Annotated[m, non_negative] = 0.75
    """Height of the centre of mass."""
    z_hitch: Annotated[m, non_negative] = 0.4
    """Height of the hitch."""
    wheels: Annotated[one, positive] = 1.0
    """Wheels on each side, which share its load: of two or three axles, or with twin tyres."""
    I_w: Annotated[kg_m2, positive] = 1.7
    """Inertia of a wheel about its axle."""
    brake: Annotated[one, non_negative] = 1.0
    """Brake torque of a wheel over the mean of those of the car's wheels; 0: no brakes."""
    C_drag: Annotated[N_s2_m2, non_negative] = 1.5
    """What it adds to the air drag, ½ C_drag v² along the trailer, at its centre of mass."""
    damping: Annotated[Nm_s_rad, non_negative] = 0.0
    """Moment of the hitch against turning, per rate: a stabiliser."""
    hitch_max: Annotated[rad, Allowed(0.1, pi)] = 1.7
    """Angle at which the trailer meets the unit ahead, either side."""
    k_stop: Annotated[Nm_rad, non_negative] = 2e5
    """Moment per angle beyond `hitch_max`."""
    t_stop: Annotated[s, non_negative] = 1.0
    """By how much that moment grows per rate at which the angle grows: it takes energy."""
    length: Annotated[m, positive] = 5.0
    """Of its body, without a drawbar. It does not influence the motion."""
    tail: m = 2.4
    """From the axle back to the end of the body. It does not influence the motion."""
    width: Annotated[m, positive] = 2.3
    """It does not influence the motion."""
    height: Annotated[m, positive] = 2.6
    """It does not influence the motion."""
    tyre: Any = None
    """Of each wheel: a tyre record or one read from a file; None: a `LoadSensitiveTyre`."""


class NoTrailers(NamedTuple):
    """Nothing hangs behind the car."""


DEFAULT_TYRE = LoadSensitiveTyre()


@made_once
def trailer_type(tyre: type) -> Any:
    """The record class of trailers on a class of tyres."""
    hints = get_type_hints(Trailer, include_extras=True) | {"tyre": tyre}
    numbers = {name: v for name, v in Trailer._field_defaults.items() if name != "tyre"}
    docs = {leaf.name: leaf.doc for leaf in record.fields(Trailer)}
    return record.define("Trailer", hints, numbers, docs, Trailer.__doc__ or "")


@made_once
def trailers_type(*tyres: type) -> Any:
    """The record class of a chain of trailers, each on a class of tyres."""
    kinds = {name: trailer_type(tyre) for name, tyre in zip(ORDINALS, tyres, strict=False)}
    docs = {name: f"The {name} trailer behind the car." for name in kinds}
    return record.define("Trailers", kinds, docs=docs, doc="Trailers behind a car, in order.")


def _is_chain(kind: type) -> bool:
    recipe = recipe_of(kind)
    return isinstance(recipe, Recipe) and recipe.make is trailers_type


def trailer_chain(trailers: Any) -> Any:
    """The record of what hangs behind a car: of one trailer, or of several in order."""
    kind: Any = type(trailers)
    if isinstance(trailers, NoTrailers) or _is_chain(kind):
        return trailers
    several = isinstance(trailers, (list, tuple)) and not record.is_record_type(kind)
    chain = [_on_tyre(trailer) for trailer in (trailers if several else (trailers,))]
    if not chain:
        return NoTrailers()
    if len(chain) > len(ORDINALS):
        raise InvalidValue(f"trailers: at most {len(ORDINALS)} are allowed, got {len(chain)}")
    return trailers_type(*(type(trailer.tyre) for trailer in chain))(*chain)


def _on_tyre(trailer: Any) -> Any:
    """A trailer as a record whose class tells its tyre."""
    kind: Any = type(trailer)
    if not record.is_record_type(kind) or {*kind._fields} != {*Trailer._fields}:
        raise InvalidValue(
            "trailers must be a Trailer of skidpad.vehicles.two_track, or several in a tuple, got "
            + shortened(repr(trailer), 80)
        )
    tyre = DEFAULT_TYRE if trailer.tyre is None else record_of(trailer.tyre)
    return trailer_type(type(tyre))(**trailer._asdict() | {"tyre": tyre})
