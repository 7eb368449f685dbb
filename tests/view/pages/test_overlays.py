"""Charts of several vehicles on top of each other: who has what, and what all have alike."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.study.manoeuvres import Chart, Curve, perform
from skidpad.view.pages.report import Picture, cones_of, laid_over
from study.manoeuvres.fakes import Told, car


def lane_of(width: float, run: float) -> Chart:
    """A drive between two rows of cones, and a bound that no vehicle may leave."""
    x = np.array([0.0, 10.0, 20.0])
    curves = [
        Curve(x, np.full(3, 0.5 * width), "cones", "cones"),
        Curve(x, np.full(3, -0.5 * width), "cones", "cones"),
        Curve(x, np.full(3, 3.0), "kerb", "limit"),
        Curve(x, np.full(3, run), "60 km/h", "run"),
    ]
    return Chart("path", "x in m", "y in m", curves, equal=True)


def drawn(picture: Picture, kind: str) -> list[tuple[str, float, int]]:
    """Name, height and colour of the curves of a kind."""
    return [(one.label, one.y[0], one.colour) for one in picture.curves if one.kind == kind]


def test_cones_that_stand_alike_for_all_are_drawn_once() -> None:
    (picture,) = laid_over([("a", [lane_of(2.0, 0.1)]), ("b", [lane_of(2.0, 0.2)])])
    assert drawn(picture, "cones") == [("cones", 1.0, 0), ("cones", -1.0, 0)]
    assert drawn(picture, "limit") == [("kerb", 3.0, 0)]
    assert drawn(picture, "run") == [("a: 60 km/h", 0.1, 0), ("b: 60 km/h", 0.2, 1)]


@pytest.mark.parametrize("widths", [(2.0, 3.0), (3.0, 2.0)])
def test_cones_that_go_by_the_width_of_a_vehicle_are_those_of_each(widths: tuple) -> None:
    """ISO 3888 sets them by the car; what is the same for all is still drawn once."""
    layers = [(name, [lane_of(width, 0.1)]) for name, width in zip("ab", widths, strict=True)]
    (picture,) = laid_over(layers)
    first, second = (0.5 * width for width in widths)
    assert drawn(picture, "cones") == [
        ("a: cones", first, 0),
        ("a: cones", -first, 0),
        ("b: cones", second, 1),
        ("b: cones", -second, 1),
    ]
    assert drawn(picture, "limit") == [("kerb", 3.0, 0)]


def test_two_alike_and_one_wider() -> None:
    """Those that stand alike for two of three are drawn with the first of them."""
    layers = [(n, [lane_of(w, 0.1)]) for n, w in (("a", 2.0), ("b", 3.0), ("c", 2.0))]
    (picture,) = laid_over(layers)
    assert drawn(picture, "cones") == [
        ("a, c: cones", 1.0, 0),
        ("a, c: cones", -1.0, 0),
        ("b: cones", 1.5, 1),
        ("b: cones", -1.5, 1),
    ]


def test_a_log_without_cones_does_not_make_them_those_of_a_vehicle() -> None:
    log = Chart("path", "x in m", "y in m", [lane_of(2.0, 0.3).curves[-1]], equal=True)
    (picture,) = laid_over([("a", [lane_of(2.0, 0.1)]), ("log", [log])])
    assert drawn(picture, "cones") == [("cones", 1.0, 0), ("cones", -1.0, 0)]


def test_a_film_has_the_cones_of_all_vehicles_once() -> None:
    results = [perform([Told(charts=[lane_of(w, 0.1)])], [car()])[0] for w in (2.0, 3.0, 2.0)]
    heights = [disc.y for disc in cones_of(results)]
    assert heights == [y for y in (1.0, -1.0, 1.5, -1.5) for _ in range(3)]
