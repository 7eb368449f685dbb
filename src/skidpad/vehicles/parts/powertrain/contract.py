"""What a powertrain is to a vehicle.

A powertrain is a record whose class says what turns the wheels. A vehicle puts its `States` and
`Inputs` among its own, and asks it:

1. `drive(x, u, spins)`: torques on the wheels fl, fr, rl, rr, the rates of its states and its
   powers, from its states, its inputs and the spins of the wheels.
2. `rotating(x, spins)`: energy of what turns and twists besides the wheels.
3. `settled(x, spins)`: its states made consistent, as after a reset.
4. `pedals(x, T, direction, spins)`: the inputs that give about the torque `T` on all driven
   wheels together while it drives forward (`direction` 1) or backward (-1), as far as the pedal
   can; `coasting(x, spins)`: torque with which a released pedal slows them.
5. `inertia(x, spins)`: what turns with the wheels besides them, at their speed, while it drives.
6. `peak()`: the largest torque on all wheels together at rest, and `top()`: the spin of the wheels
   at which it drives no faster; `ranges()`: lowest and highest value of its inputs.

A powertrain with a torque for each wheel as its inputs is less than that: see
`electric.WheelMotors`.

What turns at a fixed ratio to the wheels is a `Reflected` inertia; everything else with inertia is
a state. All powers balance at every instant: source = wheels + lost + stored.

At the end: smooth laws that the parts share, limits with round knees and friction at rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ....core.files import brief_repr
from ....ops import smooth_hypot, sqrt
from ....units import J, Nm, W, kg_m2, one, rad_s

Wheels = tuple[Any, Any, Any, Any]
"""A value for each wheel: fl, fr, rl, rr."""


class Reflected(NamedTuple):
    """Inertia that turns with a weighted mean of the wheels."""

    J: kg_m2
    """Inertia, at the speed of the mean."""
    weights: Wheels
    """Share of each wheel in the mean: they add up to 1."""

    __repr__ = brief_repr


class PowerOutputs(NamedTuple):
    """What a powertrain does: its motor and where its power goes."""

    spin_motor: rad_s
    """Spin of the motor or engine, positive when it drives forward."""
    tau_motor: Nm
    """Torque at its shaft."""
    P_source: W
    """Power taken from charge or fuel; negative when charge is given back."""
    P_wheels: W
    """Power handed to the wheels."""
    P_lost: W
    """Power that becomes heat, at least 0."""
    P_stored: W
    """Power that goes into the spin of an engine behind a clutch, and the twist of its shafts."""


class Drive(NamedTuple):
    """What a powertrain does at one instant."""

    torques: Wheels
    """On each wheel, before what its own inertia takes."""
    reflected: Reflected
    rates: Any
    """Rates of its states."""
    shown: Any
    """Outputs: `PowerOutputs`, and perhaps more."""

    __repr__ = brief_repr


class Powertrain(Protocol):
    """See the text of the module."""

    def drive(self, x: Any, u: Any, spins: Wheels) -> Drive:
        """Torques, rates and powers."""
        ...

    def rotating(self, x: Any, spins: Wheels) -> J:
        """Energy of what turns and twists besides the wheels."""
        ...


def weighted(weights: Wheels, values: Wheels) -> Any:
    """The weighted sum over the wheels; what is alike on both sides cancels to the last bit."""
    fl, fr, rl, rr = (w * v for w, v in zip(weights, values, strict=True))
    return (fl + fr) + (rl + rr)


def spin_rates(torques: Wheels, I_w: kg_m2, reflected: Reflected) -> Wheels:
    """Angular acceleration of wheels that turn an inertia together.

    (I_w 1 + J w wᵀ) spin' = torques, solved in closed form (Sherman and Morrison).
    """
    J, weights = reflected
    by_I = 1.0 / I_w
    free = [torque * by_I for torque in torques]
    mean_rate = weighted(weights, tuple(free)) / (1.0 + (J * by_I) * weighted(weights, weights))
    reaction = (J * by_I) * mean_rate
    fl, fr, rl, rr = (a - weight * reaction for a, weight in zip(free, weights, strict=True))
    return fl, fr, rl, rr


def friction_side(spin: Any, width: Any) -> one:
    """The sign of a speed, smooth over about `width`: from -1 to 1, and 0 at rest."""
    return spin / smooth_hypot(spin, 0.0, width)


def saturated(x: Any) -> Any:
    """x for small x, towards ±1 for large: the friction of a clutch over its slip."""
    return x / sqrt(1.0 + x * x)


def share_within(asked: W, P: W, knee: one) -> one:
    """The share of a power that keeps it within a limit, with a round knee: `within_power`."""
    apart = asked - P
    return 2.0 * P / (asked + P + sqrt(apart * apart + (4.0 * knee * knee) * (asked * P)))


def within_power(tau: Nm, P: W, spin: rad_s, knee: one, width: rad_s) -> Nm:
    """The smaller of a torque and what a power gives at this speed, never above either.

    Where the two are equal it is short of them by the share knee / (1 + knee); at rest it is the
    torque, but for `width`, a speed that keeps it smooth there. Torque and power are at least 0,
    one of them greater.
    """
    asked = tau * smooth_hypot(spin, 0.0, width)
    apart = asked - P
    root = sqrt(apart * apart + (4.0 * knee * knee) * (asked * P))
    return 2.0 * (tau * P) / (asked + P + root)
