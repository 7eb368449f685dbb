"""Commands whose output goes where not every character can be said: a code page, ASCII."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from skidpad.cli import main
from skidpad.cli.output import write_everything

COMMANDS = [
    "models formula_student",
    "tyre race_slick",
    "test --list",
    pytest.param("test single_track:compact --manoeuvre step_steer", marks=pytest.mark.slow),
]


def written(
    monkeypatch: pytest.MonkeyPatch, encoding: str, *arguments: str, errors: str = "strict"
) -> tuple[str, str]:
    """What a command writes to stdout and stderr that have an encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding, errors) for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit):
            main(arguments)
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode(encoding, "strict") for stream in streams)
    return out, err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_no_command_fails_for_a_character(
    monkeypatch: pytest.MonkeyPatch, encoding: str, command: str
) -> None:
    out, err = written(monkeypatch, encoding, *command.split())
    assert out
    assert err == ""
    assert "?" not in out


def test_what_an_encoding_has_stays_and_the_rest_is_spelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "cp1252")
    monkeypatch.setattr(sys, "stdout", stream)
    write_everything()
    stream.write("−3 µm/s² ≥ 0–1 °, 10⁻⁴ λΦ, 車")
    stream.flush()
    assert stream.buffer.getvalue().decode("cp1252") == "-3 µm/s² >= 0–1 °, 10-4 lambdaPhi, ?"


def test_a_choice_of_whoever_calls_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    out, _ = written(monkeypatch, "ascii", "tyre", "race_slick", errors="xmlcharrefreplace")
    assert "N&#183;m" in out


def test_the_name_of_a_file_that_is_no_text_can_be_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    write_everything()
    stream.write("\udcff.mcap")
    stream.flush()
    assert stream.buffer.getvalue() == b"\xff.mcap"


def test_errors_are_spelled_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, err = written(monkeypatch, "ascii", "info", str(tmp_path / "−.mcap"))
    assert err.startswith("error: ")
    assert "-.mcap" in err


def test_json_keeps_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("models", "kinematic_bicycle", "--json")
    plain, _ = written(monkeypatch, "utf-8", *arguments)
    escaped, _ = written(monkeypatch, "cp1252", *arguments)
    assert not plain.isascii()
    assert escaped.isascii()
    assert json.loads(escaped) == json.loads(plain)
