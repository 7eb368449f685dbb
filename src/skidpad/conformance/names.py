"""What a field's name says about it: its side of the vehicle, its sign under mirroring, its frame.

Names are read token by token (`F_y_fl` is `F`, `y`, `fl`), so that the words of the shipped records
mean the same in a vehicle of your own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .. import record
from ..units import Unit

_OTHER_SIDE = {"fl": "fr", "fr": "fl", "rl": "rr", "rr": "rl", "left": "right", "right": "left"}
_CORNERS = frozenset({"fl", "fr", "rl", "rr"})
_ODD_WORDS = frozenset(
    {"yaw", "heading", "psi", "steer", "steering", "delta", "alpha", "beta", "roll", "curvature"}
)
"""Quantities that are positive to the left, so that a mirror changes their sign."""
_AXIAL = frozenset({"omega", "M"})
"""Vectors of rotation: a left-right mirror turns their x and z components round, y stays."""


def tokens(name: str) -> tuple[str, ...]:
    """The words of a dotted field name."""
    return tuple(word for word in re.split(r"[._]", name) if word)


def mirrored_name(name: str) -> str:
    """The field that takes this one's place on the other side of the vehicle."""
    words = re.split(r"([._])", name)
    return "".join(_OTHER_SIDE.get(word, word) for word in words)


def is_odd(name: str) -> bool:
    """Whether the quantity changes sign when left and right are exchanged."""
    words = set(tokens(name))
    if words & _ODD_WORDS:
        return True
    if words & _AXIAL:
        # omega_fl is the spin of a wheel about its axle (the y axis), omega alone the yaw rate.
        about_y = "y" in words or ("omega" in words and bool(words & _CORNERS))
        return not about_y
    return "y" in words


def mirror_signs(kind: type, odd: Mapping[str, bool] | None) -> dict[str, float]:
    """-1 for each leaf that changes sign and 1 for the others; `odd` overrides the rule by name."""
    rule = odd or {}
    return {name: -1.0 if rule.get(name, is_odd(name)) else 1.0 for name in record.names(kind)}


def mirrored(value: Any, signs: Mapping[str, float]) -> Any:
    """A record seen in a mirror: sides exchanged, odd quantities with the other sign."""
    kind = type(value)
    leaves = dict(zip(record.names(kind), record.flatten(value), strict=True))
    other = {name: mirrored_name(name) for name in leaves}
    return record.unflatten(
        kind,
        [signs[name] * leaves[other[name] if other[name] in leaves else name] for name in leaves],
    )


def position_pairs(kind: type) -> list[tuple[str, str]]:
    """World positions in a record: `x` with `y` in metres, also `x_trailer` with `y_trailer`."""
    units = {leaf.name: leaf.unit for leaf in record.fields(kind)}
    pairs: list[tuple[str, str]] = []
    for name, unit in units.items():
        words = tokens(name)
        if unit.symbol == "m" and words.count("x") == 1 and not words[0].isupper():
            partner = re.sub(r"(^|[._])x(?=$|[._])", r"\1y", name)
            if partner in units:
                pairs.append((name, partner))
    return pairs


def headings(kind: type) -> list[str]:
    """World headings in a record: angles named `yaw`, `heading` or `psi`, also `yaw_trailer`."""
    words = {"yaw", "heading", "psi"}
    return [
        leaf.name
        for leaf in record.fields(kind)
        if leaf.unit.symbol == "rad" and words & set(tokens(leaf.name))
    ]


def is_motion(name: str) -> bool:
    """Whether a state is a pose or a velocity of the body, not the position of an actuator."""
    words = tokens(name)
    return words[-1] in {"x", "y", "yaw", "heading", "psi", "omega", "v", "z"} or words[0] == "v"


def is_effort(unit: Unit) -> bool:
    """Whether a quantity drives the vehicle: a torque, force or power, or an acceleration."""
    return unit.mass != 0.0 or unit.dimension == (1.0, 0.0, -2.0)
