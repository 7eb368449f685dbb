from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.view.film import Film
from skidpad.view.pages import page as page_files
from skidpad.view.pages.page import html_of, pack_film
from view.pages.films import ten_minutes, two_cars


def note_of(block: bytes) -> str:
    found = re.search(rb'"note":"(.*?)"', zlib.decompress(block))
    assert found is not None
    return found.group(1).decode()


def test_a_page_fetches_nothing_from_elsewhere() -> None:
    page = html_of(two_cars())
    for name in page_files.names():
        page += page_files.text(name)
    found = set(re.findall(r"(?:https?|wss?):?//[\w.-]*", page))
    assert found <= {"http://www.w3.org"}, "only the name of the SVG namespace"


def test_modules_import_only_what_there_is_and_the_page_maps_all() -> None:
    known = set(page_files.module_sources())
    imported = {
        name
        for module in known
        for name in re.findall(r'(?:from|import)\s*\(?"skidpad/([\w.]+)"', page_files.text(module))
    }
    assert {"app.js", "film.js", "live.js"} <= imported <= known
    page = page_files.live_page("/somewhere/")
    for name in known:
        assert f'"skidpad/{name}": "/somewhere/{name}"' in page


def test_an_unknown_file_of_the_page_is_refused() -> None:
    with pytest.raises(KeyError):
        page_files.text("../film.py")


def test_the_title_is_text_and_no_markup() -> None:
    film = two_cars()
    stage = replace(film.stage, title="<script>alert(1)</script>")
    page = html_of(replace(film, stage=stage))
    assert "<script>alert(1)" not in page
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>" in page


def test_ten_minutes_of_a_car_stay_far_below_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.html"
    ten_minutes().to_html(path)
    assert path.stat().st_size < 7.5e6
    assert note_of(pack_film(ten_minutes(channels=4), 1e9)) == ""


def shrunk(film: Film, share: float) -> tuple[bytes, str]:
    whole = len(pack_film(film, np.inf))
    block = pack_film(film, share * whole)
    assert len(block) <= share * whole
    return block, note_of(block)


def test_a_page_that_is_too_large_has_fewer_pictures_and_says_so() -> None:
    _, note = shrunk(ten_minutes(channels=8, rate=30.0), 0.5)
    assert re.fullmatch(r"thinned to \d+ pictures a second", note)


def test_in_need_only_what_is_drawn_stays(opened: Callable[..., Any], tmp_path: Path) -> None:
    film = two_cars()
    path = tmp_path / "small.html"
    frame = len(page_files.replay_page(film.stage.title, b""))
    film.to_html(path, limit_mb=(frame + 100) / 1e6)
    page = opened(path)
    assert page.locator("#note").inner_text() == "thinned to what is drawn"
    names = page.evaluate("skidpad.film.stage.channels.map(c => c.name)")
    assert {"x", "y", "yaw", "steer", "v_x"} <= set(names)
    assert "F_z_fl" not in names


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_limit_must_be_positive(limit: float) -> None:
    with pytest.raises(InvalidValue, match="limit_mb"):
        html_of(two_cars(), limit_mb=limit)


def test_a_page_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot write"):
        two_cars().to_html(tmp_path / "nowhere" / "page.html")
    assert not list(tmp_path.iterdir())
