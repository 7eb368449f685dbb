"""The harness of all groups: budgets, clocks, entries with their peers, and their table.

Throughput is the best of several runs, a single call the median. The table fits 80 columns;
progress is printed to stderr.

Fresh processes: jobs that print JSON, and servers that run until their input is closed.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import __version__
from ..compile import native
from ..core.files import brief_repr
from ..core.threads import cores


@dataclass(frozen=True)
class Budget:
    """Sizes and repetitions; they change the noise of a result but not its meaning."""

    vehicles: int
    rk4_steps: int
    """Number of 1 ms steps in a rollout with RK4."""
    radau_steps: int
    """Number of 10 ms steps in a rollout with Radau."""
    checked: int
    """Number of vehicles, from the first, whose end state is compared with the reference."""
    repeats: int
    """Timed runs of a fleet and of each of its peers, alternately; the best is reported."""
    peer_seconds: float
    """Approximate time of one run of a fleet peer, in s; slow peers make fewer steps."""
    weave: float
    """Length of the slalom for single steps, in s, a multiple of 10 ms."""
    weave_repeats: int
    fresh: int
    """Fresh processes per result that needs them; imports, which vary more, use three times as
    many."""


FULL = Budget(
    vehicles=16384,
    rk4_steps=500,
    radau_steps=200,
    checked=8,
    repeats=6,
    peer_seconds=0.25,
    weave=3.0,
    weave_repeats=5,
    fresh=3,
)
QUICK = Budget(
    vehicles=8192,
    rk4_steps=200,
    radau_steps=50,
    checked=4,
    repeats=2,
    peer_seconds=0.1,
    weave=0.5,
    weave_repeats=3,
    fresh=1,
)

RATE = "steps/s"
EVALUATIONS = "evaluations/s"
TIME = "s"
REAL_TIME = "times real time"
"""Unit of simulated time divided by computing time."""


class Measured(NamedTuple):
    """Measured result of one contender."""

    value: float
    """Steps or evaluations per second, time in s, or times real time."""
    spread: float | None
    """Noise relative to the value, None for a single run: difference between the best and the
    median run for throughput, between the quartiles for a median."""
    error: float | None = None
    """Largest error of the end state, relative to each field's scale."""


@dataclass(frozen=True)
class Entry:
    """A result of skidpad under a stable dotted name, and the results of its peers for the same
    work."""

    name: str
    unit: str
    own: Measured
    peers: Mapping[str, Measured] = field(default_factory=dict[str, Measured])
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    """Reasons why peers could not be measured, by name."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further information: sizes, step, SIMD lanes, scaling."""

    __repr__ = brief_repr

    def ratio(self, peer: str) -> float:
        """Speed relative to a peer; below 1 the peer is faster."""
        own, other = self.own.value, self.peers[peer].value
        return other / own if self.unit == TIME else own / other

    def as_json(self) -> dict[str, Any]:
        """Entry as JSON values; numbers that are not finite become null."""
        return {
            "name": self.name,
            "value": _finite(self.own.value),
            "unit": self.unit,
            "spread": _finite(self.own.spread),
            "error": _finite(self.own.error),
            "peers": {name: _finite(peer.value) for name, peer in self.peers.items()},
            "ratios": {name: _finite(self.ratio(name)) for name in self.peers},
            "peer_errors": {name: _finite(peer.error) for name, peer in self.peers.items()},
            "peer_spreads": {name: _finite(peer.spread) for name, peer in self.peers.items()},
            "absent": dict(self.absent),
            "details": dict(self.details),
        }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def seconds(action: Callable[[], object]) -> float:
    """Time of one call, in s."""
    begin = perf_counter()
    action()
    return perf_counter() - begin


def interleaved(actions: Sequence[Callable[[], object]], repeats: int) -> list[list[float]]:
    """Times of each action in s, run alternately so that disturbances affect all equally."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for action, own in zip(actions, times, strict=True):
            own.append(seconds(action))
    return times


def best_rate(work: float, times: Sequence[float]) -> Measured:
    """Work per second of the best run, as disturbances only slow a run down."""
    best = min(times)
    return Measured(work / best, median(times) / best - 1.0)


def each(call: Callable[[Any], object], arguments: Iterable[Any]) -> list[float]:
    """Times in s of a call with each argument in turn."""
    times: list[float] = []
    for argument in arguments:
        begin = perf_counter()
        call(argument)
        times.append(perf_counter() - begin)
    return times


def typical(times: Sequence[float]) -> Measured:
    """Median time, with the distance between the quartiles as its spread."""
    middle = median(times)
    if len(times) < 2:
        return Measured(middle, None)
    low, _, high = quantiles(times, n=4, method="inclusive")
    return Measured(middle, (high - low) / middle)


LIBRARIES = ("numpy", "scipy", "casadi", "llvmlite", "jax")


def machine() -> dict[str, Any]:
    """Processor, cores, vector width, system, Python version, and load of the machine."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "vector_bits": native.vector_bits(),
        "architecture": platform.machine(),
        "os": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        # Load average: mean number of runnable processes over the last minute.
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def versions() -> dict[str, str | None]:
    """Versions of skidpad and of the measured libraries; None for one that is not installed."""
    return {"skidpad": __version__, **{name: _version(name) for name in LIBRARIES}}


