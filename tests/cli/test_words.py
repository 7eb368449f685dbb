"""What the command line says: one style of errors, and nothing broken on narrow terminals."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

from skidpad.cli import app, main
from skidpad.view.recording import Recorder
from view.recording.stages import full_stage, some_rows


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERMINAL_WIDTH", "60")
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


RUN = ["run", "kinematic_bicycle", "--duration", "1", "--no-record", "--no-page", "--quiet"]
COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["run", "--bad"],
        ["run", "lap", "--duration", "x"],
        ["run", "lap", "--duration", "-1"],
        ["run", "lap", "--seed", "-1"],
        ["run", "./x.py"],
        ["run", "nowhere/x.world.xml"],
        ["run", "lapp"],
        ["run", "."],
        ["fit"],
        ["html", "/nope"],
        ["info", "/nope.mcap"],
        ["replay", "/nope.mcap"],
        ["recover", "/nope.mcap"],
        ["check", "/nope.xml"],
        ["models", "four_whel"],
        ["models", "four_wheel", "--integrator", "foo"],
        ["models", "four_wheel", "--program", "--integrator", "foo"],
        ["check", "/"],
        ["serve", "/nope.xml"],
        ["test"],
        ["test", "four_whel"],
        ["test", "two_track:fast"],
        ["test", "kinematic_bicycle:fast"],
        ["test", "single_track", "single_track"],
        ["test", "single_track", "--manoeuvre", "step_ster"],
        ["test", "single_track", "--set", "mass=1"],
        ["test", "single_track", "--set", "m=heavy"],
        ["test", "single_track", "--set", "m"],
        ["test", "single_track", "--params", "/nope.yaml"],
        ["test", "single_track", "--limits", "/nope.yaml"],
        ["test", "single_track", "--against", "/nope.json"],
        ["test", "single_track", "--against", "/nope.csv"],
        ["test", "single_track", "--against", "/nope.csv", "--manoeuvre", "step_steer"],
        ["test", "single_track", "--against", "single_track"],
        ["test", "single_track", "--against", "nobody"],
        ["test", "single_track", "--at", "3"],
        ["test", "single_track", "--variants", "3"],
        ["test", "single_track", "--spread", "m=5%"],
        ["test", "single_track", "--variants", "3", "--spread", "m"],
        ["test", "single_track", "--html", "/nope/report.html"],
    ],
    ids=" ".join,
)
def test_errors_are_one_line_of_one_style(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


def test_wrong_usage_says_where_help_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "run", "--bad")[2].endswith("skidpad run --help tells more\n")
    assert "nonsense" in said(capsys, "nonsense")[2]


def test_a_group_without_a_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = said(capsys, "campaign")
    assert "Commands" in out + err
    assert "error:" not in out + err


def test_run_says_what_a_file_is_that_it_does_not_take(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Path("x.py").write_text("print(1)")
    assert (
        "a Python program, not a world file: python ./x.py runs it"
        in said(capsys, "run", "./x.py")[2]
    )
    Path("x.py").unlink()
    text = said(capsys, "run", "./x.py")[2]
    assert "there is no file ./x.py; skidpad run takes world files" in text
    assert "nor the folder nowhere" in said(capsys, "run", "nowhere/x.xml")[2]
    assert "is a folder" in said(capsys, "run", str(tmp_path))[2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
@pytest.mark.parametrize(
    "command",
    [
        ["check", "pipe.world.xml"],
        ["run", "pipe.world.xml"],
        ["html", "--drive", "pipe.world.xml", "out.html"],
    ],
    ids=lambda command: command[0],
)
def test_a_pipe_is_named_as_one_not_as_a_missing_file(
    capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    os.mkfifo("pipe.world.xml")
    status, _, err = said(capsys, *command)
    assert status == 2
    assert "pipe.world.xml cannot be read: it is a named pipe" in " ".join(err.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_names_no_types_of_python(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code, out, _ = said(capsys, command, "--help")
    assert code == 0
    assert "list[" not in out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 60


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w./-]{4,}", text))


@pytest.mark.slow_cases("60")
@pytest.mark.parametrize("narrow", ["60", "72"])
def test_tables_break_no_word(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    narrow: str,
) -> None:
    """Every word on a narrow terminal is one of those on a wide one."""
    stage = full_stage()
    with Recorder("a.mcap", stage) as recorder:
        recorder.add_rows(np.arange(5) / 10.0, some_rows(stage, 5))
    for arguments in (["info", "a.mcap"], ["run"], ["models"], RUN):
        monkeypatch.setenv("COLUMNS", "200")
        _, whole, _ = said(capsys, *arguments)
        monkeypatch.setenv("COLUMNS", narrow)
        _, out, _ = said(capsys, *arguments)
        assert "…" not in out
        assert max(map(len, out.splitlines())) <= int(narrow)
        # Times that it took differ from run to run.
        broken = {word for word in words(out) - words(whole) if not re.search(r"\d\.\d", word)}
        assert not broken, arguments


def test_the_name_of_a_vehicle_stays_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = said(capsys, *RUN)
    assert any(line.startswith("kinematic_bicycle ") for line in out.splitlines())


def test_one_of_something_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    stage = full_stage()
    with Recorder("a.mcap", stage) as recorder:
        recorder.add_rows(np.arange(1) / 10.0, some_rows(stage, 1))
    _, out, _ = said(capsys, "info", "a.mcap")
    assert "in 1 chunk\n" in re.sub(r" +\n", "\n", out)
