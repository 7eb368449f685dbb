"""Both libraries show the numbers of the sheet, and so the same."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection

import skidpad as sp
from plots.drawn import (
    matplotlib_axes,
    matplotlib_curves,
    matplotlib_dots,
    parts,
    plotly_curves,
    plotly_dots,
    plotly_traces,
)
from plots.laps import lap

CAR = sp.vehicles.commonroad_st()
FIGURES = {
    "trajectory": lambda study, **k: lap().plot(**k),
    "columns": lambda study, **k: lap().plot(columns=["yaw", "u_steer"], **k),
    "compare": lambda study, **k: sp.plots.compare(lap(), lap(speed=6.0), lap(rate=0.4), **k),
    "gg": lambda study, **k: sp.plots.gg(lap(), lap(rate=0.4), limit=9.0, **k),
    "tyres": lambda study, **k: sp.plots.tyre_curves(sp.vehicles.formula_student(), **k),
    "phase": lambda study, **k: sp.plots.phase_portrait(CAR, speed=20.0, steer=0.01, **k),
    "bode": lambda study, **k: sp.plots.bode(CAR, speed=[10.0, 20.0], **k),
    "fan": lambda study, **k: sp.plots.fan(study, ["y", "yaw"], lines=3, worst=1, **k),
    "path": lambda study, **k: sp.plots.path(lap(), sp.vehicles.formula_student(), **k),
}


@pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)
def test_curves_and_dots_have_the_same_numbers(make, study):
    static, lively = make(study), make(study, backend="plotly")
    every = 0
    for number, axes in enumerate(matplotlib_axes(static)):
        traces = plotly_traces(lively, number)
        coloured = any(isinstance(c, LineCollection) for c in axes.collections)
        pairs = [(matplotlib_dots(axes), plotly_dots(traces))]
        if not coloured:
            pairs.append((matplotlib_curves(axes), plotly_curves(traces)))
        for drawn, sent in pairs:
            assert len(drawn) == len(sent)
            for a, b in zip(drawn, sent, strict=True):
                np.testing.assert_array_equal(a, b)
            every += len(drawn)
    assert every


@pytest.mark.parametrize("make", FIGURES.values(), ids=FIGURES)
def test_titles_labels_and_ranges_agree(make, study):
    static, lively = make(study), make(study, backend="plotly")
    for number, axes in enumerate(matplotlib_axes(static)):
        suffix = "" if number == 0 else str(number + 1)
        x, y = lively.layout[f"xaxis{suffix}"], lively.layout[f"yaxis{suffix}"]
        assert (x.type == "log") == (axes.get_xscale() == "log")
        assert bool(axes.get_xlabel()) == bool(x.title.text)
        assert bool(axes.get_ylabel()) == bool(y.title.text)
        if y.range is not None and not y.scaleanchor and axes.get_yscale() == "linear":
            np.testing.assert_allclose(y.range, axes.get_ylim(), rtol=1e-12)
    titles = {a.text for a in lively.layout.annotations}
    for axes in matplotlib_axes(static):
        title = axes.get_title(loc="left")
        if title and "$" not in title:
            assert f"<b>{title}</b>" in titles


def test_a_path_coloured_by_speed_carries_the_speeds():
    run = lap()
    static = next(c for c in run.plot().axes[0].collections if isinstance(c, LineCollection))
    lively = run.plot(backend="plotly")
    carrier = next(t for t in lively.data if t.mode == "markers" and t.marker.coloraxis)
    np.testing.assert_array_equal(carrier.marker.color, run["v_x"])
    np.testing.assert_array_equal(carrier.x, run["x"])
    middles = 0.5 * (run["v_x"][1:] + run["v_x"][:-1])
    np.testing.assert_allclose(static.get_array(), middles, rtol=1e-15)
    segments = np.array(static.get_segments())
    np.testing.assert_array_equal(segments[:, 0, 0], run["x"][:-1])


def test_the_shades_of_a_path_cover_it_once_and_in_order():
    run = lap()
    lines = [t for t in run.plot(backend="plotly").data if t.mode == "lines" and t.xaxis == "x"]
    pieces = [part for t in lines for part in parts(np.column_stack([t.x, t.y]).astype(float))]
    assert sum(len(piece) - 1 for piece in pieces) == len(run) - 1
    starts = sorted(float(piece[0, 0]) for piece in pieces)
    assert set(starts) <= set(run["x"].tolist())


def test_bands_have_the_same_ends(study):
    static = sp.plots.fan(study, "y")
    lively = sp.plots.fan(study, "y", backend="plotly")
    filled = [t for t in lively.data if t.fill == "toself"]
    drawn = [c for c in static.axes[0].collections if isinstance(c, PolyCollection)]
    assert len(filled) == len(drawn) == 2
    for trace, collection, share in zip(filled, drawn, (0.9, 0.5), strict=True):
        low, high = study.band("y", share)
        np.testing.assert_array_equal(trace.y, np.concatenate([high, low[::-1]]))
        corners = {tuple(v) for v in collection.get_paths()[0].vertices.tolist()}
        assert {*zip(study.t, low, strict=True), *zip(study.t, high, strict=True)} <= corners


def test_vehicles_on_a_path_have_the_same_outlines():
    car = sp.vehicles.formula_student()
    static = sp.plots.path(lap(), car, count=4)
    lively = sp.plots.path(lap(), car, count=4, backend="plotly")
    sent = [t for t in lively.data if t.fill == "toself"]
    drawn = [c for c in static.axes[0].collections if isinstance(c, PolyCollection)]
    assert len(sent) == len(drawn) == 2
    for trace, collection in zip(sent, drawn, strict=True):
        outlines = parts(np.column_stack([trace.x, trace.y]).astype(float))
        paths = [path.vertices for path in collection.get_paths()]
        assert len(outlines) == len(paths)
        for a, b in zip(outlines, paths, strict=True):
            np.testing.assert_allclose(a, b[: len(a)], rtol=0.0, atol=1e-12)


def test_a_target_shared_by_several_lines_has_one_grey_entry():
    run = lap()
    legend = next(
        axes.get_legend()
        for axes in run.plot().axes
        if axes.get_title(loc="left") == "Torque [N·m]"
    )
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["fl", "fr", "rl", "rr", "target"]
    lively = run.plot(backend="plotly")
    targets = [t for t in lively.data if t.legendgroup == "target" and t.showlegend is not False]
    assert [t.line.color for t in targets if t.x[0] is None] == ["#888888"]


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_files_of_every_kind(tmp_path, suffix, study):
    sp.plots.fan(study, "y", path=tmp_path / f"fan.{suffix}", size=(3.5, 2.5))
    assert (tmp_path / f"fan.{suffix}").stat().st_size > 4000


def test_a_page_needs_no_network(tmp_path, run):
    run.plot(tmp_path / "run.html", backend="plotly")
    text = (tmp_path / "run.html").read_text("utf-8")
    assert "<script src=" not in text.replace("'", '"')
    assert "plotly" in text


def test_pdf_text_is_text(tmp_path, run):
    sp.plots.gg(run, path=tmp_path / "gg.pdf")
    # Type 42 is a TrueType font; the outlines of Type 3 are what journals refuse.
    data = (tmp_path / "gg.pdf").read_bytes()
    assert b"/Type3" not in data.replace(b" ", b"")
    assert b"FontFile2" in data
