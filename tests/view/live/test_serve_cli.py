"""`skidpad serve` from the command line, in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

import skidpad
from skidpad.cli import main
from skidpad.view import recording as mcap
from view.live.clients import Client
from view.live.worlds import ROBOT
from waiting import PATIENCE

WORLD = f"<mvsim_world><simul_timestep>0.005</simul_timestep>{ROBOT}</mvsim_world>"
SOURCE = str(Path(skidpad.__file__).parents[1])
PATHS = os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))


class Serving:
    """A server that runs elsewhere."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        command = [sys.executable, "-m", "skidpad", "serve", "--no-browser", *arguments]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": PATHS, "PYTHONUNBUFFERED": "1"},
        )
        self.lines: Queue[str | None] = Queue()
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = ""

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def line(self, pattern: str) -> str:
        """The first group of the next line that matches."""
        with suppress(Empty):
            while (line := self.lines.get(timeout=PATIENCE)) is not None:
                self.said.append(line)
                found = re.search(pattern, line)
                if found:
                    return found[1]
        raise AssertionError(f"no {pattern} in {self.said}")

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(timeout=PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def serving(*arguments: str, folder: Path) -> Iterator[Serving]:
    server = Serving(*arguments, folder=folder)
    try:
        server.url = server.line(r"skidpad is at (\S+)")
        yield server
    finally:
        server.end()


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "small.world.xml"
    path.write_text(WORLD, "utf-8")
    return str(path)


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a child")
def test_it_serves_records_and_ends_with_ctrl_c(file: str, tmp_path: Path) -> None:
    options = ("--port", "0", "--rate", "20", "--record", "run.mcap")
    with serving(file, *options, folder=tmp_path) as server:
        with Client(server.url) as client:
            assert client.hello["rate"] == 20.0
            assert client.stage.title == "small.world.xml"
            client.say("take")
            client.until(
                lambda _: client.frame is not None and client.value("x", "robot") > 0.5,
                lambda: client.drive(1.0, vehicle="robot"),
            )
        assert server.interrupt() == 0
        assert server.line(r"recorded to (\S+)") == "run.mcap"
    recording = mcap.read(tmp_path / "run.mcap")
    assert recording.complete
    assert recording.rows[-1, recording.stage.body("robot").x] > 0.4


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows sends no SIGINT to a child")
def test_without_a_file_there_is_a_car_to_drive(tmp_path: Path) -> None:
    with serving("--port", "0", folder=tmp_path) as server:
        with Client(server.url) as client:
            assert client.hello["vehicles"][0]["name"] == "car"
            assert client.hello["vehicles"][0]["controller"] == "keyboard"
            start = client.frames(1)[0]
            x = client.value("x", frame=start)
            client.say("take")
            client.drive_until(lambda: client.value("x") > x + 1.0, ahead=1.0)
        assert server.interrupt() == 0
    assert not list(tmp_path.iterdir()), "nothing is written unless asked for"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--factor", "0"), "--factor 0 must be from 0.1 to 20"),
        (("--factor", "nan"), "--factor nan must be"),
        (("--rate", "1000"), "--rate 1000 must be from 0.5 to 240"),
        (("--port", "70000"), "--port 70000 must be from 0 to 65535"),
        (("--token", ""), "--token must not be empty"),
        (("missing.xml",), "missing.xml"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["serve", "--no-browser", *arguments])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert words in error.replace("\n", " ")
    assert "Traceback" not in error


def test_a_recording_that_cannot_be_written_is_refused_at_once(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["serve", file, "--no-browser", "--record", str(tmp_path / "none" / "run.mcap")])
    assert stop.value.code == 2
    assert "run.mcap" in capsys.readouterr().err
