"""The group `viewer`: drawing, opening, watching, driving and recording.

Pages are measured in a headless Chromium with software rendering, with films of a crowd with lidars
and of ten minutes of one car.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from math import ceil, pi, sqrt
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ..errors import require_extras
from ..run.simulator import Simulator
from ..vehicles.formula import four_wheel
from ..view.film import Film, ScanAt
from ..view.recording.recorder import Recorder, WorldRecorder
from ..view.stage import Body, Channel, Scan, Stage, Wheel
from ..view.stages import trajectory_stage
from .timing import (
    TIME,
    Budget,
    Entry,
    Measured,
    interleaved,
    processor_time,
    seconds,
    serving,
    typical,
)
from .work import SEED
from .world import crowd

FIELDS = {"x": "m", "y": "m", "yaw": "rad", "v_x": "m/s", "omega": "rad/s", "steer": "rad"}
OUTLINE = ((-2.2, -0.9), (1.6, -0.9), (2.2, -0.6), (2.2, 0.6), (1.6, 0.9), (-2.2, 0.9))
WHEELS = (("fl", 1.3, 0.75), ("fr", 1.3, -0.75), ("rl", -1.3, 0.75), ("rr", -1.3, -0.75))
PITCH, FPS, SCANS_PER_SECOND = 9.0, 30, 10


def crowd_film(cars: int = 1000, lidars: int = 20, rays: int = 360, duration: float = 10.0) -> Film:
    """Film of cars on neighbouring circles, some with a lidar whose scans change continually."""
    rng = np.random.default_rng(SEED)
    t = np.arange(int(duration * FPS) + 1) / FPS
    names = [f"car{k:04}" for k in range(cars)]
    bodies = [_body(name, k * len(FIELDS)) for k, name in enumerate(names)]
    channels = [Channel(f, unit, name, "state") for name in names for f, unit in FIELDS.items()]
    rows = np.concatenate([_circling(k, cars, t, rng) for k in range(cars)], axis=1)
    owners = names[:: max(1, cars // lidars)][:lidars]
    step = 2.0 * pi / rays
    scans = [Scan("lidar", name, 0.5, 0.0, 0.0, -pi, step, rays, 30.0) for name in owners]
    stage = Stage(f"{cars} cars", tuple(channels), tuple(bodies), tuple(scans))
    return Film(stage, t, rows.astype(np.float32), _scans(lidars, rays, duration))


def _body(name: str, first: int) -> Body:
    places = {field: first + k for k, field in enumerate(FIELDS)}
    wheels = tuple(
        Wheel(w, x, y, 0.65, 0.22, steer=places["steer"] if x > 0.0 else None) for w, x, y in WHEELS
    )
    at = (places["x"], places["y"], places["yaw"])
    return Body(name, "vehicle", (OUTLINE,), *at, wheels, places, model="car")


def _circling(k: int, cars: int, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    side = ceil(sqrt(cars))
    radius, omega = rng.uniform(2.5, 6.0), rng.uniform(0.4, 1.5) * rng.choice([-1.0, 1.0])
    angle = rng.uniform(0.0, 2.0 * pi) + omega * t
    same = np.ones_like(t)
    columns = (
        PITCH * (k % side) + radius * np.cos(angle),
        PITCH * (k // side) + radius * np.sin(angle),
        angle + np.sign(omega) * pi / 2.0,
        abs(omega) * radius * same,
        omega * same,
        np.sign(omega) * np.arctan(2.6 / radius) * same,
    )
    return np.column_stack(columns)


def _scans(lidars: int, rays: int, duration: float) -> tuple[ScanAt, ...]:
    angles = np.arange(rays) * 2.0 * pi / rays
    return tuple(
        ScanAt(
            i, k / SCANS_PER_SECOND, (8.0 + 4.0 * np.sin(3.0 * angles + i + 0.1 * k)).astype("f4")
        )
        for k in range(int(duration * SCANS_PER_SECOND))
        for i in range(lidars)
    )


def long_film(minutes: float = 10.0) -> Film:
    """Film of one car for minutes with all its states, inputs and outputs, a frame every 1/60 s."""
    car = four_wheel()
    simulator = Simulator(car, dt=1.0 / 60.0, substeps=17)
    simulator.reset(v_x=8.0)
    t = np.arange(round(60.0 * minutes * 60.0)) / 60.0
    noise = np.random.default_rng(SEED).normal(size=(len(t), 2))
    controls = np.zeros((len(t), 5))
    controls[:, 0] = 0.12 * np.sin(0.8 * t) + 0.002 * noise[:, 0]
    controls[:, 3] = controls[:, 4] = 70.0 + 20.0 * np.sin(0.3 * t) + noise[:, 1]
    run = simulator.run(controls)
    stage, times, rows = trajectory_stage({"car": run}, car, title="ten minutes")
    return Film(stage, times, rows.astype(np.float32))


ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
_COUNT = """seconds => new Promise(done => {
  let frames = 0;
  const begin = performance.now();
  const count = () => {
    frames += 1;
    const elapsed = performance.now() - begin;
    if (elapsed > 1000 * seconds) done(1000 * frames / elapsed);
    else requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
})"""


def why_not() -> str | None:
    """Reason why no browser can be measured, or None."""
    if find_spec("playwright") is None:
        return "needs playwright"
    return None if _executable() else "needs Chromium"


def _executable() -> str | None:
    named = os.environ.get("SKIDPAD_CHROMIUM")
    return named or shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def page(width: int = 1440, height: int = 900) -> Generator[Any]:
    """Context manager for a browser page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_executable(), args=list(ARGUMENTS))
        try:
            yield browser.new_page(viewport={"width": width, "height": height})
        finally:
            browser.close()


