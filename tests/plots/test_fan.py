"""Fans: quantiles of known samples, and the bands of a Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.plots.figures.fan import array_fans, fan_diagram, study_fans
from skidpad.plots.figures.sheet import Band, Curve, Rule

T = np.array([0.0, 0.5, 1.0])
RUNS = np.outer(1.0 + T, np.arange(101.0))
"""At each time the runs lie at equal distances, so their quantiles are known."""


def marks(kind, fan, *rules):
    return [mark for mark in fan_diagram(fan, *rules).marks if isinstance(mark, kind)]


def fan_of(samples, names=("y",), **options):
    given = {"t": T, "vehicle": None, "levels": (0.05, 0.25, 0.5, 0.75, 0.95), "lines": 0, "units": {}}  # fmt: skip # noqa: E501
    return array_fans(samples, list(names), **{**given, **options})


def test_bands_of_an_array_are_its_quantiles():
    (fan,) = fan_of(RUNS)
    outer, inner = marks(Band, fan)
    np.testing.assert_allclose(outer.low, 5.0 * (1.0 + T), rtol=1e-12)
    np.testing.assert_allclose(outer.high, 95.0 * (1.0 + T), rtol=1e-12)
    np.testing.assert_allclose(inner.low, 25.0 * (1.0 + T), rtol=1e-12)
    (median,) = marks(Curve, fan)
    np.testing.assert_allclose(median.y, 50.0 * (1.0 + T), rtol=1e-12)
    assert [band.label for band in (outer, inner)] == ["90 % of the runs", "50 % of the runs"]


def test_runs_that_diverged_do_not_count():
    samples = RUNS.copy()
    samples[1:, 51:] = np.nan
    samples[2] = np.nan
    (fan,) = fan_of(samples)
    (median,) = marks(Curve, fan)
    np.testing.assert_allclose(median.y[:2], [50.0, 25.0 * 1.5], rtol=1e-12)
    assert np.isnan(median.y[2])


def test_states_of_a_rollout_are_found_by_name_with_their_unit():
    car = sp.vehicles.kinematic_bicycle()
    samples = np.zeros((3, 101, 11))
    samples[:, :, 2] = np.deg2rad(RUNS)
    (fan,) = fan_of(samples, ["yaw"], vehicle=car)
    diagram = fan_diagram(fan, [np.pi / 6.0])
    assert diagram.title == "Heading [°]"
    (median,) = marks(Curve, fan)
    np.testing.assert_allclose(median.y, 50.0 * (1.0 + T), rtol=1e-12)
    (rule,) = marks(Rule, fan, [np.pi / 6.0])
    assert rule.at == pytest.approx(30.0)


def test_a_fleet_rollout_is_drawn_as_it_comes():
    car = sp.vehicles.commonroad_st()
    fleet = sp.Fleet(car, dt=0.01)
    rates = np.column_stack([np.linspace(-0.1, 0.1, 21), np.zeros(21)])
    out = fleet.rollout(car.State(v=10.0), rates, steps=50, every=10)
    figure = sp.plots.fan(out, "steer", t=0.1 * np.arange(6), vehicle=car)
    (median,) = figure.axes[0].lines
    np.testing.assert_allclose(median.get_ydata(), 0.0, atol=1e-12)


def test_a_monte_carlo_shows_its_bands_and_runs(study):
    (fan,) = study_fans(study, ["y"], lines=2, worst=1, units={})
    assert fan.unit == "m"
    low, high = study.band("y")
    outer, _ = marks(Band, fan)
    np.testing.assert_array_equal(outer.low, low)
    np.testing.assert_array_equal(outer.high, high)
    first, second, highest, median = marks(Curve, fan)
    for number, curve in ((0, first), (1, second)):
        np.testing.assert_array_equal(curve.y, study.replay(study.seed_of(number))["y"])
    assert highest.y.max() == study.worst("y", 1)[0].value
    np.testing.assert_array_equal(median.y, study.quantile("y", 0.5))


def test_a_function_has_the_unit_that_is_said(study):
    (fan,) = study_fans(study, ["twice"], lines=1, worst=0, units={"twice": "m"})
    assert (fan.unit, fan_diagram(fan).title) == ("m", "twice [m]")
    np.testing.assert_array_equal(fan.lines[0], 2.0 * study.replay(study.seed_of(0))["y"])
    assert study.unit("twice") == ""


def test_a_study_plots_all_it_kept(study):
    assert len(study.plot().axes) == 3
    assert len(study.plot("y", "yaw", rules={"y": [0.5]}).axes) == 2
    assert study.numbers == tuple(range(40))
    assert study.levels == (0.05, 0.25, 0.5, 0.75, 0.95)


def test_bad_requests_are_refused(study):
    with pytest.raises(InvalidValue, match="needs t="):
        sp.plots.fan(RUNS, "y")
    with pytest.raises(InvalidValue, match=r"shape \(T, B\)"):
        sp.plots.fan(RUNS, "y", t=[0.0])
    with pytest.raises(InvalidValue, match="need vehicle="):
        sp.plots.fan(RUNS[..., None], "y", t=T)
    with pytest.raises(InvalidValue, match="did you mean 'yaw'"):
        sp.plots.fan(RUNS[..., None], "yav", t=T, vehicle=sp.vehicles.four_wheel())
    with pytest.raises(InvalidValue, match="has 11"):
        sp.plots.fan(RUNS[..., None], "yaw", t=T, vehicle=sp.vehicles.four_wheel())
    with pytest.raises(InvalidValue, match="levels"):
        sp.plots.fan(RUNS, "y", t=T, levels=[2.0])
    with pytest.raises(InvalidValue, match="worst goes with a MonteCarlo"):
        sp.plots.fan(RUNS, "y", t=T, worst=1)
    with pytest.raises(InvalidValue, match="a MonteCarlo knows its own"):
        sp.plots.fan(study, "y", t=T)
    with pytest.raises(InvalidValue, match="no quantity 'v_x'"):
        sp.plots.fan(study, "v_x")
    with pytest.raises(InvalidValue, match="no name is given"):
        sp.plots.fan(study, [])
