"""Toe and camber over travel and force: signs, sides and tables."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

import skidpad as sp
from skidpad.vehicles.parts.chassis import Travel
from skidpad.vehicles.parts.spinning_wheel import WheelForces
from skidpad.vehicles.parts.steering import (
    AlignmentState,
    DirectSteering,
    FixedAlignment,
    Give,
    LinearAlignment,
    SteeringWheel,
    alignment_tables,
)

LEVEL = Travel(0.0, 0.0, 0.0)
SIDES = (1.0, -1.0, 1.0, -1.0)


class Car(NamedTuple):
    l_f: float = 1.0
    l_r: float = 1.5
    track_f: float = 1.4
    track_r: float = 1.6
    ackermann: float = 0.0
    toe_f: float = 0.01
    toe_r: float = 0.004
    camber_f: float = -0.02
    camber_r: float = -0.01
    F_lift: float = 50.0


P = Car()


class At(AlignmentState):
    """With the angle of steering."""

    steer = 0.05


def wheel(F_x: float = 0.0, F_y: float = 0.0, M_z: float = 0.0) -> WheelForces:
    return WheelForces(F_x, F_y, 0.0, 0.0, M_z, 0.3, 0.0, 0.0, 0.0, 0.0)


def angles(alignment: Any, travel: Travel, x: Any = None) -> tuple[list[float], list[float]]:
    headings, cambers = alignment.angles(x or At(), travel, P)
    return [math.atan2(h.s, h.c) for h in headings], list(cambers)


def targets(alignment: Any, travel: Travel, *wheels: WheelForces, t: float) -> list[float]:
    return [t * rate for rate in alignment.rates(At(), travel, wheels, P)]


def test_without_travel_and_force_it_is_the_fixed_one() -> None:
    want = angles(FixedAlignment(), LEVEL)
    for alignment in (LinearAlignment(toe_by_travel_f=1.0), alignment_tables()):
        assert angles(alignment, LEVEL)[0] == pytest.approx(want[0], abs=1e-15)
        assert angles(alignment, LEVEL)[1] == pytest.approx(want[1], abs=1e-15)
    assert want[0] == pytest.approx([0.04, 0.06, -0.004, 0.004])
    assert want[1] == pytest.approx([0.02, -0.02, 0.01, -0.01])


def test_roll_steers_both_wheels_of_an_axle_alike() -> None:
    """Toe-in by travel times half the track is the steer per rad of roll, into the turn; in bounce
    the wheels toe in against each other."""
    bumped = LinearAlignment(toe_by_travel_f=0.2, toe_by_travel_r=-0.1)
    still = angles(bumped, LEVEL)[0]
    rolled = angles(bumped, Travel(0.03, 0.0, 0.0))[0]
    change = [b - a for a, b in zip(still, rolled, strict=True)]
    assert change == pytest.approx([0.2 * 0.7 * 0.03] * 2 + [-0.1 * 0.8 * 0.03] * 2, abs=1e-15)
    bounced = angles(bumped, Travel(0.0, 0.05, 0.02))[0]
    change = [b - a for a, b in zip(still, bounced, strict=True)]
    assert change == pytest.approx([-0.01, 0.01, 0.002, -0.002], abs=1e-15)


def test_wheels_lean_with_the_body_unless_camber_gains() -> None:
    """At -2 / track a wheel stays upright in roll."""
    roll = Travel(0.04, 0.0, 0.0)
    leaning, upright = LinearAlignment(), LinearAlignment(camber_by_travel_f=-2.0 / P.track_f)
    still = angles(leaning, LEVEL)[1]
    assert angles(leaning, roll)[1] == pytest.approx([c + 0.04 for c in still], abs=1e-15)
    assert angles(upright, roll)[1][:2] == pytest.approx(still[:2], abs=1e-15)


def test_compliance_has_the_same_sense_on_both_sides() -> None:
    """Forces to the left steer both wheels of an axle to the left by the coefficient, as toe-in on
    the right and toe-out on the left."""
    soft = LinearAlignment(
        toe_by_F_y_f=2e-6, toe_by_M_z_f=3e-5, toe_by_F_x_r=1e-6, camber_by_F_y_r=4e-6, t_give=0.1
    )
    wheels = wheel(0.0, 1000.0, -20.0), wheel(0.0, 3000.0, -50.0)
    wheels += wheel(500.0, 1000.0), wheel(-500.0, 2000.0)
    give = targets(soft, LEVEL, *wheels, t=0.1)
    steered = [-side * toe for side, toe in zip(SIDES, give[:4], strict=True)]
    want = [2e-6 * 1000.0 - 3e-5 * 20.0, 2e-6 * 3000.0 - 3e-5 * 50.0]
    assert steered[:2] == pytest.approx(want, rel=1e-12)
    assert give[2:4] == pytest.approx([5e-4, -5e-4], rel=1e-12)
    assert give[4:] == pytest.approx([0.0, 0.0, -4e-3, 8e-3], rel=1e-12)


def test_what_has_given_way_acts() -> None:
    x = At(toe_give_fl=0.003, camber_give_rr=0.02)
    plain, given = (angles(LinearAlignment(), LEVEL, at) for at in (At(), x))
    assert given[0][0] - plain[0][0] == pytest.approx(-0.003)
    assert given[1][3] - plain[1][3] == pytest.approx(0.02)


TRAVELS, FORCES = (-0.1, 0.0, 0.1), (-4000.0, 0.0, 4000.0)


def plane(by_travel: float, by_force: float) -> Any:
    """A table that is linear in both coordinates."""
    return TRAVELS, FORCES, [[by_travel * z + by_force * F for F in FORCES] for z in TRAVELS]


def test_linear_tables_are_the_linear_alignment() -> None:
    linear = LinearAlignment(
        toe_by_travel_f=0.2, toe_by_F_y_f=2e-6, toe_by_F_x_f=1e-6, camber_by_travel_r=-0.7,
        camber_by_F_y_r=3e-6, t_give=0.05,
    )  # fmt: skip
    tables = alignment_tables(
        Give(0.05), toe_f=plane(0.2, 2e-6), toe_x_f=plane(0.0, 1e-6), camber_r=plane(-0.7, 3e-6)
    )
    travel = Travel(0.05, 0.02, -0.01)
    forces = [wheel(300.0, 1500.0), wheel(-200.0, 3500.0), wheel(0.0, -900.0), wheel(0.0, 2500.0)]
    for a, b in zip(angles(linear, travel), angles(tables, travel), strict=True):
        assert a == pytest.approx(b, abs=1e-15)
    a, b = (targets(kind, travel, *forces, t=0.05) for kind in (linear, tables))
    assert a == pytest.approx(b, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"toe": plane(0.1, 0.0)}, "no table 'toe'"),
        ({"toe_f": ((0.1, 0.0), FORCES, [[0.0] * 3] * 2)}, "rows of toe_f must be"),
        ({"toe_f": (TRAVELS, (0.0,), [[0.0]] * 3)}, "columns of toe_f must be"),
        ({"camber_r": (TRAVELS, FORCES, [[0.0] * 3] * 2)}, "camber_r has 3 rows"),
        ({"camber_r": (TRAVELS, FORCES, [[0.0] * 3, [0.0] * 3, [0.0]])}, r"\[3, 3, 1\]"),
    ],
)
def test_wrong_tables_are_named(tables: dict[str, Any], words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        alignment_tables(**tables)


def test_a_steering_wheel_turns_more_than_the_wheels() -> None:
    geared = SteeringWheel(ratio=15.0)
    assert geared.wheel_angle(1.5) == pytest.approx(0.1)
    assert geared.input_angle(geared.wheel_angle(0.7)) == pytest.approx(0.7)
    assert DirectSteering().wheel_angle(0.3) == 0.3 == DirectSteering().input_angle(0.3)