def opened(tab: Any, file: Path) -> float:
    """Open a replay page; returns the time in s until its film is ready to play."""
    begin = perf_counter()
    tab.goto(file.as_uri())
    tab.wait_for_function("window.skidpad && window.skidpad.film")
    return perf_counter() - begin


FRAMES = "frames/s"
RATIO = "times the run alone"
CORES = "cores"
MEGABYTES = "MB"
VIEWERS, RATE = 50, 30.0
RUN = 3.0
"""Simulated time of a recorded world in s."""
LATENCY_TRIES = 25
RELEASED = 1.0
"""Wheel torque in N·m below which the key counts as released."""


def entries(budget: Budget) -> Iterator[Entry]:
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
    missing = why_not()
    if missing is not None:
        nothing = Measured(float("nan"), None)
        yield Entry("viewer.page.open", TIME, nothing, absent={"chromium": missing})
        yield Entry("viewer.canvas", FRAMES, nothing, absent={"chromium": missing})
        return
    with page() as tab:
        opening = median(opened(tab, files["long"]) for _ in range(3))
        yield Entry("viewer.page.open", TIME, Measured(opening, None), details={"minutes": 10})
        opened(tab, files["crowd"])
        tab.evaluate("window.skidpad.seek(1); window.skidpad.play()")
        tab.wait_for_timeout(500)
        rate = float(tab.evaluate(_COUNT, 3.0))
        about = {"vehicles": 1000, "lidars": 20, "rays": 360, "rendering": "software"}
        yield Entry("viewer.canvas", FRAMES, Measured(rate, None), details=about)


def _latency_entry() -> Entry:
    """Median time from a key press on the page to a frame with a changed torque."""
    from websockets.sync.client import connect

    from ..view.stage import Stage

    times: list[float] = []
    with (
        _server("playground") as (address, _),
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
    from ..view.live.messages import decode

    heard: Any = ""
    while not (isinstance(heard, bytes) and reached(decode(heard, len(stage.channels)).row)):
        heard = connection.recv(timeout=20.0)


def _viewers_entry() -> Entry:
    """CPU time of a server with 50 viewers and a world of 100 robots."""
    from websockets.sync.client import connect

    ending = threading.Event()
    counts = [0] * VIEWERS

    def watch(k: int, address: str) -> None:
        with connect(address, compression=None, max_size=None, close_timeout=0.2) as connection:
            while not ending.is_set():
                counts[k] += isinstance(connection.recv(timeout=20.0), bytes)

    with _server("crowd") as (address, process):
        threads = [
            threading.Thread(target=watch, args=(k, address), daemon=True) for k in range(VIEWERS)
        ]
        for thread in threads:
            thread.start()
        time.sleep(3.0)
        before, busy, begin = sum(counts), processor_time(process), time.perf_counter()
        time.sleep(5.0)
        after, later, end = sum(counts), processor_time(process), time.perf_counter()
        ending.set()
        for thread in threads:
            thread.join(timeout=20.0)
    rate = (after - before) / (end - begin) / VIEWERS
    about = {"viewers": VIEWERS, "vehicles": 100, "frames_per_second": rate}
    cores = (later - busy) / (end - begin)
    return Entry("viewer.viewers50", CORES, Measured(cores, None), details=about)


@contextmanager
def _server(kind: str) -> Generator[tuple[str, int]]:
    """Run a live server in a process of its own; yields its socket address and its process id."""
    with serving(kind) as (url, process):
        yield url.replace("http://", "ws://") + "/live", process


def _world_recording(folder: Path, budget: Budget) -> Entry:
    """Recording of 100 robots with a sample every 1/30 s of simulated time.

    It is timed until everything is in the file: pending writes would slow down the next run, which
    has no recording.
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
    """Recording of every step of one car under a Python controller, until everything is in the
    file."""
    car = four_wheel()
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
    """Median ratio of neighbouring runs, which disturbances affect equally."""
    pairs = [b / a for a, b in zip(alone, recorded, strict=True)]
    return typical(pairs)
