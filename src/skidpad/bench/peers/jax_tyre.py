"""JAX on the work of the group `tyres`: `jit` of the same function, in a process of its own."""

from __future__ import annotations

import json
import sys
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from ..tyre_work import combined, tyre_work
from .jax import TIME_LIMIT_S, Answer, answer, settings

CHECKED = 256
"""Contacts, the first ones, whose forces are compared with the reference."""
CALLS = 500


@cache
def results(device: str, precision: str, count: int, repeats: int) -> Answer:
    """`times` in s of all contacts, `forces` (3, K) of the first ones and, on the CPU, `calls`:
    times in s of single calls with numbers; or why there are none."""
    task = {"device": device, "precision": precision, "count": count, "repeats": repeats}
    return answer(__name__, task, settings(device), TIME_LIMIT_S)


def _main() -> None:
    task = json.load(sys.stdin)
    import jax

    jax.config.update("jax_enable_x64", True)
    work = tyre_work(task["count"]).cast(task["precision"])

    @jax.jit
    def forces(F_z: Any, kappa: Any, alpha: Any, gamma: Any) -> Any:
        return combined(work.tyre, F_z, kappa, alpha, gamma)

    columns = [jax.numpy.asarray(column) for column in work.columns]
    first = np.array(jax.block_until_ready(forces(*columns)), dtype=float)[:, :CHECKED]
    report = {"times": _times(forces, columns, task["repeats"]), "forces": first.tolist()}
    if task["device"] == "cpu":
        report["calls"] = _times(forces, [4000.0, 0.02, 0.05, 0.01], CALLS)
    json.dump(report, sys.stdout)


def _times(function: Any, arguments: list[Any], repeats: int) -> list[float]:
    import jax

    jax.block_until_ready(function(*arguments))
    times: list[float] = []
    for _ in range(repeats):
        begin = perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(perf_counter() - begin)
    return times


if __name__ == "__main__":
    _main()
