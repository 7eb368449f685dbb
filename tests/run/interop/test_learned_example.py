"""A trained network in the place of the steering, in either library."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

Loader = Callable[[str], ModuleType]
EXAMPLES = Path(__file__).parents[3] / "examples"
STEER = 7
"""Column of the tyre angle in a motion."""


@pytest.mark.slow
@pytest.mark.parametrize("library", ["jax", "torch"])
def test_the_network_steers_like_what_it_was_trained_on(
    library: str, example: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library)
    monkeypatch.syspath_prepend(EXAMPLES)  # where a script finds itself, too
    learning = example("learned_steering")
    out = tmp_path / "learned.png"
    runs = learning.main(["--library", library, "--out", str(out)])
    assert out.read_bytes()[:4] == b"\x89PNG"
    off = np.abs(runs.learned - runs.true)
    assert off[:, STEER].max() < 0.02
    assert np.hypot(off[:, 0], off[:, 1]).max() < 0.3
    # That means something: the command itself, without any lag, is far from both.
    command = [learning.slalom_command(k * learning.PERIOD) for k in range(len(runs.true))]
    assert np.abs(command - runs.true[:, STEER]).max() > 0.08


def test_the_recorded_steering_lags_and_keeps_its_rate(example: Loader) -> None:
    learning = example("learned_steering")
    errors, rates = learning.recorded(duration=20.0)
    assert np.abs(rates).max() == pytest.approx(learning.RATE_LIMIT)
    slow = np.abs(errors) < learning.RATE_LIMIT * learning.TIME_CONSTANT
    assert 0.2 < slow.mean() < 0.999, "both the lag and the limit are seen"
    np.testing.assert_allclose(rates[slow], errors[slow] / learning.TIME_CONSTANT, atol=1e-12)
