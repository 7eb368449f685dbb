"""The script that draws the pictures of README and docs can be run again."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "tools/make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_picture_is_there(script):
    assert {file.name for file in script.FOLDER.glob("*.png")} == set(script.PICTURES)


@pytest.mark.slow
def test_a_picture_is_drawn_by_its_name(script, tmp_path):
    script.main(["lap.png", "--folder", str(tmp_path)])
    assert [file.name for file in tmp_path.iterdir()] == ["lap.png"]
    assert (tmp_path / "lap.png").stat().st_size > 50_000


def test_an_unknown_picture_is_named(script, capsys):
    with pytest.raises(SystemExit):
        script.main(["lap.bmp"])
    assert "no picture lap.bmp; there are lap.png" in capsys.readouterr().err
