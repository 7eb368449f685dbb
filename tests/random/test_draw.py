"""Draws: the bits of the streams, and numbers that depend on their own key alone."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.random import Draw, of_run, streams
from skidpad.random.kernel import _normal
from skidpad.random.streams import fresh, normal_of, split

RUNS = np.array([0, 7, 2**32 - 1, 12345, *range(20, 420)])


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and np.array_equal(a, b)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 300])
@pytest.mark.parametrize("step", [0, 5, 2**31, 2**40 + 3, -1])
def test_the_bits_are_those_of_the_streams(width: int, step: int) -> None:
    seed = 2**77 + 5
    draw = Draw(seed, "wind", RUNS, step, 0.1)
    normals = streams.normals(seed, "wind.normal.0", step, RUNS, width)[0]
    uniforms = streams.uniforms(seed, "wind.uniform.0", step, RUNS, width)[0]
    assert same_bits(draw.normal(width), normals)
    assert same_bits(draw.uniform(width), uniforms)


def test_the_bits_are_those_of_the_streams_far_out_in_the_tails() -> None:
    """Beyond 6.7 the formula has a third range, which is drawn once in 10¹⁰ numbers."""
    deep = 2.0 ** np.arange(-53.0, -20.0, 0.125)
    u = np.concatenate([deep, 1.0 - deep, np.linspace(0.001, 0.999, 5001)])
    found = np.empty_like(u)
    _normal(u, found)
    assert same_bits(found, normal_of(u))
    assert found.max() > 8.0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_show(threads: int) -> None:
    runs = np.arange(40_000)
    expected = streams.normals(1, "a.normal.0", 0, runs, 5)[0]
    assert same_bits(Draw(1, "a", runs, threads=threads).normal(5), expected)


def test_the_split_into_batches_does_not_show() -> None:
    whole = Draw(4, "a", RUNS, 9).normal(5)
    for parts in ([RUNS[:1], RUNS[1:]], np.array_split(RUNS, 7), [[run] for run in RUNS]):
        split_up = np.concatenate([Draw(4, "a", part, 9).normal(5) for part in parts])
        assert same_bits(split_up, whole)


def test_every_call_of_a_step_has_a_channel_of_its_own() -> None:
    def drawn(kinds: str) -> dict[tuple[str, int], np.ndarray]:
        draw = Draw(1, "a", [3, 4], 2)
        out: dict[tuple[str, int], np.ndarray] = {}
        for kind in kinds:
            number = sum(k == kind for k, _ in out)
            out[kind, number] = draw.normal(3) if kind == "n" else draw.uniform(3)
        return out

    alone, mixed = drawn("nn"), drawn("unuun")
    assert same_bits(alone["n", 0], mixed["n", 0])
    assert same_bits(alone["n", 1], mixed["n", 1])
    assert len({values.tobytes() for values in mixed.values()}) == 5


def test_a_wider_row_begins_with_the_narrower_one() -> None:
    assert same_bits(Draw(1, "a", RUNS).normal(7)[:, :4], Draw(1, "a", RUNS).normal(4))


def test_parts_steps_and_draws_made_once_have_numbers_of_their_own() -> None:
    draw = Draw(1, "a", [0], 3, 0.1)
    made = [draw, draw.part("p"), draw.part(0), draw.part("p").part("p"), draw.at(4), draw.once()]
    assert len({d.normal(1).item() for d in made}) == len(made)


def test_what_is_drawn_once_is_the_same_at_every_step() -> None:
    draw = Draw(1, "a", [0, 1], 3, 0.1)
    assert same_bits(draw.once().uniform(4), draw.at(77).once().uniform(4))


def test_a_later_step_of_a_draw_is_that_step() -> None:
    draw = Draw(1, "a", RUNS, 0, 0.25)
    later = draw.at(6)
    assert (later.step, later.dt, later.time, later.count) == (6, 0.25, 1.5, RUNS.size)
    assert same_bits(later.normal(2), Draw(1, "a", RUNS, 6, 0.25).normal(2))
    assert draw.at(6, 0.1, 0.7).time == 0.7


def test_nothing_is_drawn_for_no_runs_or_no_values() -> None:
    assert Draw(1, "a", np.empty(0, int)).normal(3).shape == (0, 3)
    assert Draw(1, "a", [1, 2]).uniform(0).shape == (2, 0)


@pytest.mark.parametrize(("seed", "run"), [(0, 0), (5, 3), (2**90, 2**32 - 1), (-7, 12)])
def test_a_seed_names_a_run(seed: int, run: int) -> None:
    whole = of_run(seed, run)
    assert whole == seed * 2**32 + run
    assert split(whole) == (seed, run)
    among_others = Draw(seed, "a", [1, run, 2]).normal(3)[1:2]
    assert same_bits(Draw.of_seed(whole, "a").normal(3), among_others)


def test_a_small_seed_is_a_run_of_study_zero() -> None:
    assert split(41) == (0, 41)


def test_fresh_seeds_differ() -> None:
    assert len({fresh() for _ in range(10)}) == 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Draw(1.5, "a", [0]), "seed = 1.5 must be a whole number"),  # type: ignore[arg-type]
        (lambda: Draw(1, "", [0]), "channel = '' must be a text"),
        (lambda: Draw(1, "a", [-1]), "runs = -1 must be from 0 to 4294967295"),
        (lambda: Draw(1, "a", [0.5]), r"runs = \[0.5\] must be a whole number"),
        (lambda: Draw(1, "a", [0], 0.5), "step = 0.5 must be a whole number"),  # type: ignore[arg-type]
        (lambda: Draw(1, "a", [0], 0, -0.1), "dt = -0.1 s must be finite and at least 0"),
        (lambda: Draw(1, "a", [0], 0, float("nan")), "dt = nan s must be finite"),
        (lambda: Draw(1, "a", [0], 0, 0.1, -1.0), "time = -1.0 s must be finite and at least 0"),
        (lambda: Draw(1, "a", [0], threads=0), "threads = 0 must be at least 1"),
        (lambda: Draw(1, "a", [0]).normal(-1), "width = -1 must be a whole number, at least 0"),
        (lambda: Draw(1, "a", [0]).normal(1.0), "width = 1.0 must be a whole number"),  # type: ignore[arg-type]
        (lambda: of_run(1, 2**32), "run = 4294967296 must be from 0 to 4294967295"),
        (lambda: of_run(1, -1), "run = -1 must be from 0"),
        (lambda: split("3"), "seed = '3' must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_bad_draws_are_named(make: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()  # type: ignore[operator]
