"""Units as loggers write them: `m/s^2`, `m/s2`, `m/s**2` and `m s-2` are all m/s².

A text is taken apart into powers of names, and two texts with the same powers are the same unit.
Nothing is converted: km/h and deg/s stay other units than m/s and rad/s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
WORDS: Mapping[str, Mapping[str, int]] = {
    **{word: {"s": 1} for word in ("sec", "secs", "second", "seconds")},
    **{word: {"m": 1} for word in ("meter", "meters", "metre", "metres")},
    **{word: {"rad": 1} for word in ("rads", "radian", "radians")},
    **{word: {"N": 1} for word in ("newton", "newtons")},
    "Nm": {"N": 1, "m": 1},
    "mps": {"m": 1, "s": -1},
    "radps": {"rad": 1, "s": -1},
    "1": {},
}
"""Names that stand for others, and for how much of them."""
WHOLE = {"mps2": "m/s2", "mps^2": "m/s2", "mpss": "m/s2", "-": "1"}
"""Texts that their parts do not tell."""
FACTOR = re.compile(r"([^\W\d_]+|1)\^?([-+]?\d+)?")


def same_unit(one: str, other: str) -> bool:
    """Whether two texts mean the same unit; those that are no products of powers have to be the
    same letters."""
    if one == other:
        return True
    powers = _powers(one)
    return powers is not None and powers == _powers(other)


def _powers(text: str) -> dict[str, int] | None:
    """Exponents by name; None for a text that is no product of powers."""
    plain = text.strip().translate(RAISED).replace("**", "^").replace(" per ", "/")
    powers: dict[str, int] = {}
    for factor, sign in _factors(WHOLE.get(plain, plain)):
        match = FACTOR.fullmatch(factor)
        if match is None:
            return None
        times = sign * int(match[2] or 1)
        for name, power in WORDS.get(match[1], {match[1]: 1}).items():
            powers[name] = powers.get(name, 0) + times * power
    return {name: power for name, power in powers.items() if power}


def _factors(text: str) -> Iterator[tuple[str, int]]:
    """Each with 1, or with -1 if it divides: the first behind a slash, or all in its brackets."""
    for k, part in enumerate(re.split(r"\s*/\s*", text)):
        bracket = part.startswith("(") and part.endswith(")")
        for n, factor in enumerate(re.split(r"\s*[·⋅*]\s*|\s+|\.", part.strip("()"))):
            yield factor, -1 if k > 0 and (bracket or n == 0) else 1
