"""A dead time and a lag with a limited rate: what parameters of command-driven models promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..units import m_s
from .subject import Subject

__all__ = ["Lag", "lag_of"]


@dataclass(frozen=True, eq=False)
class Lag:
    """y' = (target - y) / time_constant, no faster than `rate`, after a dead time; each (V,)."""

    dead_time: Array
    time_constant: Array
    rate: Array
    """Largest rate; infinite where there is no limit."""
    asked: float
    """The step of the command, from zero; positive."""
    factor: Array
    """On the command."""
    bias: Array
    """What it takes itself to be beyond what it is."""
    band: Array
    """Error up to which it does nothing."""

    @property
    def start(self) -> Array:
        """Where it stands before the step."""
        return self._settled(0.0, 0.0)

    @property
    def change(self) -> Array:
        """How far the step takes it; positive."""
        return self._settled(self.start, self.asked) - self.start

    @property
    def steady_error(self) -> Array:
        """Where it stands after the step, less the command."""
        return self.start + self.change - self.asked

    def _settled(self, at: Any, asked: float) -> Array:
        goal = self.factor * asked - self.bias
        return goal + np.clip(at - goal, -self.band, self.band)

    @property
    def _slow(self) -> Array:
        """Distance from the end from which on the rate is no longer at its limit."""
        return np.minimum(self.change, self.rate * self.time_constant)

    @property
    def to_63_percent(self) -> Array:
        """Time from the end of the dead time to 63 % of the change."""
        left, slow = self.change * np.exp(-1.0), self._slow
        limited = (self.change - np.maximum(left, slow)) / self.rate
        return limited + self.time_constant * np.log(np.maximum(slow / left, 1.0))

    def step(self, t: Array) -> Array:
        """Answer of the first variant at times, (T,), to the step at time zero."""
        tau, rate, slow = self.time_constant[0], self.rate[0], self._slow[0]
        goal, since = self.change[0], np.maximum(t - self.dead_time[0], 0.0)
        bend = (goal - slow) / rate
        after = slow * np.exp(-np.maximum(since - bend, 0.0) / tau)
        # Not a product with a rate that may be infinite.
        limited = goal - (goal - slow) * since / bend if bend > 0.0 else after
        return self.start[0] + goal - np.where(since < bend, limited, after)

    def behind_ramp(self, slope: float) -> Array:
        """Time by which it is behind a rising ramp of the command, after long; NaN where the rate
        or a factor does not let it follow."""
        follows = (slope < self.rate) & (self.factor == 1.0)
        behind = self.dead_time + self.time_constant + (self.bias + self.band) / slope
        return np.where(follows, behind, np.nan)

    def way_to_rest(self, v: m_s, share: float) -> Array:
        """Way in m from a command of no speed at a speed to a share of it, where the speed lags."""
        tau, rate = self.time_constant, self.rate
        slow = np.minimum(v, rate * tau)
        limited = (v * v - np.maximum(slow, share * v) ** 2) / (2.0 * rate)
        return v * self.dead_time + limited + tau * np.maximum(slow - share * v, 0.0)

    def braking_way(self, v: m_s, share: float) -> Array:
        """Way in m from a command of the deceleration `asked` to a share of the speed, where the
        deceleration lags and has long settled when the vehicle stands."""
        tau, a, lost = self.time_constant, self.change, (1.0 - share) * v
        end = lost / a + tau
        return v * self.dead_time + v * end - a * (0.5 * end * end - tau * end + tau * tau)


def lag_of(car: Subject, named: str, asked: float) -> Lag | None:
    """What the parameters say of an input with dead time; None where they say nothing.

    Models with dead times name them `steer_time_delay`, beside `steer_time_constant`.
    """
    late = car.vehicle.model.dead_times.get(named)
    if late is None or not hasattr(car.vehicle.params, constant := _beside(late, "constant")):
        return None

    def values(name: str, usual: float) -> Array:
        own = [getattr(vehicle.params, name, usual) for vehicle in car.each]
        return np.array(own, dtype=float)

    prefix = late.removesuffix("_time_delay")
    rates = {"steer": "steer_rate_lim", "vel": "vel_rate_lim"}
    factors = {"steer": "debug_steer_scaling_factor", "acc": "debug_acc_scaling_factor"}
    steers = prefix == "steer"
    return Lag(
        dead_time=values(late, 0.0),
        time_constant=np.maximum(values(constant, 0.0), values("least_time_constant", 0.0)),
        rate=values(rates.get(prefix, ""), np.inf),
        asked=asked,
        factor=np.maximum(values(factors.get(prefix, ""), 1.0), 0.0),
        bias=values("steer_bias" if steers else "", 0.0),
        band=values("steer_dead_band" if steers else "", 0.0),
    )


def _beside(late: str, what: str) -> str:
    return f"{late.removesuffix('delay')}{what}"
