"""Measurements in fresh processes: the first step, with and without a cache, and the import."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median

from ..compile import pipeline
from . import peers_jax as jax_scan
from .timing import TIME, Budget, Entry, Measured, environment, interleaved, run_job, typical


def compile_entries(budget: Budget) -> Iterator[Entry]:
    """Median times of first calls, without imports, with an empty and a filled cache."""
    jobs = {"cold": "step", "cached": "step", "fleet": "fleet", "casadi": "casadi"}
    times: dict[str, list[float]] = {kind: [] for kind in jobs}
    for _ in range(budget.fresh):
        with tempfile.TemporaryDirectory() as cache:
            for kind, job in jobs.items():
                times[kind].append(first_call(job, cache))
    casadi = {"casadi": typical(times["casadi"])}
    name = "compile.four_wheel"
    jax, absent = _jax_first_call(budget, "step")
    yield Entry(f"{name}.cold", TIME, typical(times["cold"]), {**casadi, **jax}, absent)
    yield Entry(f"{name}.cached", TIME, typical(times["cached"]))
    jax, absent = _jax_first_call(budget, "float64")
    details = {"lanes": max(pipeline.LANES)}
    yield Entry(f"{name}.fleet", TIME, typical(times["fleet"]), jax, absent, details)


def _jax_first_call(budget: Budget, part: str) -> tuple[dict[str, Measured], dict[str, str]]:
    return jax_scan.as_peer(
        jax_scan.results(budget, 1), lambda found: Measured(found[part]["first_call"], None)
    )


def first_call(name: str, cache: str) -> float:
    """Time in s of a job of `fresh_job` in a fresh process with this cache folder."""
    return float(run_job("fresh_job", name, SKIDPAD_CACHE=cache))


IMPORTS = {
    "import": "import skidpad",
    "import.simulator": "import skidpad; skidpad.Simulator, skidpad.Fleet, skidpad.vehicles",
}
"""Import statements by entry; names of skidpad load on first use."""
PEER_IMPORTS = {
    "scipy": "import scipy.integrate",
    "casadi": "import casadi",
    "jax": "import jax.numpy",
}


def import_entries(budget: Budget) -> Iterator[Entry]:
    """Median times of imports in a fresh interpreter, minus the time of an empty program."""
    absent = {name: "not installed" for name in PEER_IMPORTS if find_spec(name) is None}
    peers = [name for name in PEER_IMPORTS if name not in absent]
    statements = ["pass", *IMPORTS.values(), *(PEER_IMPORTS[name] for name in peers)]
    actions = [
        partial(
            subprocess.run,
            [sys.executable, "-c", statement],
            env=environment(),
            check=True,
            capture_output=True,
        )
        for statement in statements
    ]
    ours = 1 + len(IMPORTS)
    interleaved(actions[:ours], 1)  # loads the files into memory; those of the peers are there
    bare, *times = interleaved(actions[:ours], 3 * budget.fresh)
    times += interleaved(actions[ours:], budget.fresh)
    measured = [_less(own, median(bare)) for own in times]
    beside = dict(zip(peers, measured[len(IMPORTS) :], strict=True))
    for name, own in zip(IMPORTS, measured, strict=False):
        yield Entry(name, TIME, own, beside, absent, {"interpreter": median(bare)})


def _less(times: list[float], bare: float) -> Measured:
    whole = typical(times)
    # The difference may vanish in noise, but a ratio needs a number above zero.
    value = max(whole.value - bare, 1e-6)
    spread = None if whole.spread is None else whole.spread * whole.value / value
    return Measured(value, spread)