def cpu_model() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SIGNS = {RATE: "/s", EVALUATIONS: "/s", REAL_TIME: "rt"}
LEGEND = (
    "Steps or evaluations per second (/s), seconds (s) or times real time (rt). × is the speed of "
    "skidpad relative to the peer of the line. Noise is the difference of runs. Error is the "
    "largest difference of the end states from a solution with tolerance 1e-12, or of forces from "
    "extended precision, relative to each field's scale; of exports, from the simulator itself."
)


def show(machine: Mapping[str, Any], versions: Mapping[str, Any], entries: Iterable[Entry]) -> None:
    """Measure the entries, then print them as a table."""
    console = Console()
    with Console(stderr=True).status("measuring") as status:
        rows: list[Entry] = []
        for entry in entries:
            rows.append(entry)
            status.update(f"measured {entry.name}")
    console.print(table(rows))
    console.print(Text(_about(machine, versions), "dim"))
    console.print(Text(LEGEND, "dim"))


def table(entries: Iterable[Entry]) -> Table:
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    # Long names are folded, so that their figures always fit.
    grid.add_column("entry", overflow="fold")
    for heading in ("value", "noise", "×", "error"):
        grid.add_column(heading, justify="right", no_wrap=True)
    above: Entry | None = None
    for entry in entries:
        for row in _rows(entry, above):
            grid.add_row(*row)
        grid.add_section()
        above = entry
    return grid


def _rows(entry: Entry, above: Entry | None) -> Iterable[tuple[Text, ...]]:
    own = entry.own
    yield _row("bold cyan", entry.name, quantity(own.value, entry.unit), own.spread, "", own.error)
    if "scaling" in entry.details:
        yield _row("", "  times one thread", "", None, f"{entry.details['scaling']:.2f}", None)
    if above is not None and entry.peers and entry.peers == above.peers:
        yield _row("dim", "  peers as above", "", None, "", None)
        return
    slowed = entry.details.get("peers_with_one_thread", ())
    for name, peer in entry.peers.items():
        shown = f"  {name} (with one thread)" if name in slowed else f"  {name}"
        ratio = entry.ratio(name)
        times = f"{ratio:.0f}" if ratio >= 99.95 else f"{ratio:.3g}"
        value = quantity(peer.value, entry.unit)
        yield _row("", shown, value, peer.spread, times, peer.error)
    for name, reason in entry.absent.items():
        yield _row("dim", f"  {name}: {reason}", "", None, "", None)


def _row(
    style: str, name: str, value: str, noise: float | None, ratio: str, error: float | None
) -> tuple[Text, ...]:
    spread = "" if noise is None else f"{100.0 * noise:.0f} %"
    return (
        Text(name, style),
        Text(value, style if style == "dim" else "bold" if style else ""),
        Text(spread, "dim"),
        Text(ratio),
        Text("" if error is None else f"{error:.1e}"),
    )


def quantity(value: float, unit: str) -> str:
    """Format a rate or a time with three digits and a prefix: `11.3 M/s`, `2.82 µs`, `1.22 krt`."""
    factor, prefix = next(
        ((f, p) for f, p in _PREFIXES if abs(value) >= 0.9995 * f), (_PREFIXES[-1])
    )
    return f"{value / factor:#.3g} {prefix}{_SIGNS.get(unit, unit)}".replace(". ", " ")


def _about(machine: Mapping[str, Any], versions: Mapping[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    load = "" if machine["load"] is None else f" Load before: {machine['load']}."
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['vector_bits']}-bit vectors, "
        f"{machine['os']}, Python {machine['python']}; {libraries}.{load}"
    )


T = TypeVar("T")
PACKAGE_HOME = str(Path(__file__).parents[2])
_PATIENCE = 60.0
"""Time in s that a server has to end."""


def environment(**settings: str) -> dict[str, str]:
    """Environment variables of this process with additions, which find the same skidpad."""
    path = os.pathsep.join(filter(None, [PACKAGE_HOME, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **settings}


def run_job(module: str, *arguments: object, **settings: str) -> Any:
    """Run a module of this package in a process of its own; returns the last line it prints, as
    JSON."""
    command = [sys.executable, "-m", f"skidpad.bench.{module}", *map(str, arguments)]
    with tempfile.TemporaryDirectory() as room:
        run = subprocess.run(
            command, cwd=room, env=environment(**settings), capture_output=True, text=True
        )
    if run.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed in a fresh process:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def cold_and_cached(job: Callable[[str], T], repeats: int) -> dict[str, list[T]]:
    """Results of a job that takes a cache folder: with an empty cache ("cold"), and repeated with
    the cache thus filled ("cached")."""
    results: dict[str, list[T]] = {"cold": [], "cached": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for kind in results.values():
                kind.append(job(cache))
    return results


@contextmanager
def serving(kind: str, **settings: str) -> Generator[tuple[str, int]]:
    """Run a server of `bench.ros2` in a process of its own.

    Yields the line that it prints when it is ready, and its process id.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "skidpad.bench.ros2", kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(**settings),
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process.pid
    finally:
        process.communicate(timeout=_PATIENCE)


def processor_time(process: int) -> float:
    """CPU time in s that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
