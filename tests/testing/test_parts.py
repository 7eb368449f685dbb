"""The parts of the checker: names, sampling and quantities with units."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skidpad import ops
from skidpad.core import record
from skidpad.testing import subject
from skidpad.testing.equations import DimensionError, Quantity, symbol
from skidpad.testing.subject import Subject, lock, sample, sampling_range
from skidpad.units import Nm, m_s, non_negative, one
from testing.cart import Params, State, cart

M, KG, S = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "name",
    [
        *("y", "yaw", "v_y", "omega", "steer", "a_y", "F_y", "M_z", "alpha", "steer_rate", "beta"),
        *("yaw_rate", "F_y_fl", "alpha_rr", "omega_z", "M_x", "roll", "pose.y", "curvature"),
        *("steer_fl", "yaw_trailer", "wind_y"),
    ],
)
def test_quantities_that_are_positive_to_the_left_are_odd(name):
    assert subject.is_odd(name)


@pytest.mark.parametrize(
    "name",
    [
        *("x", "v_x", "a_x", "F_x", "F_z_fl", "tau_rl", "omega_fl", "M_y", "omega_y", "mu_scale"),
        *("m", "gear", "wheel_lift", "v", "kappa_fl", "energy", "z"),
    ],
)
def test_quantities_along_the_vehicle_are_even(name):
    assert not subject.is_odd(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *(("tau_fl", "tau_fr"), ("tau_rr", "tau_rl"), ("F_left", "F_right"), ("F_x", "F_x")),
        *(("wheel.fl.omega", "wheel.fr.omega"), ("flow", "flow"), ("right", "left")),
    ],
)
def test_sides_are_exchanged(name, other):
    assert subject.mirrored_name(name) == other
    assert subject.mirrored_name(other) == name


@settings(max_examples=20)
@given(st.lists(st.floats(-10, 10), min_size=7, max_size=7))
def test_mirroring_twice_changes_nothing(values):
    state = State(*values)
    signs = subject.mirror_signs(State, None)
    once = subject.mirrored(state, signs)
    assert subject.mirrored(once, signs) == state
    assert (once.v_x, once.v_y, once.steer) == (state.v_x, -state.v_y, -state.steer)


def test_positions_and_headings_are_found():
    assert subject.position_pairs(State) == [("x", "y")]
    assert subject.headings(State) == ["yaw"]
    assert [n for n in record.names(State) if subject.is_motion(n)] == [
        *("x", "y", "yaw", "v_x", "v_y", "omega")
    ]


def test_samples_lie_in_their_ranges_and_half_of_them_are_slow():
    table = sample(State, "state", 500, 0, Params())
    for j, leaf in enumerate(record.fields(State)):
        low, high = sampling_range(leaf, Params())
        assert low <= table[:, j].min()
        assert table[:, j].max() <= high
    v_x = table[:, 3]
    assert np.median(np.abs(v_x[1::2])) < 0.2 * np.median(np.abs(v_x[::2]))


def test_steering_is_sampled_within_the_lock_of_the_vehicle():
    class Locked(NamedTuple):
        steer_max: one = 0.11

    steer = record.fields(State)[-1]
    assert lock(Locked()) == 0.11
    assert sampling_range(steer, Locked()) == (-0.11, 0.11)
    assert sampling_range(steer, Params()) == (-0.4, 0.4)


def test_annotated_ranges_cut_the_samples():
    class Brake(NamedTuple):
        tau: Annotated[Nm, non_negative] = 0.0

    assert sampling_range(record.fields(Brake)[0], Params()) == (0.0, 100.0)


def test_another_field_changes_no_samples():
    class More(NamedTuple):
        extra: one
        v_x: m_s

    alone = sample(State, "state", 5, 3, Params())[:, 3]
    assert sample(More, "state", 5, 3, Params())[:, 1].tolist() == alone.tolist()


def test_points_depend_on_the_seed_only():
    first, again, other = (Subject(cart(), seed).points for seed in (4, 4, 5))
    assert first == again
    assert first != other


@settings(max_examples=40)
@given(st.floats(-5, 5), st.floats(0.1, 5))
def test_values_are_those_of_floats(a, b):
    x, y = Quantity(a, M), Quantity(b, M)
    for got, want in (
        ((x + y).value, a + b),
        ((x - y).value, a - b),
        ((2.0 * x / y).value, 2.0 * a / b),
        ((1.0 / y).value, 1.0 / b),
        ((x**2).value, a**2),
        (abs(-x).value, abs(a)),
        (ops.atan2(x, y).value, math.atan2(a, b)),
        (ops.hypot(x, y).value, math.hypot(a, b)),
        (ops.maximum(x, y).value, max(a, b)),
        (ops.clip(x, 0.0, y).value, min(max(a, 0.0), b)),
        (ops.where(x < y, x, y).value, min(a, b)),
        (ops.sqrt(y).value, math.sqrt(b)),
        (ops.tanh(x / y).value, math.tanh(a / b)),
        (ops.sign(x).value, math.copysign(1.0, a) if a else 0.0),
    ):
        assert got == pytest.approx(want, rel=1e-15, abs=1e-300)


def test_dimensions_multiply():
    speed = Quantity(3.0, M) / Quantity(2.0, S)
    force = Quantity(2.0, KG) * speed / Quantity(1.0, S)
    assert symbol(speed.dimension) == "m·s^-1"
    assert symbol(force.dimension) == "m·kg·s^-2"
    assert symbol(ops.sqrt(speed * speed).dimension) == "m·s^-1"
    assert symbol(ops.atan2(speed, speed).dimension) == "1"
    assert symbol((force / force).dimension) == "1"


@pytest.mark.parametrize(
    "forbidden",
    [
        lambda x, t: x + t,
        lambda x, t: x - t,
        lambda x, t: 1.0 - x,
        lambda x, t: x < t,
        lambda x, t: x == 1.0,
        lambda x, t: ops.sin(x),
        lambda x, t: ops.exp(t),
        lambda x, t: ops.floor(x),
        lambda x, t: ops.maximum(x, 0.001),
        lambda x, t: ops.atan2(x, t),
        lambda x, t: ops.where(True, x, t),
        lambda x, t: x**t,
        lambda x, t: ops.smooth_abs(x, 0.1),
    ],
)
def test_what_makes_no_sense_raises(forbidden):
    with pytest.raises(DimensionError):
        forbidden(Quantity(1.0, M), Quantity(2.0, S))


def test_zero_and_infinity_have_every_unit():
    x = Quantity(-1.0, M)
    assert (x + 0.0).dimension == M
    assert (0.0 - x).value == 1.0
    assert ops.maximum(x, 0.0).value == 0.0
    assert ops.minimum(x, math.inf).dimension == M
    assert x < 0.0
    assert ops.where(x > 0.0, x, 0.0).value == 0.0
