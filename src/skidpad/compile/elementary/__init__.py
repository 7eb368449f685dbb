"""Elementary functions as IEEE operations: branch-free, with the same bits on every target.

`RULES` maps the name of a function to a rule that writes it with a `Builder`. `LONE` has cheaper
rules for a sine whose cosine (or a cosine whose sine) of the same argument is not in the program.
"""

from __future__ import annotations

from collections.abc import Callable

from .exponential import exp, expm1, log, log1p
from .hyperbolic import acosh, asinh, atanh, cosh, sinh, tanh
from .inverse_trig import acos, asin, atan, atan2
from .power import hypot, pow
from .trig import cos, lone_sin, sin, tan

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
LONE: dict[str, Callable[..., int]] = {"sin": lone_sin}
