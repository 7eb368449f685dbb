"""A powertrain of one combustion engine: clutch, gearbox, final drive, differentials.

The engine has full-load and drag torque over speed, idle, rev limit and throttle. Combustion gives
the torque `tau_engine`, at most full load and drag together; drag takes its part whether it burns
or not. The throttle demands a share, the idle governor what keeps the engine turning.

The clutch holds without creeping: shafts that twist, in series with friction that slips. The twist
follows the slip and, the more torque it carries, the more of the slip goes by (Dahl): it is a
spring for small slip, and a friction of full capacity for large. Half closed, by the share
`closed`, it takes that share of the slip and hands on that share of the torque, so that at every
closing the difference between input and output is stored in the twist or lost:

    torque = closed (k twist + damping),    twist' = closed slip - |closed slip| k twist / capacity
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ....core.files import brief_repr
from ....core.record import extended, made_once
from ....ops import abs, clip, maximum, minimum, smooth_step, where
from ....units import (
    Allowed,
    J,
    Nm,
    Nm_rad,
    Nm_s_rad,
    W,
    kg_m2,
    non_negative,
    one,
    positive,
    rad,
    rad_s,
    s,
)
from ..actuators import lag
from ..assembly import redefined, widened
from ..table import on_curve
from .contract import Drive, PowerOutputs, Reflected, Wheels, friction_side, saturated, weighted
from .electric import torque_curve
from .gearing import MOST_GEARS, AutomaticShift, FinalDrive, RearWheelDrive, gear_ratio, gear_ratios


class EngineStates(NamedTuple):
    """Spin and torque of an engine."""

    spin_engine: rad_s = 0.0
    """Spin of the crankshaft; a reset that gives none starts it idling."""
    tau_engine: Nm = 0.0
    """Torque of what burns, after its lag."""


class Crankshaft(NamedTuple):
    """Parameters of a combustion engine: inertia, idle governor, speed limit, efficiency."""

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


class ClutchTorque(NamedTuple):
    """What a clutch does at one instant."""

    torque: Nm
    """From the engine to the gearbox."""
    twist_rate: rad_s


class Clutch(NamedTuple):
    """A clutch that closes by itself as the engine revs up, so that it never stalls."""

    capacity: Annotated[Nm, positive] = 350.0
    """Largest torque."""
    spin_engage: Annotated[rad_s, positive] = 110.0
    """Spin of the engine at which it begins to close."""
    spin_closed: Annotated[rad_s, positive] = 180.0
    """Spin of the engine from which on it is closed."""
    k: Annotated[Nm_rad, positive] = 500.0
    """Stiffness of clutch and shafts, seen from the engine."""
    damping: Annotated[Nm_s_rad, non_negative] = 2.0
    """Damping of that twist."""
    t_release: Annotated[s, positive] = 0.05
    """Time in which an open clutch untwists."""

    def closed(self, engine: rad_s, gear: one) -> one:
        """How far it is closed, 0 to 1; in neutral not at all."""
        return smooth_step(engine, self.spin_engage, self.spin_closed) * minimum(gear * gear, 1.0)

    def transmitted(self, twist: rad, closed: one, slip: rad_s) -> ClutchTorque:
        """Torque and rate of the twist; `slip` is what the engine is faster than the gearbox."""
        by_capacity = 1.0 / self.capacity
        spring, felt = self.k * twist, closed * slip
        spare = maximum(self.capacity - abs(spring), 0.0)
        damping = spare * saturated((self.damping * by_capacity) * felt)
        open_2 = (1.0 - closed) * (1.0 - closed)
        open_8 = (open_2 * open_2) * (open_2 * open_2)
        untwisting = open_8 * (1.0 / self.t_release) * twist
        rate = felt - abs(felt) * (spring * by_capacity) - untwisting
        return ClutchTorque(closed * (spring + damping), rate)

    def stored(self, twist: rad) -> J:
        """Energy of the twist."""
        return 0.5 * self.k * (twist * twist)


class EngineInputs(NamedTuple):
    """How a car with an engine is driven."""

    throttle: Annotated[one, Allowed(0.0, 1.0)] = 0.0
    """Share of full load."""
    gear: Annotated[one, Allowed(-1.0, MOST_GEARS, whole=True)] = 1.0
    """The gear, -1 for reverse and 0 for neutral; of an automatic gearbox -1, 0 or 1."""


@made_once
def inputs_up_to(highest: float) -> Any:
    """The inputs of a car whose highest gear this is."""
    gear = Annotated[one, Allowed(-1.0, highest, whole=True)]
    return redefined(EngineInputs, {"gear": gear})


@extended
class EngineDriveStates(EngineStates):
    """States of the engine, and the twist behind it."""

    twist_clutch: rad = 0.0
    """Twist of clutch and shafts, seen from the engine, positive when it drives."""


class EngineDrive(NamedTuple):
    """One engine that drives two or four wheels."""

    engine: Any = Engine()
    """See `Engine`."""
    clutch: Clutch = Clutch()
    ratios: Any = gear_ratios(3.58, 1.93, 1.28, 0.95, 0.76, reverse=3.62)
    """See `gear_ratios`."""
    shift: Any = AutomaticShift()
    """`AutomaticShift` or `ManualShift`."""
    final: FinalDrive = FinalDrive(ratio=3.82, efficiency=0.93, J=0.1)
    """The last gear; its efficiency is that of gearbox and final drive together."""
    layout: Any = RearWheelDrive()
    """`RearWheelDrive`, `FrontWheelDrive` or `AllWheelDrive`."""

    __repr__ = brief_repr

    Outputs = PowerOutputs

    @property
    def Inputs(self) -> Any:
        """Throttle, and gears as far as the gearbox has them."""
        return inputs_up_to(self.shift.highest(self.ratios))

    @property
    def States(self) -> Any:
        """States of engine and clutch, and of the gearbox."""
        return widened(EngineDriveStates, type(self.shift).States)

    def reflected(self) -> Reflected:
        """Shafts and gears; the engine behind its clutch is a state."""
        return Reflected(self.final.J, self.layout.weights())

    def drive(self, x: Any, u: Any, spins: Wheels) -> Drive:
        """Torques, rates and powers."""
        engine, final, crank = self.engine, self.final, self.engine.crank
        shaft = weighted(self.layout.weights(), spins)
        gear = self.shift.gear(x, u.gear, self.ratios)
        ratio = final.ratio * gear_ratio(gear, self.ratios)
        slip = x.spin_engine - ratio * shaft
        clutch = self.clutch.transmitted(
            x.twist_clutch, self.clutch.closed(x.spin_engine, gear), slip
        )
        burning, dragging = engine.burning(x), engine.dragging(x.spin_engine)
        rate = (burning - dragging - clutch.torque) * (1.0 / crank.J)
        carried = ratio * clutch.torque
        T = final.output(carried, shaft)
        torques = self.layout.split(T, spins)
        twisting = self.clutch.k * x.twist_clutch * clutch.twist_rate
        fuel = engine.fuel(x)
        heat = fuel - (burning - dragging) * x.spin_engine
        rubbing = clutch.torque * slip - twisting
        lost = heat + rubbing + final.lost(carried, shaft) + self.layout.lost(T, spins)
        stored = crank.J * rate * x.spin_engine + twisting
        shown = burning - dragging
        powers = PowerOutputs(x.spin_engine, shown, fuel, weighted(torques, spins), lost, stored)
        torque_rate = engine.torque_rate(x, u.throttle)
        shifting = self.shift.rates(x, u.gear, final.ratio * shaft, self.ratios)
        rates = self.States(rate, torque_rate, clutch.twist_rate, *shifting)
        return Drive(torques, self.reflected(), rates, powers)

    def rotating(self, x: Any, spins: Wheels) -> J:
        """Kinetic energy of engine, shafts and gears, and that of the twist between them."""
        inertia, weights = self.reflected()
        shaft, spin = weighted(weights, spins), x.spin_engine
        turning = 0.5 * inertia * (shaft * shaft) + 0.5 * self.engine.crank.J * (spin * spin)
        return turning + self.clutch.stored(x.twist_clutch)

    def effective_ratio(self, x: Any, spins: Wheels) -> tuple[one, one]:
        """Overall ratio from the engine to the wheels in the gear for their speed, and how far the
        clutch is closed (0 to 1)."""
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        _, gear = self.shift.asked(1.0, spin, self.ratios)
        ratio = self.final.ratio * gear_ratio(gear, self.ratios)
        return ratio, self.clutch.closed(x.spin_engine, gear)

    def coasting(self, x: Any, spins: Wheels) -> Nm:
        """Drag of the engine, with the friction of the gears."""
        ratio, closed = self.effective_ratio(x, spins)
        return (2.0 - self.final.efficiency) * closed * ratio * self.engine.dragging(x.spin_engine)

    def inertia(self, x: Any, spins: Wheels) -> kg_m2:
        """Shafts and, as far as the clutch is closed, the engine in the gear of the speed."""
        ratio, closed = self.effective_ratio(x, spins)
        return self.final.J + closed * self.engine.crank.J * (ratio * ratio)

    def settled(self, x: Any, spins: Wheels) -> Any:
        """An engine that was given as standing idles, or turns with the wheels in their gear."""
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        gears = self.shift.settled(spin, self.ratios)
        _, gear = self.shift.asked(1.0, spin, self.ratios)
        started = maximum(spin * gear_ratio(gear, self.ratios), self.engine.crank.spin_idle)
        turning = x.spin_engine != 0.0
        fresh = {"spin_engine": started, **gears._asdict()}
        return x._replace(**{n: where(turning, getattr(x, n), v) for n, v in fresh.items()})

    def pedals(self, x: Any, T: Nm, direction: one, spins: Wheels) -> EngineInputs:
        """Throttle and gear for a torque on all wheels together."""
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        asked, gear = self.shift.asked(direction, spin, self.ratios)
        ratio = self.final.ratio * self.final.efficiency * gear_ratio(gear, self.ratios)
        throttle = self.engine.throttle(T / ratio, x.spin_engine)
        # Without a demand a car idles, so that it stops.
        return EngineInputs(where(T == 0.0, 0.0, throttle), asked)

    def peak(self) -> Nm:
        """Largest torque on all wheels together, in first gear."""
        first, full = gear_ratio(1.0, self.ratios), self.engine.full
        return self.final.ratio * self.final.efficiency * first * max(full[type(full).size :])

    def top(self) -> rad_s:
        """Spin of the wheels at the rev limit in the highest gear."""
        return self.engine.crank.spin_max / (self.final.ratio * self.ratios[-1])

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the inputs."""
        return {"throttle": (0.0, 1.0), "gear": (-1.0, self.shift.highest(self.ratios))}
