"""Pictures of what logs tell: axle curves with tyres beside them, and maps with their coverage."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from skidpad.study.identify.axle_curves import AxleCurves, AxleSamples, TyreCurve
from skidpad.study.identify.pedal_maps import PedalMap, PedalMaps
from skidpad.view.plots.identification import axle_figure
from view.plots.drawn import diagrams, labelled, titles


def samples(stiffness: float) -> AxleSamples:
    alpha = np.linspace(-0.1, 0.1, 2001)
    alpha[:100] = np.nan
    force, ones = stiffness * alpha, np.ones(2001)
    return AxleSamples(alpha, force, 0.0 * force, 8000.0 * ones, 1e-3 * ones, 50.0 * ones)


def curves() -> AxleCurves:
    t = np.arange(2001) * 0.01
    return AxleCurves("run.csv", t, samples(6e4), samples(9e4), v_x=20.0, window=5)


def test_axle_figure_shows_medians_tyres_and_friction_in_degrees_and_kilonewtons(tmp_path):
    run, alpha = curves(), np.linspace(-0.12, 0.12, 9)
    tyres = TyreCurve("my car", alpha, 7e4 * alpha, 8e4 * alpha)
    axles = {"Front axle": run.front, "Rear axle": run.rear}
    bins = [axle.bins() for axle in axles.values()]
    path = tmp_path / "axles.png"
    figure = axle_figure(run.t, axles, bins, [tyres], path=path, title="run.csv")
    front, rear, friction = diagrams(figure)
    assert titles(figure) == ["Front axle", "Rear axle", "Friction used"]
    for axes, slope in ((front, 70.0), (rear, 80.0)):
        line = labelled(axes, "my car")
        np.testing.assert_allclose(line.get_xdata(), np.rad2deg(alpha))
        np.testing.assert_allclose(line.get_ydata(), slope * alpha)
        assert "kN" in front.get_ylabel()
    (used, _) = friction.lines
    assert np.nanmax(used.get_ydata()) == pytest.approx(6e4 * 0.1 / 8000.0)
    assert path.stat().st_size > 10_000


def test_the_figure_of_axle_curves_can_do_without_vehicles():
    figure = curves().plot(title="a drive")
    assert titles(figure)[:2] == ["Front axle", "Rear axle"]
    middle = [c for axes in diagrams(figure)[:2] for c in axes.containers]
    assert len(middle) == 2


def test_bins_are_medians_with_an_interval_that_shrinks_with_samples():
    axle = samples(6e4)
    rng = np.random.default_rng(0)
    noisy = axle._replace(F_y=axle.F_y + rng.normal(0.0, 100.0, 2001))
    few, many = noisy.bins(20, window=10), noisy.bins(20)
    assert many.samples.sum() == pytest.approx(1901, rel=0.01)
    np.testing.assert_allclose(few.error, np.sqrt(10.0) * many.error)
    # The force rises by 540 N within a bin of 0.6 degrees, which is spread and no error.
    assert np.abs(many.F_y - 6e4 * many.alpha).max() < 60.0
    assert (many.high - many.low > 200.0).all()


def test_map_figure_marks_cells_without_samples():
    rows, columns = np.array([0.0, 0.1]), np.array([0.0, 5.0, 10.0])
    coverage = np.array([[12, 0, 2500], [40, 7, 0]])
    texts = ("throttle pedal", "speed [m/s]", "acceleration [m/s²]")
    values = np.array([[0.0, -0.1, -0.2], [1.0, 0.9, 0.8]])
    one = PedalMap(rows, columns, values, coverage, coverage < 5, 0.1, 0.05, {}, *texts)
    figure = PedalMaps(one, None, None).plot(title="maps")
    lines, counts = diagrams(figure)
    assert lines.get_title(loc="left") == "Acceleration"
    assert lines.get_ylabel() == "acceleration [m/s²]"
    assert [text.get_text() for text in counts.texts] == ["12", "×", "2.5k", "40", "7", "×"]
    drawn = [line.get_ydata() for line in lines.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(drawn[0], [0.0, np.nan, -0.2])


def test_a_wrong_file_name_is_refused_before_anything_is_drawn():
    bad = SimpleNamespace()
    with pytest.raises(ValueError, match="png"):
        axle_figure(np.zeros(1), {"Front axle": bad}, [bad], path="axles.xyz")
