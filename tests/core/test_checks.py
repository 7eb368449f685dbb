"""Argument checks name the value and what is allowed, and return plain types."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from skidpad.core import checks
from skidpad.core.body import Pose
from skidpad.errors import InvalidValue
from skidpad.units import Allowed, positive


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: checks.finite("x", math.inf, "m"), "x = inf m must be finite"),
        (lambda: checks.finite("x", True), "x = True must be a number"),
        (lambda: checks.finite("x", "1.0"), "x = '1.0' must be a number"),
        (lambda: checks.finite("x", [1.0]), "x = [1.0] must be a number"),
        (lambda: checks.positive("x", 0.0, "s"), "x = 0.0 s must be finite and greater than 0"),
        (lambda: checks.not_negative("x", -1), "x = -1 must be finite and at least 0"),
        (lambda: checks.number("x", math.nan), "x = nan must be a number"),
        (
            lambda: checks.between("x", 1.0, 0.0, 1.0, hint=", such as 0.95"),
            "x = 1.0 must be between 0 and 1, such as 0.95",
        ),
        (lambda: checks.must_be("x", 3.0, Allowed(0, 1), "rad"), "x = 3.0 rad must be from 0 to 1"),
        (lambda: checks.whole("x", 0), "x = 0 must be at least 1"),
        (lambda: checks.whole("x", 2.0), "x = 2.0 must be a whole number"),
        (lambda: checks.whole("x", True), "x = True must be a whole number"),
        (lambda: checks.whole("x", 9, most=8), "x = 9 must be at most 8"),
        (lambda: checks.flag("x", 1), "x = 1 must be True or False"),
        (lambda: checks.one_of("x", "c", ("a", "b")), "x = 'c' is unknown; allowed are a, b"),
        (lambda: checks.text("x", 1), "x = 1 must be a text"),
        (lambda: checks.function("x", 1, "a function of t"), "x = 1 must be a function of t"),
        (lambda: checks.instance_of("x", 1, Pose), "x must be a Pose, got a int"),
        (lambda: checks.interval("x", 1.0), "x = 1.0 must be a pair (low, high)"),
        (
            lambda: checks.interval("x", (2.0, 1.0), "m"),
            "x = (2.0, 1.0) m must be a pair (low, high), finite with low at most high",
        ),
        (lambda: checks.array("x", [1.0], ("n", 2)), "x has shape (1,); it must be (n, 2)"),
        (lambda: checks.array("x", np.eye(2)[:1], ("n", "n")), "x has shape (1, 2); it must be"),
        (
            lambda: checks.array("x", ["a"], ("n",)),
            "x = ['a'] must be numbers in an array of shape (n,)",
        ),
        (lambda: checks.array("x", [[0.0, np.nan]], (1, 2)), "x[0, 1] = nan must be finite"),
        (
            lambda: checks.array("x", [1.0, 0.0], (2,), positive, "N"),
            "x[1] = 0.0 N must be greater than 0",
        ),
        (
            lambda: checks.array("x", [1.5], (1,), Allowed(0, 9, whole=True)),
            "x[0] = 1.5 must be a whole number from 0 to 9",
        ),
        (
            lambda: checks.increasing("t", [0.0, 1.0, 1.0], "s"),
            "t[2] = 1.0 s must be greater than the one before, 1.0",
        ),
    ],
)
def test_each_check_says_what_is_wrong_and_what_is_allowed(check: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(message)):
        check()


def test_accepted_values_come_back_in_their_plain_type() -> None:
    assert type(checks.finite("x", np.float32(0.5))) is float
    assert type(checks.whole("x", np.int8(3))) is int
    assert checks.number("x", math.inf) == math.inf
    assert checks.interval("x", np.array([1, 2])) == (1.0, 2.0)
    assert checks.whole("seed", -(10**30), least=None) == -(10**30)


def test_an_array_of_floats_is_not_copied() -> None:
    values = np.zeros((3, 2))
    assert checks.array("x", values, ("n", 2)) is values
    assert checks.array("x", [], ("n",)).shape == (0,)
    assert np.isnan(checks.array("x", [np.nan], (1,), None)).all()
