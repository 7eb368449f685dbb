"""Long work says how far it is: to a callable, in a terminal, in a notebook."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stderr, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import pytest

import skidpad as sp
from skidpad.core import progress
from skidpad.core.progress import Line, watching, working
from skidpad.errors import InvalidValue
from waiting import PATIENCE


class Clock:
    """A time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "perf_counter", clock)
    return clock


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def lines(self) -> list[str]:
        """What was drawn, one after the other."""
        return [line.rstrip(" ") for line in self.getvalue().split("\r")[1:]]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


def test_a_callable_hears_ten_times_a_second_and_at_the_end(clock: Clock) -> None:
    calls: list[tuple[float, float]] = []
    with watching(1000, "steps", progress=lambda done, total: calls.append((done, total))) as bar:
        for _ in range(1000):
            clock.now += 0.001
            bar.advance(1)
    assert calls[0] == (1, 1000)
    assert calls[-1] == (1000, 1000)
    assert 9 <= len(calls) <= 12
    assert calls == sorted(set(calls)), "never twice the same"


def test_a_callable_hears_the_end_of_short_work_once(clock: Clock) -> None:
    calls: list[float] = []
    with watching(3, progress=lambda done, total: calls.append(done)) as bar:
        for _ in range(3):
            bar.advance()
    assert calls == [1, 3]
    with watching(0, progress=lambda done, total: calls.append(total)):
        pass
    assert calls == [1, 3, 0]


def test_what_was_done_before_is_no_speed(clock: Clock, terminal: Terminal) -> None:
    """Work that goes on at 60 of 100 and does 10 in 5 s has 15 s left, whatever was there."""
    with redirect_stderr(terminal), watching(100, "runs", "again", True) as bar:
        bar.resume(60)
        clock.now += 5.0
        bar.advance(10)
        clock.now += 15.0
        bar.advance(30)
    first, second, *_ = terminal.lines
    assert first.endswith(" 60 %, 60 of 100 runs")
    assert second.endswith(" 70 %, 70 of 100 runs, 2 runs/s, 15 s left")


def fail(choice: progress.Choice) -> None:
    with watching(10, "<b>", "drive", choice) as bar:
        bar.advance(5)
        raise ArithmeticError


def test_a_callable_hears_nothing_after_an_error() -> None:
    calls: list[float] = []
    with pytest.raises(ArithmeticError):
        fail(lambda done, total: calls.append(done))
    assert calls == [5]


def test_what_a_callable_raises_ends_the_work() -> None:
    def refuse(done: float, total: float) -> None:
        raise ArithmeticError("enough")

    with pytest.raises(ArithmeticError, match="enough"), watching(10, progress=refuse) as bar:
        bar.advance(1)


def test_part_advances_by_a_fraction() -> None:
    with watching(300) as bar:
        bar.advance(100)
        reach = bar.part(200)
        for fraction in (0.1, 0.101, 0.5, 1.0):
            reach(fraction)
            assert bar.done == 100 + int(200 * fraction)
    with watching(2.0, "s") as bar:
        bar.part(2.0)(0.25)
        assert bar.done == 0.5


@pytest.mark.parametrize("choice", [0, 1, "yes", 2.0])
def test_what_is_no_choice_is_refused(choice: Any) -> None:
    with pytest.raises(InvalidValue, match=r"progress = .* must be None, True, False or a func"):
        watching(10, progress=choice)


def drive(
    clock: Clock, choice: progress.Choice, seconds: int = 10, stream: io.StringIO | None = None
) -> None:
    with redirect_stderr(stream), watching(100 * seconds, "steps", "drive", choice) as bar:
        for _ in range(100 * seconds):
            clock.now += 0.01
            bar.advance(1)


