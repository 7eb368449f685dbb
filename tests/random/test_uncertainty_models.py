"""What every model keeps: rows of their own run, and vectors in any form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.random import (
    Draw,
    FrictionPatches,
    Gaussian,
    Joined,
    NoUncertainty,
    OrnsteinUhlenbeck,
    Recorded,
    Scatter,
    Truncated,
    UncertaintyModel,
    Uniform,
    by_name,
)
from skidpad.random.model import draw_sample
from skidpad.random.patches import Patch, strip
from skidpad.vehicles.formula import External, State

SCATTER = Scatter(
    count=4,
    value=(0.1, 0.5),
    x=(-3.0, 3.0),
    y=(-3.0, 3.0),
    length=(1.0, 2.0),
    width=(1.0, 2.0),
    yaw=(-3.0, 3.0),
)
COVARIANCE = [[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.5]]
MODELS: dict[str, Callable[[], UncertaintyModel]] = {
    "none": lambda: NoUncertainty(3, [1.0, 2.0, 3.0]),
    "gaussian": lambda: Gaussian([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]),
    "covariance": lambda: Gaussian([0.0, 1.0, 2.0], covariance=COVARIANCE),
    "uniform": lambda: Uniform([0.0, 1.0], [1.0, 3.0]),
    "truncated": lambda: Truncated([0.0, 0.0], 1.0, [-1.0, 7.0], [2.0, np.inf]),
    "wind": lambda: OrnsteinUhlenbeck([0.0, 1.0], [1.0, 2.0], [0.3, 4.0]),
    "friction": lambda: FrictionPatches([strip(0.5, 0.0, 1.0), SCATTER]),
    "recorded": lambda: Recorded(np.arange(30.0).reshape(10, 3)),
    "joined": lambda: Joined([OrnsteinUhlenbeck(0.0, 1.0, 1.0), Gaussian([0.0, 0.0], 1.0)]),
    "by_name": lambda: by_name(State, v_x=Uniform(0.0, 1.0), yaw=OrnsteinUhlenbeck(0.0, 1.0, 1.0)),
}
RUNS = np.arange(100, 157)
STATES = np.random.default_rng(3).normal(size=(RUNS.size, 4))


def run(model: UncertaintyModel, rows: slice, steps: int = 4, channel: str = "w") -> np.ndarray:
    draw = Draw(8, channel, RUNS[rows], 0, 0.1)
    memory = model.start(draw.count)
    out = []
    for k in range(steps):
        values, memory = draw_sample(model, draw.at(k), memory, STATES[rows])
        out.append(values)
    return np.array(out)


@pytest.mark.parametrize("name", MODELS)
def test_the_split_into_batches_does_not_show(name: str) -> None:
    model = MODELS[name]()
    whole = run(model, slice(None))
    assert whole.shape == (4, RUNS.size, model.dim)
    for size in (1, 5, 32):
        parts = [run(model, slice(k, k + size)) for k in range(0, RUNS.size, size)]
        assert np.array_equal(np.concatenate(parts, axis=1), whole)


@pytest.mark.parametrize("name", MODELS)
def test_what_else_is_drawn_does_not_show(name: str) -> None:
    model, other = MODELS[name](), Gaussian([0.0], [1.0])
    alone = run(model, slice(None))
    draw, aside = Draw(8, "w", RUNS, 0, 0.1), Draw(8, "noise", RUNS, 0, 0.1)
    memory: Any = model.start(RUNS.size)
    for k in range(4):
        other.sample(aside.at(k))
        values, memory = model.sample(draw.at(k), memory, STATES)
        other.sample(aside.at(k).part("more"))
        assert np.array_equal(values, alone[k])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_keeps_nothing_in_itself(name: str) -> None:
    model = MODELS[name]()
    assert np.array_equal(run(model, slice(None)), run(model, slice(None)))
    assert np.array_equal(run(model, slice(None)), run(MODELS[name](), slice(None)))


@pytest.mark.parametrize("name", [n for n in MODELS if n not in ("none", "recorded")])
def test_seed_run_and_channel_make_a_difference(name: str) -> None:
    model = MODELS[name]()
    assert not np.array_equal(run(model, slice(None)), run(model, slice(None), channel="v"))
    first = run(model, slice(None))
    assert any(not np.array_equal(first[:, 0], first[:, k]) for k in range(1, RUNS.size))


@pytest.mark.parametrize("name", MODELS)
def test_the_own_stream_advances_and_can_be_seeded(name: str) -> None:
    model = MODELS[name]()
    state = [0.1, 0.2, 0.3]
    model.reset(5)
    first = [model.sample_uncertainty(state) for _ in range(6)]
    model.reset(5)
    again = [model.sample_uncertainty(state) for _ in range(6)]
    assert np.array_equal(first, again)
    assert np.shape(first) == (6, model.dim)
    if name not in ("none", "friction"):
        assert len({row.tobytes() for row in first}) == 6


def test_models_that_are_not_seeded_differ() -> None:
    one, other = Gaussian([0.0], [1.0]), Gaussian([0.0], [1.0])
    assert one.sample_uncertainty() != other.sample_uncertainty()


def test_the_own_stream_has_the_correlation_of_its_step() -> None:
    gust = OrnsteinUhlenbeck(0.0, 1.0, 1e9)
    gust.reset(1)
    first, second = (gust.sample_uncertainty(dt=0.1).item() for _ in range(2))
    assert abs(second - first) < 1e-3


def test_parts_draw_alone() -> None:
    """What a part samples does not depend on its neighbours, nor on their number."""
    wind, noise = OrnsteinUhlenbeck(0.0, 1.0, 1.0), Gaussian([0.0, 0.0], 1.0)
    joined = run(Joined([wind, noise, Uniform(0.0, 1.0)]), slice(None))
    shorter = run(Joined([wind, noise]), slice(None))
    other = run(Joined([NoUncertainty(1), noise]), slice(None))
    assert np.array_equal(joined[:, :, :3], shorter)
    assert np.array_equal(other[:, :, 1:], shorter[:, :, 1:])
    assert not np.array_equal(shorter[:, :, 1], shorter[:, :, 2])


def test_by_name_puts_each_where_it_belongs() -> None:
    both = by_name(State, v_x=Gaussian(3.0, 0.0), omega=Uniform(5.0, 5.0))
    expected = np.zeros(sp.core.record.size(State))
    expected[[State._fields.index("v_x"), State._fields.index("omega")]] = 3.0, 5.0
    assert np.array_equal(both.nominal_value, expected)
    assert (run(both, slice(None)) == expected).all()
    assert both.fields == sp.core.record.names(State)
    only = by_name(State, v_x=Gaussian(0.0, 1.0))
    more = by_name(State, yaw=Gaussian(0.0, 1.0), v_x=Gaussian(0.0, 1.0))
    place = State._fields.index("v_x")
    assert np.array_equal(run(only, slice(None))[..., place], run(more, slice(None))[..., place])


def test_by_name_takes_groups() -> None:
    pair = Gaussian([1.0, 2.0], [0.0, 0.0])
    model = by_name(State, {("omega", "v_x"): pair})
    assert model.nominal_value[State._fields.index("omega")] == 1.0
    assert model.nominal_value[State._fields.index("v_x")] == 2.0


def test_what_is_not_named_changes_nothing() -> None:
    """A car's friction factor is 1 at rest, not 0."""
    rest = [0.0, 0.0, 0.0, 1.0]
    assert External._fields[3] == "mu_scale"
    assert by_name(External, F_y=Gaussian(0.0, 9.0)).nominal_value.tolist() == rest
    assert NoUncertainty(fields=External).nominal_value.tolist() == rest
    named = Gaussian(std={"F_y": 50.0}, fields=External)
    assert named.mean.tolist() == rest
    assert named.std.tolist() == [0.0, 50.0, 0.0, 0.0]
    assert Gaussian({"F_x": 2.0}, {"F_y": 5.0}, fields=External).mean.tolist() == [2.0, 0, 0, 1.0]
    box = Uniform({"F_x": -1.0}, {"F_x": 3.0}, fields=External)
    assert (box.lower.tolist(), box.upper.tolist()) == ([-1.0, 0, 0, 1.0], [3.0, 0, 0, 1.0])
    gust = OrnsteinUhlenbeck({"F_x": 1.0}, {"F_x": 3.0}, {"F_x": 2.0}, fields=External)
    assert gust.nominal_value.tolist() == [1.0, 0.0, 0.0, 1.0]
    cut = Truncated({}, {"mu_scale": 0.2}, {"mu_scale": 0.0}, {"mu_scale": 1.5}, fields=External)
    assert run(cut, slice(None))[:, :, 3].max() <= 1.5


