"""Where the random numbers of a simulation stand.

Disturbances are drawn from the channel `disturbance`, one step after the other over all calls of
`simulate`, and measurements from the channel `noise`, one step each. They do not see each other: a
simulation without noise feels the same disturbances.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from ...sensing.uncertainty import Draw, UncertaintyModel

DISTURBANCE, NOISE = "disturbance", "noise"
"""Names of the channels; a Monte Carlo draws from the same."""


class Streams(NamedTuple):
    """Two streams of one seed, and how far each has been read. Reading on makes another."""

    disturbance: Draw
    noise: Draw
    memory: Any
    """What the disturbance model remembers."""
    noise_memory: Any = None
    """What the noise model remembers."""
    step: int = 0
    """Disturbances drawn so far."""
    time: float = 0.0
    """Time simulated so far, in s."""
    measured: int = 0
    """Noises drawn so far."""

    @classmethod
    def of(cls, seed: int, model: UncertaintyModel) -> Self:
        """The streams of a seed, at their start."""
        return cls(
            Draw.of_seed(seed, DISTURBANCE), Draw.of_seed(seed, NOISE), memory=model.start(1)
        )

    def disturbance_at(self, k: int, dt: float) -> Draw:
        """What the k-th step from here on draws from; dt in s is how long it acts."""
        return self.disturbance.at(self.step + k, dt, self.time + k * dt)

    def noise_at(self, dt: float) -> Draw:
        """What a measurement here draws from; the last one was dt in s ago."""
        return self.noise.at(self.measured, dt, self.time)