def test_a_terminal_shows_a_bar_after_two_seconds(clock: Clock, terminal: Terminal) -> None:
    drive(clock, None, 1, terminal)
    assert terminal.getvalue() == ""
    drive(clock, None, 10, terminal)
    first, *_, last = terminal.lines
    assert (
        first == "drive [####.................]  20 %, 200 of 1000 steps, 100 steps/s, 8.0 s left"
    )
    assert last.endswith("\n")
    assert last.rstrip() == f"drive [{'#' * 30}] 1000 steps in 10 s"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nobody_is_bothered_without_a_terminal(clock: Clock, stream: io.StringIO | None) -> None:
    drive(clock, None, stream=stream)
    assert stream is None or stream.getvalue() == ""


def test_false_shows_nothing(clock: Clock, terminal: Terminal) -> None:
    drive(clock, False, stream=terminal)
    assert terminal.getvalue() == ""


def test_true_shows_a_bar_anywhere(clock: Clock) -> None:
    stream = io.StringIO()
    drive(clock, True, 1, stream)
    assert stream.getvalue().rstrip().endswith("] 100 steps in 1.0 s")


def test_a_closed_stderr_does_not_end_the_work(clock: Clock) -> None:
    stream = io.StringIO()
    stream.close()
    drive(clock, None, stream=stream)
    drive(clock, True, stream=stream)


def test_inner_work_leaves_the_bar_to_the_outer(clock: Clock, terminal: Terminal) -> None:
    for outer in (None, False):
        with redirect_stderr(terminal), watching(1, "studies", "study", outer) as bar:
            drive(clock, None, stream=terminal)
            bar.advance(1)
    assert "drive" not in terminal.getvalue()
    assert terminal.lines[-1].startswith(f"study [{'#' * 30}] 1 studies in 10 s")
    drive(clock, None, stream=terminal)
    assert "drive" in terminal.getvalue()


def test_an_error_leaves_no_bar_behind(clock: Clock, terminal: Terminal) -> None:
    with pytest.raises(ArithmeticError), redirect_stderr(terminal):
        fail(True)
    _, shown, erased, end = terminal.getvalue().split("\r")
    assert "50 %" in shown
    assert erased == " " * len(shown)
    assert end == ""


@pytest.mark.parametrize("label", ["", "a label that is longer than most"])
def test_a_line_fits_every_terminal(label: str) -> None:
    line = Line(label, "steps", 123_456_789, 2_000_000_000, 75.0)
    for width in range(1, 140):
        assert 0 < len(line.drawn(width)) <= width
        assert 0 < len(line.drawn(width, finished=True)) <= width
    assert line.drawn(12 + len(label)).endswith("  6 %")
    assert line.drawn(139).endswith("6 %, 123.5 M of 2000 M steps, 1646 k steps/s, 19:00 min left")


@pytest.mark.parametrize(
    ("elapsed", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (61.0, "61 s"), (99.6, "1:40 min"), (7325.0, "2:02:05")],
)
def test_times_are_short(elapsed: float, text: str) -> None:
    assert Line("", "steps", 1, 1, elapsed).finished() == [f"1 steps in {text}", text]


def test_simulated_time_is_counted_against_real_time(clock: Clock, terminal: Terminal) -> None:
    with redirect_stderr(terminal), watching(60.0, "s", "world", True) as bar:
        for _ in range(60):
            clock.now += 0.25
            bar.advance(1.0)
    assert "50 %, 30.0 of 60.0 s, 4 times real time, 7.5 s left" in terminal.getvalue()
    assert terminal.getvalue().rstrip().endswith("] 60.0 s in 15 s")


class Notebook(ModuleType):
    """What a bar needs of IPython: a kernel, and a display that can be updated."""

    def __init__(self) -> None:
        super().__init__("IPython")
        self.kernel = object()
        self.shown: list[dict[str, str]] = []

    def get_ipython(self) -> Notebook:
        return self

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool) -> Notebook:
        assert raw
        assert display_id
        assert not self.shown
        self.shown.append(content)
        return self

    def update(self, content: dict[str, str], *, raw: bool) -> None:
        assert raw
        assert self.shown
        self.shown.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    return notebook