@dataclass
class Upstream:
    """As the records of commonroad-control are."""

    a: float
    b: float

    def convert_to_array(self) -> np.ndarray:
        return np.array([self.a, self.b])


@pytest.mark.parametrize(
    "mean",
    [
        [1.0, 2.0],
        (1, 2),
        np.array([1, 2], np.int32),
        np.array([1, 2], np.float32),
        Upstream(1.0, 2.0),
    ],
)
def test_vectors_come_in_many_forms(mean: Any) -> None:
    assert Gaussian(mean, 1.0).mean.tolist() == [1.0, 2.0]


def test_a_record_names_the_values() -> None:
    model = Gaussian(External(F_y=3.0), {"M_z": 2.0})
    assert model.fields == External._fields
    assert model.mean.tolist() == [0.0, 3.0, 0.0, 1.0]
    assert model.std.tolist() == [0.0, 0.0, 2.0, 0.0]


def test_names_may_be_a_list() -> None:
    assert Gaussian({"b": 1.0}, 0.0, fields=["a", "b"]).mean.tolist() == [0.0, 1.0]


def test_one_number_is_for_all_and_a_vector_of_one_is_not() -> None:
    assert Gaussian([1.0, 2.0, 3.0], 0.5).std.tolist() == [0.5, 0.5, 0.5]
    assert Gaussian(0.0, [1.0, 2.0]).dim == 2
    assert Gaussian(0.0, 1.0).dim == 1
    assert Gaussian(0.0, 1.0, dim=4).dim == 4
    with pytest.raises(InvalidValue, match=r"std has shape \(1,\); allowed are 3 numbers"):
        Gaussian([1.0, 2.0, 3.0], [0.5])


