"""The group `viewer`: drawing, opening, watching, driving and recording."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..extras import require_extras
from ..recording import Recorder, WorldRecorder
from ..run.simulator import Simulator
from ..stage.trajectory_stage import trajectory_stage
from ..vehicles import formula_student
from . import browser
from .budget import Budget
from .clock import interleaved, seconds, typical
from .crowds import crowd
from .entry import TIME, Entry, Measured
from .films import crowd_film, long_film

FRAMES = "frames/s"
RATIO = "times the run alone"
CORES = "cores"
MEGABYTES = "MB"
VIEWERS, RATE = 50, 30.0
RUN = 3.0
"""Simulated time of a recorded world in s."""
LATENCY_TRIES = 25
RELEASED = 1.0
"""Torque of a wheel in N·m below which the key counts as let go."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Everything somebody sees, measured from outside."""
    require_extras("viewer", "world", "recording", purpose="skidpad bench viewer")
    with tempfile.TemporaryDirectory() as folder:
        yield from _page_entries(Path(folder))
        yield _latency_entry()
        yield _viewers_entry()
        yield _world_recording(Path(folder), budget)
        yield _car_recording(Path(folder), budget)


def _page_entries(folder: Path) -> Iterator[Entry]:
    films = {"crowd": crowd_film(), "long": long_film()}
    files = {name: folder / f"{name}.html" for name in films}
    writing = {name: seconds(lambda n=name: films[n].to_html(files[n])) for name in films}
    size = files["long"].stat().st_size / 1e6
    about = {"channels": len(films["long"].stage.channels), "written_in": writing["long"]}
    yield Entry("viewer.page.size", MEGABYTES, Measured(size, None), details=about)
    missing = browser.why_not()
    if missing is not None:
        nothing = Measured(float("nan"), None)
        yield Entry("viewer.page.open", TIME, nothing, absent={"chromium": missing})
        yield Entry("viewer.canvas", FRAMES, nothing, absent={"chromium": missing})
        return
    with browser.page() as tab:
        opening = median(browser.opened(tab, files["long"]) for _ in range(3))
        yield Entry("viewer.page.open", TIME, Measured(opening, None), details={"minutes": 10})
        browser.opened(tab, files["crowd"])
        rate = browser.frame_rate(tab)
        about = {"vehicles": 1000, "lidars": 20, "rays": 360, "rendering": "software"}
        yield Entry("viewer.canvas", FRAMES, Measured(rate, None), details=about)


def _latency_entry() -> Entry:
    """From a key press as the page sends it to a frame in which the car has felt it."""
    from websockets.sync.client import connect

    from ..stage import Stage

    times: list[float] = []
    with (
        _server("--playground") as address,
        connect(address, compression=None, max_size=None) as to,
    ):
        hello = json.loads(to.recv(timeout=20.0))
        stage = Stage.from_json(hello["stage"])
        car = hello["vehicles"][0]["name"]
        torque = stage.body(car).channels["u_tau_rl"]
        to.send(json.dumps({"type": "take"}))
        for _ in range(LATENCY_TRIES):
            key = {"type": "drive", "vehicle": car, "left": 0.0}
            to.send(json.dumps({**key, "ahead": 0.0}))
            _until(to, stage, lambda row: abs(row[torque]) < RELEASED)
            begin = time.perf_counter()
            to.send(json.dumps({**key, "ahead": 1.0}))
            _until(to, stage, lambda row: row[torque] > RELEASED)
            times.append(time.perf_counter() - begin)
    about = {"tries": LATENCY_TRIES, "slowest": max(times)}
    return Entry("viewer.latency", TIME, Measured(median(times), None), details=about)


def _until(connection: Any, stage: Any, reached: Callable[[Any], bool]) -> None:
    """Listen until something is so in a frame."""
    from ..viewer.live.frames import decoded

    heard: Any = ""
    while not (isinstance(heard, bytes) and reached(decoded(heard, len(stage.channels)).row)):
        heard = connection.recv(timeout=20.0)


