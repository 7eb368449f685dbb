"""The front door: back ends, files and sizes, and what is refused before anything is done."""

from __future__ import annotations

import subprocess
import sys

import pytest

import skidpad as sp
from plots.laps import lap
from skidpad.errors import InvalidValue, MissingExtra


def test_an_unknown_back_end_is_named(run):
    with pytest.raises(InvalidValue, match=r"backend = 'bokeh'.*matplotlib, plotly"):
        run.plot(backend="bokeh")


def test_without_plotly_one_sentence_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(MissingExtra, match=r"needs plotly.*pip install skidpad\[plots\]"):
        run.plot(backend="plotly")


def test_files_go_with_their_back_end(run, tmp_path):
    with pytest.raises(InvalidValue, match=r"Plotly writes \.html"):
        run.plot(tmp_path / "run.png", backend="plotly")
    with pytest.raises(InvalidValue, match="backend='plotly'"):
        run.plot(tmp_path / "run.html")
    with pytest.raises(InvalidValue, match="suffix must be"):
        sp.plots.gg(run, path=tmp_path / "gg.bmp")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        run.plot(tmp_path / "none" / "run.html", backend="plotly")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [(0.1, 3.0), (3.0,), (3.0, 1e4)])
def test_sizes_are_checked(run, size):
    with pytest.raises(InvalidValue, match="inches"):
        run.plot(size=size)


def test_a_size_is_kept_in_inches(run):
    assert sp.plots.gg(run, size=(3.5, 3.0)).get_size_inches().tolist() == [3.5, 3.0]
    lively = sp.plots.gg(run, size=(3.5, 3.0), backend="plotly")
    assert lively.layout.width / lively.layout.height == pytest.approx(3.5 / 3.0, rel=1e-2)


def test_titles(run):
    assert run.plot().get_suptitle() == "lap"
    assert run.plot(title="Lap 3", backend="plotly").layout.title.text == "<b>Lap 3</b>"
    assert sp.plots.bode(sp.vehicles.commonroad_st(), speed=9, title="").get_suptitle() == ""


def test_a_title_from_outside_is_text_in_a_page():
    lively = lap(name="<b>x</b>").plot(backend="plotly")
    assert lively.layout.title.text == "<b>&lt;b&gt;x&lt;/b&gt;</b>"


def test_plotting_keeps_no_figure_open():
    code = (
        "import sys; import skidpad as sp;"
        "sp.plots.tyre_curves(sp.vehicles.four_wheel());"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
