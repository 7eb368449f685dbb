from __future__ import annotations

import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from skidpad import cli
from skidpad.cli import recordings as _  # noqa: F401  registers its commands
from skidpad.view.pages.page import PageServer
from skidpad.view.recording import Recorder
from view.pages.films import two_cars
from waiting import PATIENCE


def run(*arguments: object) -> int:
    try:
        cli.main([str(argument) for argument in arguments])
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def recorded(path: Path) -> Path:
    film = two_cars()
    with Recorder(path, film.stage) as recorder:
        recorder.add_rows(film.times, film.rows.astype(float))
    return path


def test_a_recording_becomes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.html"
    assert run("html", recorded(tmp_path / "run.mcap"), out) == 0
    assert capsys.readouterr().out.startswith(f"{out}: 0.")
    page = out.read_text("utf-8")
    assert "<title>Two cars</title>" in page
    assert page.rstrip().endswith("</html>")


def test_what_is_no_recording_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "notes.mcap"
    other.write_text("dear diary")
    for file in (other, tmp_path / "missing.mcap"):
        assert run("html", file, tmp_path / "page.html") == 2
        message = capsys.readouterr().err
        assert message.startswith("error: ")
        assert str(file) in message.replace("\n", "")
    assert not (tmp_path / "page.html").exists()


def test_a_page_needs_a_file_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("html", recorded(tmp_path / "run.mcap"), tmp_path) == 2
    assert "is a folder" in capsys.readouterr().err


def test_a_page_is_served_at_its_address_only() -> None:
    server = PageServer("<p>Füße</p>")
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with urllib.request.urlopen(server.url, timeout=PATIENCE) as answer:
            assert answer.read().decode() == "<p>Füße</p>"
            assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        root = server.url.split("/", 3)[:3]
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen("/".join([*root, "guess", ""]), timeout=PATIENCE)
        refused.value.close()
    finally:
        server.stop()
        thread.join(timeout=PATIENCE)
