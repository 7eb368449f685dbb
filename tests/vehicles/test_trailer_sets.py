"""The tractor, its semi-trailer and the caravan are within what Directive 96/53/EC allows."""

from __future__ import annotations

import math

import pytest

import skidpad as sp
from skidpad.vehicles.twin_track.trailers import CARAVAN, DOLLY, SEMI_TRAILER, TRACTOR

two_track = sp.vehicles.two_track
TONNE = 9810.0


def test_axle_loads_of_the_articulated_truck_are_legal() -> None:
    """Annex I, 2.2 and 3: 40 t, 10 t on an axle, 11.5 t on a driven one, 24 t on three."""
    truck = two_track(**TRACTOR, trailers=SEMI_TRAILER)
    at_rest = truck.outputs(truck.State(), truck.Input())
    front, rear = (at_rest.F_z_fl + at_rest.F_z_fr, at_rest.F_z_rl + at_rest.F_z_rr)
    behind = SEMI_TRAILER.wheels * (at_rest.F_z_left_1 + at_rest.F_z_right_1)
    assert front < 10.0 * TONNE
    assert 0.25 * 40.0 * TONNE < rear < 11.5 * TONNE
    assert behind < 24.0 * TONNE
    assert 38.0 * TONNE < front + rear + behind < 40.0 * TONNE


def test_the_articulated_truck_turns_within_the_ring() -> None:
    """Annex I, 1.5: between circles of 12.5 m and 5.3 m, here in a steady turn."""
    shape = two_track(**TRACTOR, trailers=SEMI_TRAILER).geometry
    corners = [point for outline in shape.outlines for point in outline]
    ahead = max(x for x, _ in corners) - shape.rear_axle
    half = max(y for _, y in corners)
    # The corner is square here, though drawn round.
    rear = math.sqrt(12.5**2 - ahead**2) - half
    (trailer,) = shape.trailers
    hitch = math.hypot(rear, trailer.hitch_x - shape.rear_axle)
    axle = math.sqrt(hitch**2 - trailer.drawbar**2)
    assert axle - 0.5 * SEMI_TRAILER.width > 5.3


def test_lengths_are_legal() -> None:
    """Annex I, 1.1 and 1.6: 16.5 m in all, 12 m from the kingpin to the end, 2.55 m wide."""
    shape = two_track(**TRACTOR, trailers=SEMI_TRAILER).geometry
    (trailer,) = shape.trailers
    front = max(x for outline in shape.outlines for x, _ in outline)
    tail = min(x for outline in trailer.outlines for x, _ in outline)
    end = trailer.hitch_x - trailer.drawbar + tail
    assert front - end < 16.5
    assert trailer.hitch_x - end <= 12.0 + 1e-9
    assert SEMI_TRAILER.width <= 2.55


def test_the_caravan_presses_the_hitch_as_is_usual() -> None:
    """From 25 kg, and at most 100 kg, with which most cars make do."""
    car = two_track("compact", trailers=CARAVAN)
    load = car.outputs(car.State(), car.Input()).F_z_hitch_1
    assert 25.0 * 9.81 < load < 100.0 * 9.81


def test_doubles_with_a_dolly_carry_all_their_weight() -> None:
    """The second semi-trailer rests on the fifth wheel of the dolly."""
    chain = (SEMI_TRAILER, DOLLY, SEMI_TRAILER._replace(behind=0.0))
    truck = two_track(**TRACTOR, trailers=chain)
    out = truck.outputs(truck.State(), truck.Input())
    loads = out.F_z_fl + out.F_z_fr + out.F_z_rl + out.F_z_rr
    for k, trailer in enumerate(chain, 1):
        loads += trailer.wheels * (getattr(out, f"F_z_left_{k}") + getattr(out, f"F_z_right_{k}"))
    mass = TRACTOR["m"] + sum(trailer.m for trailer in chain)
    assert loads == pytest.approx(9.81 * mass, rel=1e-9)
    assert out.F_z_hitch_2 == pytest.approx(9.81 * DOLLY.m * (1.0 - DOLLY.l_cg / DOLLY.l_axle))
