"""Pages that were cut, damaged or opened by the wrong browser say so in words."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skidpad.view.pages import page as page_files
from view.pages.films import two_cars

Open = Callable[..., Any]


def card(page: Any) -> str:
    element = page.locator("#card")
    assert element.is_visible()
    assert not page.locator("#play").is_visible()
    return element.inner_text()


def with_film(folder: Path, film: bytes) -> Path:
    path = folder / "page.html"
    path.write_text(page_files.replay_page("broken", film), "utf-8")
    return path


@pytest.mark.slow_cases("0.99")
@pytest.mark.parametrize("share", [0.3, pytest.param(0.6, marks=pytest.mark.slow), 0.99])
def test_a_file_that_ends_early(opened: Open, page_file: Path, tmp_path: Path, share: float) -> None:  # fmt: skip # noqa: E501
    whole = page_file.read_bytes()
    path = tmp_path / "cut.html"
    path.write_bytes(whole[: int(share * len(whole))])
    assert "cut short" in card(opened(path))


def test_a_film_with_a_byte_changed(opened: Open, page_file: Path, tmp_path: Path) -> None:
    text = page_file.read_text("utf-8")
    found = re.search(r'id="film">([^<]+)<', text)
    assert found is not None
    at = (found.start(1) + found.end(1)) // 2
    other = "A" if text[at] != "A" else "B"
    path = tmp_path / "damaged.html"
    path.write_text(text[:at] + other + text[at + 1 :], "utf-8")
    assert "damaged" in card(opened(path))


def test_a_film_that_is_no_base64(opened: Open, tmp_path: Path) -> None:
    path = with_film(tmp_path, b"x")
    path.write_text(path.read_text("utf-8").replace(base64.b64encode(b"x").decode(), "%%%"))
    assert "damaged" in card(opened(path))


def test_no_film_at_all(opened: Open, tmp_path: Path) -> None:
    assert "no film" in card(opened(with_film(tmp_path, b"")))


def test_something_else_instead_of_a_film(opened: Open, tmp_path: Path) -> None:
    path = with_film(tmp_path, zlib.compress(b"not what was expected"))
    assert "not a film" in card(opened(path))


def test_a_film_of_a_newer_version(opened: Open, tmp_path: Path) -> None:
    block = bytearray(two_cars().to_bytes())
    block[8] = 99
    path = with_film(tmp_path, zlib.compress(bytes(block)))
    assert "version 99" in card(opened(path))


@pytest.mark.slow_cases("-5")
@pytest.mark.parametrize("length", [20, pytest.param(3000, marks=pytest.mark.slow), -5])
def test_a_block_that_is_too_short(opened: Open, tmp_path: Path, length: int) -> None:
    path = with_film(tmp_path, zlib.compress(two_cars().to_bytes()[:length]))
    assert "cut short" in card(opened(path))


def test_a_header_that_is_damaged(opened: Open, tmp_path: Path) -> None:
    block = bytearray(two_cars().to_bytes())
    block[20:24] = b"\x00{{{"
    path = with_film(tmp_path, zlib.compress(bytes(block)))
    assert "description of the film is damaged" in card(opened(path))


def test_a_browser_without_what_the_page_needs(opened: Open) -> None:
    page = opened(before="delete window.DecompressionStream")
    assert "too old" in card(page)


def test_a_browser_without_scripts(browser: Any, page_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert "JavaScript, which is switched off" in page.locator("#card").inner_text()
    context.close()
