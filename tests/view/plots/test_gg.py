"""The g-g diagram: recorded points, rings, and limits with known radii."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.view.plots.comparison import Limit, density, limit_of
from view.plots.drawn import curves, diagrams, keys, labelled
from view.plots.laps import lap


def radii(curve):
    return np.hypot(curve.get_xdata(), curve.get_ydata())


def test_points_are_those_recorded_coloured_by_speed():
    run = lap()
    figure = sp.view.plots.gg(run)
    axes, bar = figure.axes
    (cloud,) = axes.collections
    np.testing.assert_array_equal(cloud.get_offsets(), np.column_stack([run["a_y"], run["a_x"]]))
    np.testing.assert_array_equal(cloud.get_array(), run["v_x"])
    assert cloud.get_clim() == (5.0, 6.0)
    assert bar.get_ylabel() == "speed [m/s]"
    assert axes.get_aspect() == 1.0
    across = r"lateral acceleration $a_{\mathrm{y}}$ [m/s²], positive to the left"
    assert axes.get_xlabel() == across
    assert axes.get_ylabel() == r"longitudinal acceleration $a_{\mathrm{x}}$ [m/s²]"


def test_points_can_be_coloured_by_density_or_not():
    run = lap()
    axes, bar = sp.view.plots.gg(run, colour="density").axes
    values = axes.collections[0].get_array()
    assert (values.max(), np.diff(values).min() >= 0.0) == (1.0, True)
    assert bar.get_ylabel() == "density, share of the densest"
    assert len(sp.view.plots.gg(run, colour="none").axes) == 1


def test_a_run_of_nan_is_drawn():
    run = lap()
    lost = tuple(c._replace(values=c.values * np.nan) for c in run.columns)
    for colour in ("speed", "none"):
        assert sp.view.plots.gg(sp.Trajectory(run.t, lost), colour=colour).axes


def test_a_long_run_is_thinned_and_a_picture_within_a_vector_file():
    (axes, _) = sp.view.plots.gg(lap(50_001)).axes
    assert len(axes.collections[0].get_offsets()) == 25_001
    assert axes.collections[0].get_rasterized()


def test_the_limit_of_a_car_is_its_friction_times_gravity():
    car = sp.vehicles.four_wheel()
    axes = sp.view.plots.gg(lap(), limit=car).axes[0]
    circle = labelled(axes, "limit 16.2 m/s²")
    np.testing.assert_allclose(radii(circle), car.params.tyre.D * 9.81, rtol=1e-12)
    assert min(np.abs(axes.get_xlim())) > car.params.tyre.D * 9.81


def test_the_limit_of_a_car_on_other_tyres_is_an_ellipse():
    car = sp.vehicles.formula_student()
    tyre = car.params.tyres.tyre
    along, across = limit_of(car)
    assert along == pytest.approx(tyre.longitudinal.D * 9.81, rel=2e-3)
    assert across == pytest.approx(tyre.lateral.D * 9.81, rel=2e-3)


def test_the_limit_of_a_bicycle_is_what_its_parameters_say():
    car = sp.vehicles.commonroad_dynamic_bicycle()
    assert limit_of(car) == Limit(car.params.a_long_max, car.params.a_lat_max)


def test_an_ellipse_has_two_half_axes():
    assert limit_of((8.0, 10.0)) == Limit(8.0, 10.0)
    ellipse = labelled(sp.view.plots.gg(lap(), limit=(8.0, 10.0)).axes[0], "limit")
    np.testing.assert_allclose((ellipse.get_xydata() / [10.0, 8.0]) ** 2 @ [1.0, 1.0], 1.0)


def test_rings_stand_at_halves_of_gravity():
    axes = sp.view.plots.gg(lap(), limit=15.0).axes[0]
    rings = [radii(curve).mean() for curve in curves(axes)[:-1]]
    np.testing.assert_allclose(rings, [4.905, 9.81, 14.715], rtol=1e-12)
    assert [text.get_text() for text in axes.texts] == ["0.5 g", "1 g", "1.5 g"]


def test_density_counts_neighbours():
    x = np.concatenate([np.full(30, 1.01), np.full(10, -3.02), [5.03]])
    shares = density(x, np.zeros_like(x), 6.0)
    np.testing.assert_allclose(shares, np.repeat([1.0, 1.0 / 3.0, 1.0 / 30.0], [30, 10, 1]))


def test_several_runs_have_a_colour_each():
    (axes,) = diagrams(sp.view.plots.gg(lap(), lap(rate=0.4), names=["a", "b"], limit=9.0))
    clouds = axes.collections
    assert keys(axes.get_legend()) == ["a", "b", "limit 9 m/s²"]
    assert clouds[0].get_facecolor().tolist() != clouds[1].get_facecolor().tolist()
    np.testing.assert_array_equal(clouds[1].get_offsets()[:, 0], lap(rate=0.4)["a_y"])


def test_bad_requests_are_refused():
    run = lap()
    with pytest.raises(InvalidValue, match="needed are the columns a_x and a_y"):
        sp.view.plots.gg(sp.Trajectory(run.t, run.columns[:4], "bare"))
    with pytest.raises(InvalidValue, match="colour = 'pink'"):
        sp.view.plots.gg(run, colour="pink")
    with pytest.raises(InvalidValue, match="limit = -1"):
        sp.view.plots.gg(run, limit=-1.0)
    with pytest.raises(InvalidValue, match="limit = 'car'"):
        sp.view.plots.gg(run, limit="car")
    with pytest.raises(InvalidValue, match="no friction limit"):
        sp.view.plots.gg(run, limit=sp.vehicles.commonroad_st())
