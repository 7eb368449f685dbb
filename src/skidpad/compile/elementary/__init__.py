"""Elementary functions as IEEE operations: branch-free, with the same bits on every target.

`RULES` maps the name of a function to the rule that writes it with a `Builder`: `rule(b, x)`,
`rule(b, y, x)` for atan2, `rule(b, x, y)` for hypot, `rule(b, x, n)` with a constant n for pow.
`LONE` has a cheaper sine for an argument whose cosine (or tangent) is not in the program.
`trigonometry.DOMAINS` lists the range in which each function is accurate. The coefficients come
from tools/derive_coefficients.py.
"""

from __future__ import annotations

from collections.abc import Callable

from .exponential import acosh, asinh, atanh, cosh, exp, expm1, hypot, log, log1p, pow, sinh, tanh
from .trigonometry import acos, asin, atan, atan2, cos, lone_sin, sin, tan

RULES: dict[str, Callable[..., int]] = {
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "atan2": atan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "exp": exp,
    "log": log,
    "hypot": hypot,
    "pow": pow,
    "log1p": log1p,
    "expm1": expm1,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
"""Rule that writes each elementary function in IEEE operations, by name."""
LONE: dict[str, Callable[..., int]] = {"sin": lone_sin}
"""Cheaper rules for a sine whose cosine is not needed."""
