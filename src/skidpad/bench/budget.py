"""How much work a measurement does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Sizes and repetitions. They change the noise of a figure, not what it means."""

    vehicles: int
    """Vehicles in a fleet."""
    rk4_steps: int
    """Steps of 1 ms in a rollout with RK4."""
    radau_steps: int
    """Steps of 10 ms in a rollout with Radau."""
    checked: int
    """Vehicles of the fleet, the first ones, whose end state is compared with the reference."""
    repeats: int
    """Timed runs of a fleet and of each of its peers, in turns; the best counts."""
    peer_seconds: float
    """About how long one timed run of a fleet peer may take, in s; slow ones make fewer steps."""
    weave: float
    """Length of the manoeuvre that single steps are timed on, in s, a multiple of 10 ms."""
    weave_repeats: int
    """How often the manoeuvre is driven by those who are fast."""
    fresh: int
    """Fresh processes per figure that needs one; imports, which vary more, take some more."""


FULL = Budget(
    vehicles=16384,
    rk4_steps=500,
    radau_steps=200,
    checked=8,
    repeats=6,
    peer_seconds=0.25,
    weave=3.0,
    weave_repeats=5,
    fresh=3,
)
QUICK = Budget(
    vehicles=8192,
    rk4_steps=200,
    radau_steps=50,
    checked=4,
    repeats=2,
    peer_seconds=0.1,
    weave=0.5,
    weave_repeats=3,
    fresh=1,
)
