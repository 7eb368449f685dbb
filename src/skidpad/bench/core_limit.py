"""How many products a step needs, and how many this core starts in a second."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from ..compile.cpu import CpuRollout, RolloutArrays
from ..compile.held_calls import with_held_parts
from ..compile.lower import lower
from ..compile.program import NOT_RUN, Port, Program
from ..compile.trace import trace
from .clock import best_rate, interleaved

CHAINS = 12
"""Products that do not wait for each other: more than a core has under way."""
LENGTH = 40
"""Products of a chain in a step."""
VEHICLES, STEPS, REPEATS = 512, 200, 20


def every_step(traced: Program, precision: str) -> Counter[str]:
    """Operations of a step within the loop over time, calls counted as often as they are made."""
    program = with_held_parts(lower(traced, precision))
    counts: Counter[str] = Counter()

    def add(code: Any, times: int) -> None:
        for i in code:
            if i.op == "call":
                add(program.functions[i.imm[0]].code, times * i.imm[1])
            elif i.op not in NOT_RUN:
                counts[i.op] += times

    add([i for i, held in zip(program.code, program.held, strict=True) if not held], 1)
    return counts


def products(counts: Counter[str]) -> int:
    """Multiplications and fused ones."""
    return counts["mul"] + counts["fma"]


@cache
def products_per_second(precision: str) -> float:
    """Fused products a second that one thread reaches with nothing else to do, over all lanes.

    Steps a second times the products of one cannot be more.
    """
    engine = CpuRollout(
        chains_of_products(), dt=1.0, tolerance=1.0, precision=precision, lanes=None, threads=1
    )
    none = np.zeros((1, 1, 0), precision)
    arrays = RolloutArrays(np.ones((1, VEHICLES, CHAINS), precision), none, none, none)
    out = np.zeros((2, VEHICLES, CHAINS), precision)
    times = interleaved([lambda: engine.run(arrays, out, STEPS)], REPEATS)[0]
    return best_rate(CHAINS * LENGTH * VEHICLES * STEPS, times).value


def chains_of_products() -> Program:
    """A step of nothing but fused products."""
    names = tuple(f"x{k}" for k in range(CHAINS))
    ports = [Port("x", names), *(Port(name, ()) for name in ("u", "w", "p"))]
    inputs = (*ports, Port("dt", ("dt",)), Port("start", ()))
    return trace("products", _step, inputs, (Port("x", names), Port("residual", ())))


def _step(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
    chains = list(ports[0])
    for _ in range(LENGTH):
        # dt keeps the factors from being folded into one.
        chains = [x * ports[4][0] + 0.5 for x in chains]
    return tuple(chains), ()
