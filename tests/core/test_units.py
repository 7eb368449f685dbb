"""Units carry the dimension their symbol says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from skidpad import units
from skidpad.units import Allowed, Unit

UNITS: dict[str, Unit] = {
    name: alias.__metadata__[0]
    for name, alias in vars(units).items()
    if hasattr(alias, "__metadata__") and isinstance(alias.__metadata__[0], Unit)
}
BASE = {
    "1": (0, 0, 0),
    "rad": (0, 0, 0),
    "m": (1, 0, 0),
    "kg": (0, 1, 0),
    "s": (0, 0, 1),
    "N": (1, 1, -2),
    "J": (2, 1, -2),
    "Pa": (-1, 1, -2),
    "W": (2, 1, -3),
    # Amperes count as pure numbers, so volts and ohms are watts.
    "A": (0, 0, 0),
    "V": (2, 1, -3),
    "Ω": (2, 1, -3),
}
POWERS = {"²": 2, "³": 3}


def dimension(symbol: str) -> tuple[float, ...]:
    """The dimension of a symbol such as N·s²/m², by reading it."""
    above, _, below = symbol.partition("/")
    total = [0.0, 0.0, 0.0]
    for part, sign in ((above, 1), (below.strip("()"), -1)):
        for factor in filter(None, part.split("·")):
            power = POWERS.get(factor[-1], 1)
            base = BASE[re.sub("[²³]$", "", factor)]
            total = [t + sign * power * b for t, b in zip(total, base, strict=True)]
    return tuple(total)


@pytest.mark.parametrize("name", UNITS)
def test_symbol_and_dimension_agree(name: str) -> None:
    unit = UNITS[name]
    assert unit.dimension == dimension(unit.symbol)
    assert str(unit) == unit.symbol


def test_there_are_units() -> None:
    assert {"m", "m_s", "kg", "N", "rad", "one"} <= set(UNITS)


@pytest.mark.parametrize(
    ("allowed", "inside", "outside", "text"),
    [
        (units.positive, [1e-300, 5.0], [0.0, -1.0], "greater than 0"),
        (units.non_negative, [0.0, 5.0], [-1e-300], "at least 0"),
        (Allowed(high=2.0), [-1e9, 2.0], [2.1], "at most 2"),
        (Allowed(0.0, 1.0), [0.0, 1.0], [-0.1, 1.1], "from 0 to 1"),
        (Allowed(0.0, 1.0, open_low=True), [0.1, 1.0], [0.0], "above 0 to 1"),
    ],
)
def test_ranges(allowed: Allowed, inside: Any, outside: Any, text: str) -> None:
    assert all(value in allowed for value in inside)
    assert not any(value in allowed for value in [*outside, float("nan")])
    assert str(allowed) == text
