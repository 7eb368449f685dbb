"""Fans: quantiles of known samples, and the bands of a Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import skidpad as sp
from skidpad.errors import InvalidValue
from view.plots.drawn import curves, diagrams, keys, labelled, titles

T = np.array([0.0, 0.5, 1.0])
RUNS = np.outer(1.0 + T, np.arange(101.0))
"""At each time the runs lie at equal distances, so their quantiles are known."""


def band(axes, label):
    """Lower and upper end of a band at each time."""
    collection = labelled(axes, label)
    assert isinstance(collection, PolyCollection)
    corners = collection.get_paths()[0].vertices
    times = np.unique(corners[:, 0])
    ends = [corners[corners[:, 0] == t, 1] for t in times]
    return np.array([end.min() for end in ends]), np.array([end.max() for end in ends])


def test_bands_of_an_array_are_its_quantiles():
    figure = sp.view.plots.fan(RUNS, "y", t=T)
    (axes,) = diagrams(figure)
    low, high = band(axes, "90 % of the runs")
    np.testing.assert_allclose(low, 5.0 * (1.0 + T), rtol=1e-12)
    np.testing.assert_allclose(high, 95.0 * (1.0 + T), rtol=1e-12)
    low, _ = band(axes, "50 % of the runs")
    np.testing.assert_allclose(low, 25.0 * (1.0 + T), rtol=1e-12)
    (median,) = curves(axes)
    np.testing.assert_allclose(median.get_ydata(), 50.0 * (1.0 + T), rtol=1e-12)
    assert keys(figure.legends[0]) == ["90 % of the runs", "50 % of the runs", "median"]
    assert (axes.get_xlabel(), axes.get_xlim()) == ("time [s]", (0.0, 1.0))


def test_runs_that_diverged_do_not_count():
    samples = RUNS.copy()
    samples[1:, 51:] = np.nan
    samples[2] = np.nan
    (median,) = curves(sp.view.plots.fan(samples, "y", t=T).axes[0])
    np.testing.assert_allclose(median.get_ydata()[:2], [50.0, 25.0 * 1.5], rtol=1e-12)
    assert np.isnan(median.get_ydata()[2])


def test_states_of_a_rollout_are_found_by_name_with_their_unit():
    samples = np.zeros((3, 101, 11))
    samples[:, :, 2] = np.deg2rad(RUNS)
    car = sp.vehicles.kinematic_bicycle()
    figure = sp.view.plots.fan(samples, "yaw", t=T, vehicle=car, rules=np.pi / 6.0)
    assert titles(figure) == ["Heading [°]"]
    (axes,) = diagrams(figure)
    (median,) = curves(axes)
    np.testing.assert_allclose(median.get_ydata(), 50.0 * (1.0 + T), rtol=1e-12)
    rule = next(line for line in axes.lines if line not in curves(axes))
    np.testing.assert_allclose(rule.get_ydata(), 30.0)


def test_a_fleet_rollout_is_drawn_as_it_comes():
    car = sp.vehicles.commonroad_st()
    fleet = sp.Fleet(car, dt=0.01)
    rates = np.column_stack([np.linspace(-0.1, 0.1, 21), np.zeros(21)])
    out = fleet.rollout(car.State(v=10.0), rates, steps=50, every=10)
    figure = sp.view.plots.fan(out, "steer", t=0.1 * np.arange(6), vehicle=car)
    (median,) = figure.axes[0].lines
    np.testing.assert_allclose(median.get_ydata(), 0.0, atol=1e-12)


def test_a_monte_carlo_shows_its_bands_and_runs(study):
    figure = sp.view.plots.fan(study, "y", lines=2, worst=1)
    assert titles(figure) == ["Position $y$ [m]"]
    (axes,) = diagrams(figure)
    for share, label in ((0.9, "90 % of the runs"), (0.5, "50 % of the runs")):
        low, high = study.band("y", share)
        np.testing.assert_array_equal(band(axes, label), [low, high])
    first, second, highest, median = (curve.get_ydata() for curve in curves(axes))
    for number, values in ((0, first), (1, second)):
        np.testing.assert_array_equal(values, study.replay(study.seed_of(number))["y"])
    assert highest.max() == study.worst("y", 1)[0].value
    np.testing.assert_array_equal(median, study.quantile("y", 0.5))
    shares = ["90 % of the runs", "50 % of the runs"]
    assert keys(figure.legends[0]) == [*shares, "single runs", "highest", "median"]


def test_a_function_has_the_unit_that_is_said(study):
    figure = sp.view.plots.fan(study, "twice", lines=1, units={"twice": "m"})
    assert titles(figure) == ["twice [m]"]
    wanted = 2.0 * study.replay(study.seed_of(0))["y"]
    np.testing.assert_array_equal(curves(figure.axes[0])[0].get_ydata(), wanted)
    assert study.unit("twice") == ""
    assert titles(sp.view.plots.fan(study, "twice")) == ["twice"]


def test_a_study_plots_all_it_kept(study):
    assert len(study.plot().axes) == 3
    assert len(study.plot("y", "yaw", rules={"y": [0.5]}).axes) == 2
    assert study.numbers == tuple(range(40))
    assert study.levels == (0.05, 0.25, 0.5, 0.75, 0.95)


def test_bad_requests_are_refused(study):
    with pytest.raises(InvalidValue, match="needs t="):
        sp.view.plots.fan(RUNS, "y")
    with pytest.raises(InvalidValue, match=r"shape \(T, B\)"):
        sp.view.plots.fan(RUNS, "y", t=[0.0])
    with pytest.raises(InvalidValue, match="need vehicle="):
        sp.view.plots.fan(RUNS[..., None], "y", t=T)
    with pytest.raises(InvalidValue, match="did you mean 'yaw'"):
        sp.view.plots.fan(RUNS[..., None], "yav", t=T, vehicle=sp.vehicles.four_wheel())
    with pytest.raises(InvalidValue, match="has 11"):
        sp.view.plots.fan(RUNS[..., None], "yaw", t=T, vehicle=sp.vehicles.four_wheel())
    with pytest.raises(InvalidValue, match="levels"):
        sp.view.plots.fan(RUNS, "y", t=T, levels=[2.0])
    with pytest.raises(InvalidValue, match="worst needs a MonteCarlo"):
        sp.view.plots.fan(RUNS, "y", t=T, worst=1)
    with pytest.raises(InvalidValue, match="a MonteCarlo has its own"):
        sp.view.plots.fan(study, "y", t=T)
    with pytest.raises(InvalidValue, match="no quantity 'v_x'"):
        sp.view.plots.fan(study, "v_x")
    with pytest.raises(InvalidValue, match="no name is given"):
        sp.view.plots.fan(study, [])
