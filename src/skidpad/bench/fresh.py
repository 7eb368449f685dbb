"""Figures that need a fresh process: the first step, with and without a cache, and the import."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from statistics import median

from ..compile import pipeline
from .peers import jax as jax_scan
from .timing import TIME, Budget, Entry, Measured, environment, interleaved, typical


def compile_entries(budget: Budget) -> Iterator[Entry]:
    """First calls, imports excluded; the median of several processes, caches empty at first."""
    times: dict[str, list[float]] = {"cold": [], "cached": [], "fleet": [], "casadi": []}
    for _ in range(budget.fresh):
        with tempfile.TemporaryDirectory() as cache:
            times["cold"].append(first_call("step", cache))
            times["cached"].append(first_call("step", cache))
            times["fleet"].append(first_call("fleet", cache))
            times["casadi"].append(first_call("casadi", cache))
    casadi = {"casadi": typical(times["casadi"])}
    name = "compile.four_wheel"
    jax, absent = _jax_first_call(budget, "step")
    yield Entry(f"{name}.cold", TIME, typical(times["cold"]), {**casadi, **jax}, absent)
    yield Entry(f"{name}.cached", TIME, typical(times["cached"]))
    jax, absent = _jax_first_call(budget, "float64")
    details = {"lanes": max(pipeline.LANES)}
    yield Entry(f"{name}.fleet", TIME, typical(times["fleet"]), jax, absent, details)


def _jax_first_call(budget: Budget, part: str) -> tuple[dict[str, Measured], dict[str, str]]:
    """JAX as a peer, or as an absent one with the reason."""
    results = jax_scan.results(budget, 1)
    if isinstance(results, str):
        return {}, {"jax": results}
    return {"jax": Measured(results[part]["first_call"], None)}, {}


def first_call(name: str, cache: str) -> float:
    """The time of a job of `fresh_job` in a fresh process with this cache, in s."""
    command = [sys.executable, "-m", "skidpad.bench.fresh_job", name]
    run = subprocess.run(
        command, env=environment(SKIDPAD_CACHE=cache), capture_output=True, text=True
    )
    if run.returncode:
        raise RuntimeError(f"the first call ({name}) failed in a fresh process:\n{run.stderr}")
    return float(run.stdout)


IMPORTS = {
    "import": "import skidpad",
    "import.simulator": "import skidpad; skidpad.Simulator, skidpad.Fleet, skidpad.vehicles",
}
"""Entries and the statements they time; names of skidpad load on first use."""
PEER_IMPORTS = {
    "scipy": "import scipy.integrate",
    "casadi": "import casadi",
    "jax": "import jax.numpy",
}


def import_entries(budget: Budget) -> Iterator[Entry]:
    """From starting the interpreter to its end, less what an empty program takes; medians."""
    absent = {name: "not installed" for name in PEER_IMPORTS if find_spec(name) is None}
    peers = [name for name in PEER_IMPORTS if name not in absent]
    statements = ["pass", *IMPORTS.values(), *(PEER_IMPORTS[name] for name in peers)]
    actions = [_interpreter(statement) for statement in statements]
    ours = 1 + len(IMPORTS)
    interleaved(actions[:ours], 1)  # brings the files into memory; the peers' are there by now
    bare, *times = interleaved(actions[:ours], 3 * budget.fresh)
    times += interleaved(actions[ours:], budget.fresh)
    measured = [_less(own, median(bare)) for own in times]
    beside = dict(zip(peers, measured[len(IMPORTS) :], strict=True))
    for name, own in zip(IMPORTS, measured, strict=False):
        yield Entry(name, TIME, own, beside, absent, {"interpreter": median(bare)})


def _interpreter(statement: str) -> Callable[[], object]:
    command = [sys.executable, "-c", statement]
    return partial(subprocess.run, command, env=environment(), check=True, capture_output=True)


def _less(times: list[float], bare: float) -> Measured:
    whole = typical(times)
    # Noise can make the difference vanish, and a ratio needs a number above zero.
    value = max(whole.value - bare, 1e-6)
    spread = None if whole.spread is None else whole.spread * whole.value / value
    return Measured(value, spread)
