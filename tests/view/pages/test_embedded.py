"""The replay page within a notebook: whole, bounded, and the run is in it."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.view.pages.page import html_of
from skidpad.view.recording import Recorder, read
from view.pages.films import ten_minutes, two_cars


class Frame(HTMLParser):
    """The one frame of a page, with its attributes; fails at anything else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: dict[str, str | None] = {}
        self.ended = False
        self.feed(text)
        assert self.ended

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert (tag, self.attributes) == ("iframe", {})
        self.attributes = dict(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert tag == "iframe"
        self.ended = True

    def handle_data(self, data: str) -> None:
        assert not data.strip()

    @property
    def page(self) -> str:
        return self.attributes["srcdoc"] or ""

    def film(self) -> bytes:
        """The block of the film within the page."""
        coded = re.search(r'id="film">([^<]*)<', self.page)
        assert coded is not None
        return zlib.decompress(base64.b64decode(coded[1]))


def drive() -> sp.Trajectory:
    sim = sp.Simulator(sp.vehicles.four_wheel(), dt=0.05)
    sim.reset(v_x=5.0)
    return sim.run({"steer": 0.1}, duration=2.0)


def test_a_film_is_one_frame_with_the_whole_page() -> None:
    film = two_cars()
    frame = Frame(film._repr_html_())
    assert frame.page == html_of(film)
    assert frame.film() == film.thinned().to_bytes()
    assert set(frame.attributes) == {"title", "sandbox", "srcdoc", "style"}
    assert frame.attributes["sandbox"] == "allow-scripts"


def test_titles_from_outside_are_text() -> None:
    film = two_cars()
    title = '"><script>alert(1)</script>'
    frame = Frame(replace(film, stage=replace(film.stage, title=title))._repr_html_())
    assert frame.attributes["title"] == title


def test_height_and_size_are_as_asked_for() -> None:
    frame = Frame(two_cars().show(height=321)._repr_html_())
    assert "height:321px" in (frame.attributes["style"] or "")
    small = ten_minutes().show(limit_mb=1.0)._repr_html_()
    assert 0.5e6 < len(small) < 1.05e6
    assert b"thinned to" in Frame(small).film()
    with pytest.raises(InvalidValue, match="height = 5 must be from 100"):
        two_cars().show(height=5)
    with pytest.raises(InvalidValue, match="limit_mb"):
        two_cars().show(limit_mb=0.0)


def test_a_terminal_shows_what_it_is() -> None:
    assert repr(two_cars().show()) == "<replay page of 'Two cars', 8 s, which notebooks show>"


def test_a_recording_shows_its_film(tmp_path: Path) -> None:
    film = two_cars()
    with Recorder(tmp_path / "run.mcap", film.stage) as recorder:
        recorder.add_rows(film.times, film.rows.astype(float))
    recording = read(tmp_path / "run.mcap")
    frame = Frame(recording._repr_html_() or "")
    assert frame.film() == recording.film().thinned().to_bytes()
    assert Frame(recording.show(height=200)._repr_html_()).film() == frame.film()
    assert recording.between(-2.0, -1.0)._repr_html_() is None


@pytest.mark.slow
def test_a_run_is_played_in_its_frame(browser: Any, tmp_path: Path) -> None:
    run = drive()
    notebook = tmp_path / "notebook.html"
    frame = run.show(sp.vehicles.four_wheel())._repr_html_()
    notebook.write_text(f"<!doctype html><meta charset='utf-8'><p>cell</p>{frame}", "utf-8")
    context = browser.new_context(viewport={"width": 1000, "height": 700})
    complaints: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(notebook.as_uri())
    inside = page.frames[1]
    inside.wait_for_function("window.skidpad")
    assert inside.evaluate("Array.from(skidpad.film.series.times)") == run.t.tolist()
    inside.evaluate("() => { skidpad.pause(); skidpad.seek(1.0); }")
    # Drawn with the next picture, which an embedded page may be asked for late.
    sample = run.at(1.0)
    there = f"Math.abs(skidpad.poseOf('four_wheel').x - {sample.x}) < 1e-4"
    inside.wait_for_function(there)
    pose = inside.evaluate("skidpad.poseOf('four_wheel')")
    np.testing.assert_allclose(
        [pose["x"], pose["y"], pose["yaw"]], [sample.x, sample.y, sample.yaw], atol=1e-4
    )
    # What runs within cannot reach the notebook around it.
    assert inside.evaluate("(() => { try { return !!parent.document } catch { return false } })()") is False  # fmt: skip # noqa: E501
    context.close()
    assert not complaints
