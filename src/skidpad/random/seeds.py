"""Seeds: one whole number names all the random numbers of one run.

The low 32 bits of a seed are the number of the run, the bits above are the seed of the study the
run belongs to. So run k of a study with seed s has the seed `of_run(s, k)`, and a single simulation
with that seed draws what the run drew. A seed below 2³² is that run of study 0.
"""

from __future__ import annotations

import secrets
from typing import Any

from ..checks import whole
from ..errors import InvalidValue

RUN_BITS = 32
RUNS = 1 << RUN_BITS
"""Runs that a study can have."""


def checked(seed: Any, name: str = "seed") -> int:
    """The seed as an int; any whole number is one."""
    return whole(name, seed, least=None)


def of_run(seed: int, run: int) -> int:
    """The seed of one run of a study; runs count from 0 to 2³² - 1."""
    number = checked(run, "run")
    if not 0 <= number < RUNS:
        raise InvalidValue(f"run = {number} must be from 0 to {RUNS - 1}")
    return (checked(seed) << RUN_BITS) + number


def split(seed: int) -> tuple[int, int]:
    """The seed of the study and the number of the run: the inverse of `of_run`."""
    whole = checked(seed)
    return whole >> RUN_BITS, whole & (RUNS - 1)


def fresh() -> int:
    """A seed that nobody has used, from the entropy of the operating system."""
    return secrets.randbits(2 * RUN_BITS)