def test_a_notebook_shows_a_bar_in_its_cell(clock: Clock, notebook: Notebook) -> None:
    drive(clock, None, seconds=1)
    assert not notebook.shown
    drive(clock, None)
    assert notebook.shown[0]["text/plain"].startswith("drive  20 %, 200 of 1000 steps")
    assert '<progress value="0.2000" max="1">' in notebook.shown[0]["text/html"]
    assert notebook.shown[-1]["text/plain"] == "drive 1000 steps in 10 s"
    assert '<progress value="1.0000"' in notebook.shown[-1]["text/html"]


def test_an_error_leaves_no_bar_in_a_notebook(clock: Clock, notebook: Notebook) -> None:
    with pytest.raises(ArithmeticError):
        fail(True)
    assert "&lt;b&gt;" in notebook.shown[0]["text/html"]
    assert notebook.shown[-1] == {"text/plain": "", "text/html": ""}


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="pseudo-terminals are a POSIX matter")
def test_a_real_terminal_gets_a_line() -> None:
    code = (
        "from skidpad.core import progress\nprogress._PATIENCE = 0.0\n"
        "with progress.watching(10, 'steps', 'drive') as bar:\n"
        "    for _ in range(10): bar.advance(1)\n"
    )
    shown = on_screen(code)
    assert "drive [###" in shown
    assert shown.rstrip().endswith("s")
    assert "] 10 steps in" in shown


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="pseudo-terminals are a POSIX matter")
def test_compiling_says_what_it_compiles(tmp_path: Path) -> None:
    """With an empty cache, in a terminal and nowhere else; nothing is left of the line."""
    code = (
        "from skidpad.core import progress\nprogress._SOON = 0.0\nimport skidpad as sp\n"
        "sim = sp.Simulator(sp.vehicles.four_wheel(), dt=0.01, integrator='radau')\n"
        "sim.reset()\nsim.step()\n"
    )
    shown = on_screen(code, {"SKIDPAD_CACHE": str(tmp_path / "screen")})
    assert "compiling four_wheel, Radau, " in shown
    assert shown.endswith(" \r")
    assert on_paper(code, {"SKIDPAD_CACHE": str(tmp_path / "paper")}) == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="pseudo-terminals are a POSIX matter")
def test_building_an_fmu_counts_its_libraries(tmp_path: Path) -> None:
    """The compiler is a stand-in: it is not what is looked at."""
    code = (
        "import sys\nfrom skidpad.core import progress\nprogress._SOON = 0.0\n"
        "import threading\nimport skidpad as sp\n"
        "from skidpad.export import Export, fmu\n"
        "drawn, write = threading.Event(), progress._TerminalBar.write\n"
        "progress._TerminalBar.write = lambda *a, **k: (write(*a, **k), drawn.set())\n"
        # Builds until its line was drawn; the first one drawn may have been made before.
        "def build(sources, out, *_, flags=()):\n    for _ in range(2 * sys.stderr.isatty()):\n"
        f"        drawn.clear()\n        assert drawn.wait({PATIENCE})\n    out.write_bytes(b'x')\n"
        "fmu.build_library = build\n"
        "car = Export(sp.vehicles.double_integrator(), 0.01, 'rk4')\n"
        f"fmu.write_fmu(car, {str(tmp_path / 'car.fmu')!r}, platforms=['linux', 'windows'])\n"
    )
    shown = on_screen(code)
    assert "deriving double_integrator, " in shown
    assert "building double_integrator for x86_64-linux (1 of 2), " in shown
    assert "building double_integrator for x86_64-windows (2 of 2), " in shown
    assert shown.endswith(" \r")
    assert on_paper(code) == ""


def work(clock: Clock, stream: io.StringIO, seconds: float, *, fails: bool = False) -> None:
    with redirect_stderr(stream), working("compiling") as sign:
        for _ in range(int(8 * seconds)):
            clock.now += 0.125
            sign.show()
        if fails:
            raise ArithmeticError


