"""Events and quantities that do not say what they should, and other slips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import ops
from skidpad.errors import InvalidValue
from skidpad.random import Gaussian

from .models import holding, mass

FLEET = sp.Fleet(mass(), 0.1)


def study(**options: Any) -> sp.run.monte_carlo.MonteCarlo:
    wind = Gaussian(mean=[0.0], std=[1.0])
    options = {"runs": 8, "steps": 5, **options}
    return FLEET.monte_carlo({"v": 1.0}, {}, disturbance=wind, **options)


def forgetful(x: Any) -> None:
    abs(x.x) > 0.0  # noqa: B015


EVENTS: dict[str, Any] = {
    "a missing return": forgetful,
    "a number": lambda x: abs(x.v),
    "a flag as a number": lambda x: ops.where(x.v > 0.0, 1.0, 0.0),
    "a word": lambda x: "yes",
    "a state": lambda x: x,
}


@pytest.mark.parametrize("mistake", EVENTS)
def test_an_event_says_true_or_false(mistake: str) -> None:
    with pytest.raises(InvalidValue, match=r"event 'e' must (say True or False|give one number)"):
        study(events={"e": EVENTS[mistake]})


def test_a_missing_return_is_named() -> None:
    with pytest.raises(InvalidValue, match="gave None: a `return` may be missing"):
        study(events={"e": forgetful})
    with pytest.raises(InvalidValue, match=r"quantity 'q' .* gave None: a `return` may be missing"):
        study(quantities={"q": forgetful})
    with pytest.raises(InvalidValue, match="quantity 'q' must give a number per run"):
        study(quantities={"q": lambda x: "a"})


BRANCHES: dict[str, Any] = {
    "and": lambda x: x.x > 0.0 and x.v > 0.0,
    "if": lambda x: x.v if x.x > 0.0 else x.x,
    "max": lambda x: max(x.x, 1.0) > 0.0,
    "not": lambda x: not x.x > 0.0,
}


@pytest.mark.parametrize("mistake", BRANCHES)
@pytest.mark.parametrize("what", ["event", "quantity"])
def test_python_on_many_runs_at_once_is_named(what: str, mistake: str) -> None:
    options = {"events" if what == "event" else "quantities": {"e": BRANCHES[mistake]}}
    with pytest.raises(
        InvalidValue, match=rf"{what} 'e' branches in Python .* write \(a\) & \(b\)"
    ):
        study(**options)


def test_what_is_meant_is_taken() -> None:
    done = study(
        events={
            "both": lambda x: (x.v > 0.0) & (x.x >= 0.0),
            "either": lambda x: ops.logical_or(x.v > 0.0, x.x > 0.0),
            "always": lambda x: True,
        },
        quantities={"flag": lambda x: x.v > -100.0, "one": lambda x: 1},
    )
    assert done.probability("always").value == 1.0
    np.testing.assert_array_equal(done.mean("flag"), 1.0)
    np.testing.assert_array_equal(done.mean("one"), 1.0)
    assert study(quantities="v").quantities == ("v",)


@pytest.mark.parametrize(
    "options",
    [
        {"events": lambda x: x.v > 0.0},
        {"events": {"e": 5}},
        {"events": 5},
        {"quantities": 5},
        {"quantities": {"q": 5}},
        {"quantiles": "a"},
        {"quantiles": [None]},
        {"runs": "a"},
        {"seed": "a"},
        {"steps": 1.5},
        {"params": [1.0]},
        {"params": 3.0},
        {"params": {"gain": "heavy"}},
        {"params": {"gain": None}},
        {"params": {"gain": np.ones((8, 1))}},
        {"params": {"gain": 1j}},
        {"policy": holding(1.0), "policy_params": [1.0]},
        {"policy": holding(1.0), "policy_params": {"k": "much"}},
        {"policy": holding(1.0), "policy_params": {"k": np.ones((8, 1))}},
    ],
)
def test_arguments_of_other_kinds_are_refused(options: Any) -> None:
    with pytest.raises(InvalidValue):
        study(**options)


def test_questions_of_other_kinds_are_refused() -> None:
    done = study(events={"e": lambda x: x.v > 0.0})
    questions: list[Any] = [
        lambda: done.replay("a"),  # type: ignore[arg-type]
        lambda: done.replay(1.5),  # type: ignore[arg-type]
        lambda: done.worst("v", "a"),  # type: ignore[arg-type]
        lambda: done.quantile("v", "a"),  # type: ignore[arg-type]
        lambda: done.band("v", "a"),  # type: ignore[arg-type]
        lambda: done.probability("e", "a"),  # type: ignore[arg-type]
    ]
    for question in questions:
        with pytest.raises(InvalidValue):
            question()