def test_a_model_says_what_it_is() -> None:
    assert repr(Gaussian([0.0, 1.0], 1.0)) == "Gaussian(dim=2)"
    assert repr(NoUncertainty(fields=["a", "b"])) == "NoUncertainty(dim=2, fields=a, b)"


class Own(UncertaintyModel):
    """A user's own: a sign that flips a fair coin."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__(1, [0.0])
        self._answer = answer

    def sample(self, draw: Draw, memory: Any = None, x: Any = None) -> tuple[Any, Any]:
        return (np.sign(draw.uniform(1) - 0.5) if self._answer is None else self._answer), None


def test_an_own_model_needs_only_sample() -> None:
    drawn = run(Own(), slice(None))
    assert set(np.unique(drawn)) == {-1.0, 1.0}
    assert Own().sample_uncertainty().shape == (1,)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            np.zeros((3, 2)),
            r"Own.sample returned shape \(3, 2\); expected \(runs, dim\) = \(3, 1\)",
        ),
        (np.zeros(3), r"Own.sample returned shape \(3,\)"),
        (np.array([[0.0], [np.nan], [0.0]]), "returned nan for value 0 of run 5 at step 7"),
    ],
)
def test_what_an_own_model_returns_is_looked_at(answer: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        draw_sample(Own(answer), Draw(1, "w", [4, 5, 6], 7))


def test_a_recording_is_replayed() -> None:
    values = np.arange(6.0).reshape(3, 2)
    model = Recorded(values, at_end="raise")
    draw = Draw(1, "w", [3, 9])
    for k in range(3):
        assert model.sample(draw.at(k))[0].tolist() == [values[k].tolist()] * 2
    with pytest.raises(InvalidValue, match="step 3 is not in values, which has steps 0 to 2"):
        model.sample(draw.at(3))
    with pytest.raises(InvalidValue, match="step -1 is not in values"):
        model.sample(draw.at(-1))
    assert model.nominal_value.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("at_end", "rows"), [("hold", [0, 1, 2, 2, 2, 2, 2]), ("loop", [0, 1, 2, 0, 1, 2, 0])]
)
def test_a_recording_can_be_held_or_looped(at_end: str, rows: list[int]) -> None:
    model = Recorded([[10.0], [11.0], [12.0]], 5.0, at_end=at_end)
    found = [model.sample(Draw(1, "w", [0], k))[0].item() for k in range(7)]
    assert found == [10.0 + k for k in rows]
    assert model.nominal_value.tolist() == [5.0]


def test_a_recording_of_every_run() -> None:
    values = np.arange(24.0).reshape(4, 3, 2)
    model = Recorded(values)
    assert model.sample(Draw(1, "w", [2, 0], 1))[0].tolist() == values[1, [2, 0]].tolist()
    with pytest.raises(InvalidValue, match="run 3 is not in values, which has runs 0 to 2"):
        model.sample(Draw(1, "w", [1, 3], 1))


def test_a_recording_is_a_copy() -> None:
    values = np.zeros((2, 1))
    model = Recorded(values)
    values[:] = 7.0
    assert model.values.max() == 0.0


def test_patches_keep_their_names() -> None:
    named = by_name(External, mu_scale=FrictionPatches([Patch(value=0.2, length=2.0, width=2.0)]))
    drawn, _ = named.sample(Draw(1, "w", [0, 1]), None, np.array([[0.0, 0.0], [9.0, 0.0]]))
    assert drawn.tolist() == [[0.0, 0.0, 0.0, 0.2], [0.0, 0.0, 0.0, 1.0]]
