"""The example that learns by the adjoint, for a few iterations."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
FILE = ROOT / "examples" / "learn" / "policy_gradient.py"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("policy_gradient_example", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_few_iterations_learn_most_of_it_and_are_repeated_to_the_bit(example: ModuleType) -> None:
    loop = example.Loop()
    once, again = (example.train(loop, 0, 4, every=4) for _ in range(2))
    assert once.iterations == [0, 4]
    assert once.costs[-1] < 0.1 * once.costs[0]
    assert again.weights.tobytes() == once.weights.tobytes()


def test_adam_goes_down_a_valley_by_its_rate_at_most(example: ModuleType) -> None:
    adam, at = example.Adam(2), np.array([3.0, -2.0])
    first = adam.step(np.array([100.0, -1e-3]), 0.1)
    np.testing.assert_allclose(first, [-0.1, 0.1], rtol=1e-4)  # of its rate, whatever the slope
    for _ in range(400):
        at = at + adam.step(2.0 * at * [1.0, 10.0], 0.05)
    assert np.abs(at).max() < 0.05


def test_the_numbers_of_the_page_are_those_of_the_curve() -> None:
    numbers = json.loads((ROOT / "benchmarks/learning/policy_gradient.json").read_text("utf-8"))
    assert numbers["weights"] == 6 * 16 + 16 + 16 * 2 + 2
    page = (ROOT / "docs" / "policy.md").read_text("utf-8")
    for cost in (numbers["stanley"], *(run["costs"][-1] for run in numbers["runs"])):
        assert f"{cost:.2f}" in page
