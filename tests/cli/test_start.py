"""`skidpad` alone: every command that it suggests exists and would run."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from skidpad import vehicles
from skidpad.cli import app, main
from skidpad.cli import vehicles as commands
from skidpad.demo import DEMOS
from skidpad.errors import EXTRAS

COMMANDS = {command.callback.__name__ for command in app.registered_commands if command.callback}
GROUPS = {group.typer_instance.info.name for group in app.registered_groups if group.typer_instance}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def screen(capsys: pytest.CaptureFixture[str], width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit) as stop:
        main([])
    out, err = capsys.readouterr()
    assert (stop.value.code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= width
    return out


def test_on_80_columns_every_suggestion_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line.strip() for line in screen(capsys, 80, monkeypatch).splitlines()]
    for suggestion in commands.SUGGESTIONS:
        (line,) = [line for line in lines if line.startswith(suggestion.purpose)]
        assert line.endswith(f"skidpad {suggestion.command}")
    assert any("skidpad --help" in line for line in lines)
    assert any("skidpad --install-completion" in line for line in lines)


def test_on_a_narrow_terminal_no_word_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = screen(capsys, 80, monkeypatch)
    assert set(screen(capsys, 50, monkeypatch).split()) <= set(wide.split())


def test_what_is_suggested_exists() -> None:
    for suggestion in commands.SUGGESTIONS:
        command, *arguments = suggestion.command.split()
        assert command in COMMANDS | GROUPS
        assert set(suggestion.extras) <= set(EXTRAS)
        if command in ("models", "test") and arguments:
            assert arguments[0] in vehicles.names()
        if command == "run":
            assert arguments[0] in DEMOS


def test_no_suggestion_reads_a_file_that_none_before_it_writes() -> None:
    made = set[str]()
    for suggestion in commands.SUGGESTIONS:
        command, *arguments = suggestion.command.split()
        files = {word for word in arguments if Path(word).suffix}
        if command == "run":
            folder = arguments[arguments.index("--out") + 1]
            made.add(f"{folder}/{arguments[0]}.mcap")
        elif command not in ("html", "test"):  # whose files are what they write
            assert files <= made, suggestion.command
    assert made


def test_what_is_missing_for_a_suggestion_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda name: None if name == "mcap" else object())
    assert commands.missing_extras() == ["recording"]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(commands.start_screen())
    assert 'pip install "skidpad[recording]"' in capture.get()
    monkeypatch.setattr(commands, "find_spec", lambda name: object())
    with console.capture() as capture:
        console.print(commands.start_screen())
    assert "pip install" not in capture.get()