def test_work_without_a_known_end_shows_after_a_second(clock: Clock, terminal: Terminal) -> None:
    work(clock, terminal, 0.9)
    assert terminal.getvalue() == ""
    work(clock, terminal, 2.0)
    first, *_, last, end = terminal.lines
    assert first[1:] == " compiling, 1.0 s"
    assert {line[0] for line in terminal.lines[:-2]} == set("|/-\\")
    assert (last, end) == ("", "")
    with pytest.raises(ArithmeticError):
        work(clock, terminal, 2.0, fails=True)
    assert terminal.lines[-2:] == ["", ""]


@pytest.mark.parametrize("choice", [False, lambda done, total: None])
def test_who_wants_no_bar_gets_no_line(
    clock: Clock, terminal: Terminal, choice: progress.Choice
) -> None:
    with watching(1, progress=choice):
        work(clock, terminal, 2.0)
    assert terminal.getvalue() == ""
    with watching(1):
        work(clock, terminal, 2.0)
    assert "compiling" in terminal.getvalue()


def test_only_the_outermost_work_and_the_main_thread_have_a_line(
    clock: Clock, terminal: Terminal
) -> None:
    with redirect_stderr(terminal), working("exporting"):
        work(clock, terminal, 2.0)
    thread = threading.Thread(target=work, args=(clock, terminal, 2.0))
    thread.start()
    thread.join()
    work(clock, io.StringIO(), 2.0)
    assert terminal.getvalue() == ""


def on_screen(code: str, variables: dict[str, str] | None = None) -> str:
    """What a program shows in a terminal, on stderr."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        text: list[str] = []
        reader = threading.Thread(target=lambda: text.extend(_pieces(screen)))
        reader.start()
        subprocess.run([sys.executable, "-c", code], stderr=theirs, env=_env(variables), check=True)
        os.close(theirs)
        reader.join()
    return "".join(text)


def on_paper(code: str, variables: dict[str, str] | None = None) -> str:
    """What the same program writes to a stderr that is no terminal."""
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=_env(variables),
        check=True,
    )
    return run.stderr


def _env(variables: dict[str, str] | None) -> dict[str, str]:
    path = {"PYTHONPATH": str(Path(sp.__file__).parents[1])}
    return {**os.environ, **path, **(variables or {})}


def _pieces(screen: IO[bytes]) -> Iterator[str]:
    """What a terminal shows, whose lines come in as many pieces as the system likes."""
    with suppress(OSError):  # at the end, on Linux
        while piece := screen.read(4096):
            yield piece.decode()


def test_a_world_reports_simulated_time(tmp_path: Path) -> None:
    world = sp.World.load(_world(tmp_path))
    calls: list[tuple[float, float]] = []
    world.run(0.5, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == pytest.approx((0.5, 0.5))


def _world(folder: Path) -> Path:
    file = folder / "empty.world.xml"
    file.write_text(
        '<mvsim_world version="1.0"><simul_timestep>0.01</simul_timestep></mvsim_world>'
    )
    return file


def test_a_bar_is_full_when_all_is_done_and_only_then() -> None:
    """Simulated time is a sum of steps and may end a hair below or above what was asked for."""
    for done in (42.8, 42.8 - 1e-12, 42.8 + 1e-12):
        line = progress.Line("run", "s", done, 42.8, 2.0)
        assert "." not in line.drawn(79, finished=True).partition("]")[0]
        assert "100 %" in line.drawn(79)
        assert "#]" in line.drawn(79)
        assert "0.0 s left" in line.drawn(79)
    stopped = progress.Line("run", "s", 10.7, 42.8, 2.0).drawn(79, finished=True)
    assert stopped.partition("]")[0].count("#") == stopped.partition("]")[0].count(".") // 3
    assert stopped.endswith("10.7 of 42.8 s in 2.0 s")
