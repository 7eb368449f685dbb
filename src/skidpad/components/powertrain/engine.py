"""A combustion engine: full-load and drag torque over speed, idle, rev limit, throttle.

What burns gives the torque `tau_engine`, at most full load and drag together; drag takes its part
whether it burns or not. The throttle asks for a share, the idle governor for what keeps it turning.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...brief import brief_repr
from ...ops import abs, clip, maximum, smooth_step
from ...units import (
    Allowed,
    Nm,
    Nm_s_rad,
    W,
    kg_m2,
    non_negative,
    one,
    positive,
    rad_s,
    s,
)
from ..actuator import lag
from ..table import on_curve
from .electric_motor import torque_curve
from .smooth import friction_side

__all__ = ["Crankshaft", "Engine", "EngineStates"]


class EngineStates(NamedTuple):
    """Spin and torque of an engine."""

    spin_engine: rad_s = 0.0
    """Spin of the crankshaft; a reset that gives none starts it idling."""
    tau_engine: Nm = 0.0
    """Torque of what burns, after its lag."""


class Crankshaft(NamedTuple):
    """Numbers of an engine."""

    J: Annotated[kg_m2, positive] = 0.15
    """Inertia with flywheel."""
    t_lag: Annotated[s, positive] = 0.08
    """Time constant of the torque."""
    spin_idle: Annotated[rad_s, positive] = 85.0
    """Spin that the governor keeps."""
    idle_gain: Annotated[Nm_s_rad, non_negative] = 1.0
    """Torque of the governor per missing spin."""
    spin_max: Annotated[rad_s, positive] = 680.0
    """Spin from which on nothing burns."""
    fade: Annotated[one, Allowed(0.001, 1.0)] = 0.03
    """Share of that spin over which the torque goes."""
    efficiency: Annotated[one, Allowed(0.01, 1.0)] = 0.38
    """Work of what burns over its heat."""
    spin_low: Annotated[rad_s, positive] = 5.0
    """Spin below which drag fades."""


class Engine(NamedTuple):
    """An engine; the default is a petrol one of 1.8 l."""

    full: Any = torque_curve((60.0, 200.0, 420.0, 600.0, 680.0), (90.0, 140.0, 158.0, 142.0, 115.0))
    """Torque at the shaft under full load; see `torque_curve`."""
    drag: Any = torque_curve((60.0, 300.0, 680.0), (12.0, 18.0, 38.0))
    """Torque that it takes to turn it without throttle, positive."""
    crank: Crankshaft = Crankshaft()

    __repr__ = brief_repr

    def most(self, spin: rad_s) -> Nm:
        """Largest torque of what burns."""
        return on_torque(spin, self.full) + on_torque(spin, self.drag)

    def burning(self, x: EngineStates) -> Nm:
        """Torque of what burns now: nothing beyond the rev limit, and nothing if it stands."""
        c, spin = self.crank, x.spin_engine
        left = 1.0 - smooth_step(spin, (1.0 - c.fade) * c.spin_max, c.spin_max)
        return (
            left
            * smooth_step(spin, 0.0, c.spin_low)
            * clip(x.tau_engine, 0.0, self.most(x.spin_engine))
        )

    def dragging(self, spin: rad_s) -> Nm:
        """Torque of drag, against the turning."""
        return on_torque(spin, self.drag) * friction_side(spin, self.crank.spin_low)

    def torque_rate(self, x: EngineStates, throttle: one) -> Any:
        """Rate of the torque of what burns under a throttle from 0 to 1."""
        c, most = self.crank, self.most(x.spin_engine)
        missing = c.idle_gain * (c.spin_idle - x.spin_engine)
        idling = self.dragging(x.spin_engine) + missing
        asked = maximum(clip(throttle, 0.0, 1.0) * most, clip(idling, 0.0, most))
        return lag(x.tau_engine, asked, c.t_lag)

    def throttle(self, tau: Nm, spin: rad_s) -> one:
        """The throttle that gives a torque at the shaft."""
        return clip((tau + on_torque(spin, self.drag)) / self.most(spin), 0.0, 1.0)

    def fuel(self, x: EngineStates) -> W:
        """Heat of the fuel that burns."""
        return self.burning(x) * x.spin_engine * (1.0 / self.crank.efficiency)


def on_torque(spin: rad_s, curve: Any) -> Nm:
    """A torque curve at a spin either way."""
    return on_curve(abs(spin), curve)
