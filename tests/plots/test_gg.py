"""The g-g diagram: recorded points, rings, and limits with known radii."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from plots.laps import lap
from skidpad.errors import InvalidValue
from skidpad.plots.figures.gg import Limit, density, gg_sheet, limit_of
from skidpad.plots.figures.sheet import Curve, Dots


def marks(kind, sheet):
    return [mark for mark in sheet.cells[0].diagram.marks if isinstance(mark, kind)]


def test_points_are_those_recorded_coloured_by_speed():
    run = lap()
    sheet = gg_sheet({"lap": run})
    (cloud,) = marks(Dots, sheet)
    assert cloud.values is not None
    order = np.argsort(cloud.values)
    np.testing.assert_array_equal(cloud.x[order], run["a_y"])
    np.testing.assert_array_equal(cloud.y[order], run["a_x"])
    np.testing.assert_array_equal(cloud.values[order], run["v_x"])
    scale = sheet.cells[0].diagram.scale
    assert scale is not None
    assert (scale.label, scale.low, scale.high) == ("speed [m/s]", 5.0, 6.0)


def test_the_limit_of_a_car_is_its_friction_times_gravity():
    car = sp.vehicles.formula_student()
    (*_, circle) = marks(Curve, gg_sheet({"lap": lap()}, limit=car))
    assert circle.label == "limit 16.2 m/s²"
    np.testing.assert_allclose(np.hypot(circle.x, circle.y), car.params.tyre.D * 9.81, rtol=1e-12)


def test_the_limit_of_a_bicycle_is_what_its_parameters_say():
    car = sp.vehicles.commonroad_dynamic_bicycle()
    assert limit_of(car) == Limit(car.params.a_long_max, car.params.a_lat_max)


def test_an_ellipse_has_two_half_axes():
    assert limit_of((8.0, 10.0)) == Limit(8.0, 10.0)
    (*_, ellipse) = marks(Curve, gg_sheet({"lap": lap()}, limit=(8.0, 10.0)))
    np.testing.assert_allclose((ellipse.x / 10.0) ** 2 + (ellipse.y / 8.0) ** 2, 1.0, rtol=1e-12)


def test_rings_stand_at_halves_of_gravity():
    rings = marks(Curve, gg_sheet({"lap": lap()}, limit=15.0))[:-1]
    radii = [float(np.hypot(ring.x, ring.y).mean()) for ring in rings]
    np.testing.assert_allclose(radii, [4.905, 9.81, 14.715], rtol=1e-12)


def test_density_counts_neighbours():
    x = np.concatenate([np.full(30, 1.01), np.full(10, -3.02), [5.03]])
    found = density(x, np.zeros_like(x), 6.0)
    np.testing.assert_allclose(found, np.repeat([1.0, 1.0 / 3.0, 1.0 / 30.0], [30, 10, 1]))


def test_several_runs_have_a_colour_each():
    clouds = marks(Dots, gg_sheet({"a": lap(), "b": lap(rate=0.4)}))
    assert [cloud.label for cloud in clouds] == ["a", "b"]
    assert clouds[0].colour != clouds[1].colour
    assert all(cloud.values is None for cloud in clouds)


def test_bad_requests_are_refused():
    run = lap()
    with pytest.raises(InvalidValue, match="needed are the columns a_x and a_y"):
        sp.plots.gg(sp.Trajectory(run.t, run.columns[:4], "bare"))
    with pytest.raises(InvalidValue, match="colour = 'pink'"):
        sp.plots.gg(run, colour="pink")
    with pytest.raises(InvalidValue, match="limit = -1"):
        sp.plots.gg(run, limit=-1.0)
    with pytest.raises(InvalidValue, match="limit = 'car'"):
        sp.plots.gg(run, limit="car")
    with pytest.raises(InvalidValue, match="no friction limit"):
        sp.plots.gg(run, limit=sp.vehicles.commonroad_st())