def _viewers_entry() -> Entry:
    """Processor time of a server with 50 viewers, the world of 100 robots included."""
    from websockets.sync.client import connect

    ending = threading.Event()
    counts = [0] * VIEWERS

    def watch(k: int, address: str) -> None:
        with connect(address, compression=None, max_size=None, close_timeout=0.2) as connection:
            while not ending.is_set():
                counts[k] += isinstance(connection.recv(timeout=20.0), bytes)

    with _server("--crowd") as address:
        threads = [
            threading.Thread(target=watch, args=(k, address), daemon=True) for k in range(VIEWERS)
        ]
        for thread in threads:
            thread.start()
        time.sleep(3.0)
        before, busy, begin = sum(counts), _ask(address), time.perf_counter()
        time.sleep(5.0)
        after, later, end = sum(counts), _ask(address), time.perf_counter()
        ending.set()
        for thread in threads:
            thread.join(timeout=20.0)
    rate = (after - before) / (end - begin) / VIEWERS
    about = {"viewers": VIEWERS, "vehicles": 100, "frames_per_second": rate}
    cores = (later - busy) / (end - begin)
    return Entry("viewer.viewers50", CORES, Measured(cores, None), details=about)


_PROCESSES: dict[str, int] = {}


def _ask(address: str) -> float:
    """Processor time that a server has used, in s."""
    fields = Path(f"/proc/{_PROCESSES[address]}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _server:
    """A server in a process of its own; the address of its socket."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __enter__(self) -> str:
        command = [sys.executable, "-m", "skidpad.bench.live_job", self._kind]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        url = self._process.stdout.readline().strip()
        self._address = url.replace("http://", "ws://") + "/live"
        _PROCESSES[self._address] = self._process.pid
        return self._address

    def __exit__(self, *_: object) -> None:
        _PROCESSES.pop(self._address)
        self._process.communicate(timeout=30.0)


def _world_recording(folder: Path, budget: Budget) -> Entry:
    """100 robots with a sample every 1/30 s of their time, until all of it is in the file.

    What is still being written would slow down the next run alone.
    """
    plain, recorded = crowd("differential", 100), crowd("differential", 100)
    recorder = WorldRecorder(recorded, folder / "crowd.mcap", rate=RATE)
    steps = round(RUN / plain.dt)

    def alone() -> None:
        for _ in range(steps):
            plain.step()

    def with_recorder() -> None:
        for _ in range(steps):
            recorded.step()
            recorder.sample()
        recorder.flush()

    alone()
    with_recorder()
    times = interleaved([alone, with_recorder], 2 * max(4, budget.repeats))
    recorder.close()
    size = (folder / "crowd.mcap").stat().st_size / 1e6 / recorded.time
    about = {"vehicles": 100, "rate": RATE, "MB_per_simulated_s": size}
    return Entry("viewer.record.world100", RATIO, _ratio(*times), details=about)


def _car_recording(folder: Path, budget: Budget) -> Entry:
    """Every step of one car that is driven by a controller in Python, until all is in the file."""
    car = formula_student(compat="0.1")
    simulator = Simulator(car, dt=0.001)
    steps = 4000

    def drive(recorder: Recorder | None) -> None:
        simulator.reset(v_x=8.0)
        run = simulator.run(lambda t, x: car.Input(steer=0.1 * np.sin(t)), steps=steps)
        if recorder is not None:
            _, times, rows = trajectory_stage({"car": run}, car)
            recorder.add_rows(times + clock[0], rows)
            recorder.flush()
            clock[0] += 1.0 + times[-1]

    clock = [0.0]
    simulator.reset(v_x=8.0)
    first = simulator.run({}, steps=2)
    stage, _, _ = trajectory_stage({"car": first}, car)
    with Recorder(folder / "car.mcap", stage) as recorder:
        drive(None)
        drive(recorder)
        times = interleaved([lambda: drive(None), lambda: drive(recorder)], max(4, budget.repeats))
    about = {"steps": steps, "us_per_step_alone": min(times[0]) / steps * 1e6}
    return Entry("viewer.record.car", RATIO, _ratio(*times), details=about)


def _ratio(alone: Sequence[float], recorded: Sequence[float]) -> Measured:
    """Of neighbouring runs, the median: what disturbs the machine disturbs both."""
    pairs = [b / a for a, b in zip(alone, recorded, strict=True)]
    return typical(pairs)
