"""What a page tells people to type can be typed: each line finds the files of those before it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from pages import ROOT, blocks
from skidpad.cli import main


def typed() -> list[list[str]]:
    """The lines of the page's one block of commands, as their arguments."""
    page = (ROOT / "docs" / "demo.md").read_text("utf-8")
    (block,) = [block for block in blocks(page) if block.info == "sh"]
    lines = [shlex.split(line) for line in block.text]
    assert all(program == "skidpad" for program, *_ in lines)
    return [arguments for _, *arguments in lines]


def test_the_page_is_made_of_the_recording_that_the_run_leaves() -> None:
    (run, vehicle, *options), (html, file, page) = typed()
    assert (run, html) == ("run", "html")
    assert options[0] == "--out"
    assert Path(file) == Path(options[1], f"{vehicle}.mcap")
    assert Path(page).suffix == ".html"


@pytest.mark.slow
def test_the_lines_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in typed():
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0, arguments
    assert (tmp_path / typed()[-1][-1]).is_file()
