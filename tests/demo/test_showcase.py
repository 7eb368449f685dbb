"""`skidpad demo`: the best demos with their recordings, pages and pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

import skidpad as sp
from skidpad import demo
from skidpad.view.recording import read


@pytest.mark.slow
def test_it_leaves_a_recording_a_page_and_a_picture_of_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("skidpad.demo.fan.RUNS", 40)
    folder = tmp_path / "made" / "on the way"
    demo.main(folder)
    out, _ = capsys.readouterr()
    kinds = (".html", ".mcap", ".png")
    expected = sorted(f"{name}{kind}" for name in demo.BEST for kind in kinds)
    assert sorted(file.name for file in folder.iterdir()) == expected
    for name in demo.BEST:
        assert read(folder / f"{name}.mcap").complete
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    for file in expected:
        assert f"{folder / file}  " in out
    words = ("recording", "replay page", "picture", "off the lane")
    table = [line for line in out.splitlines() if not line.startswith(words)]
    assert max(map(len, table)) <= 80
    assert sum(line.startswith("car ") for line in table) == 1


def test_a_file_in_the_way_of_the_folder_is_one_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "out").write_text("not a folder", encoding="utf-8")
    with pytest.raises(sp.InvalidValue, match=r"cannot write into .*out"):
        demo.main(tmp_path / "out")
    # Before anything was run.
    assert not capsys.readouterr().out
