"""Wheel loads: balances that any distribution has to keep."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.vehicles.parts.load_transfer import (
    Place,
    dynamic_loads,
    load_shares,
    rigid_load_law,
    static_loads,
)

M, G, H = 120.0, 9.81, 0.4
LAYOUTS = {
    "two": [Place(0.03, 0.5), Place(0.03, -0.45)],
    "three": [Place(-0.2, 0.3), Place(-0.25, -0.3), Place(0.4, 0.05)],
    "four": [Place(-0.5, 0.4), Place(-0.5, -0.4), Place(0.7, 0.5), Place(0.7, -0.5)],
    "six": [Place(x, y) for x in (-0.6, 0.1, 0.5) for y in (0.4, -0.4)],
}
EACH = pytest.mark.parametrize("places", LAYOUTS.values(), ids=LAYOUTS)


@EACH
@pytest.mark.parametrize("a", [(0.0, 0.0), (1.0, 0.0), (0.0, -1.2), (-0.8, 0.9)])
def test_loads_balance_weight_and_moments(places: list[Place], a: tuple[float, float]) -> None:
    loads = np.array(dynamic_loads(load_shares(places), M * G, M, H, *a))
    x, y = np.array(places).T
    assert (loads > 0.0).all()
    assert loads.sum() == pytest.approx(M * G)
    assert loads @ y == pytest.approx(-H * M * a[1], abs=1e-9)
    if len(places) > 2:
        assert loads @ x == pytest.approx(-H * M * a[0], abs=1e-9)


@EACH
@pytest.mark.parametrize("a", [(30.0, 0.0), (0.0, 30.0), (-20.0, 25.0)])
def test_a_lifted_wheel_leaves_its_load_to_the_others(
    places: list[Place], a: tuple[float, float]
) -> None:
    loads = dynamic_loads(load_shares(places), M * G, M, H, *a)
    assert min(loads) >= 0.0
    assert sum(loads) == pytest.approx(M * G)
    if a[1]:
        assert min(loads) == 0.0


def test_a_car_has_the_loads_of_rigid_axles() -> None:
    l_f, l_r, track = 0.7, 0.5, 0.8
    corners = [(l_f, 1), (l_f, -1), (-l_r, 1), (-l_r, -1)]
    places = [Place(x, side * track / 2) for x, side in corners]
    law = rigid_load_law(M * G, M, l_f, l_r, track, H)
    a_x, a_y = 1.5, -0.7
    want: list[float] = []
    for axle in law:
        mean = axle.mean_0 + axle.mean_x * a_x
        shift = axle.shift_0 + axle.shift_x * a_x + axle.shift_y * a_y
        want += [mean - shift, mean + shift]
    assert dynamic_loads(load_shares(places), M * G, M, H, a_x, a_y) == pytest.approx(want)


def test_at_rest_the_nearer_wheels_carry_more() -> None:
    rear, *_, front = static_loads(load_shares(LAYOUTS["four"]), M * G)
    assert 2.0 * (rear + front) == pytest.approx(M * G)
    assert rear * 0.5 == pytest.approx(front * 0.7)
