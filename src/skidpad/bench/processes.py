"""Fresh processes: jobs that answer with JSON, and servers that run until their input is closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
PACKAGE_HOME = str(Path(__file__).parents[2])
_PATIENCE = 60.0
"""Time in s for a server to end."""


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with settings added, in which the same skidpad is found."""
    path = os.pathsep.join(filter(None, [PACKAGE_HOME, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **settings}


def run_job(module: str, *arguments: object, **settings: str) -> Any:
    """The last line, as JSON, that a module of this package prints in a process of its own."""
    command = [sys.executable, "-m", f"skidpad.bench.{module}", *map(str, arguments)]
    with tempfile.TemporaryDirectory() as room:
        run = subprocess.run(
            command, cwd=room, env=environment(**settings), capture_output=True, text=True
        )
    if run.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} failed in a fresh process:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def cold_and_cached(job: Callable[[str], T], repeats: int) -> dict[str, list[T]]:
    """Results of a job that takes a cache folder: with an empty one ("cold"), and once more with
    what that left in it ("cached")."""
    results: dict[str, list[T]] = {"cold": [], "cached": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            for kind in results.values():
                kind.append(job(cache))
    return results


@contextmanager
def serving(kind: str, **settings: str) -> Generator[tuple[str, int]]:
    """A server of `servers` in a process of its own: the line it prints when it is ready, and the
    number of its process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "skidpad.bench.servers", kind],
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
    """Processor time that a process has used, in s."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
