"""Powertrain of one combustion engine: clutch, gearbox, final drive, differentials.

The engine has full-load and drag torque over speed, idle governor, rev limit and throttle. The
state `tau_engine` is the combustion torque, at most full load plus drag; drag acts whether fuel is
burnt or not. The throttle demands a share, the idle governor what keeps the engine turning.

The clutch holds without creep: twisting shafts in series with friction that slips. The twist
follows the slip and, the more torque it carries, the larger the part of the slip that does not
twist (Dahl): a spring for small slip, friction at full capacity for large slip. Partly closed, by
the share `closed`, it takes that share of the slip and transmits that share of the torque, so that
at any engagement the difference between input and output power is stored in the twist or lost:

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
from . import gearing
from .electric import torque_curve


class EngineStates(NamedTuple):
    """Spin and combustion torque of an engine."""

    spin_engine: rad_s = 0.0
    """Spin of the crankshaft; if a reset leaves it 0, the engine starts at idle."""
    tau_engine: Nm = 0.0
    """Combustion torque, after its lag."""


class Crankshaft(NamedTuple):
    """Parameters of a combustion engine: inertia, idle governor, speed limit, efficiency."""

    J: Annotated[kg_m2, positive] = 0.15
    """Inertia with flywheel, at the crankshaft."""
    t_lag: Annotated[s, positive] = 0.08
    """Time constant of the combustion torque."""
    spin_idle: Annotated[rad_s, positive] = 85.0
    """Spin that the idle governor maintains."""
    idle_gain: Annotated[Nm_s_rad, non_negative] = 1.0
    """Torque of the idle governor per missing spin."""
    spin_max: Annotated[rad_s, positive] = 680.0
    """Rev limit: spin above which there is no combustion torque."""
    fade: Annotated[one, Allowed(0.001, 1.0)] = 0.03
    """Share of the rev limit over which the torque fades to zero."""
    efficiency: Annotated[one, Allowed(0.01, 1.0)] = 0.38
    """Combustion work over fuel heat."""
    spin_low: Annotated[rad_s, positive] = 5.0
    """Spin below which the drag torque fades to zero."""


class Engine(NamedTuple):
    """Combustion engine; by default a petrol engine of 1.8 l."""

    full: Any = torque_curve((60.0, 200.0, 420.0, 600.0, 680.0), (90.0, 140.0, 158.0, 142.0, 115.0))
    """Torque at the shaft under full load; see `torque_curve`."""
    drag: Any = torque_curve((60.0, 300.0, 680.0), (12.0, 18.0, 38.0))
    """Torque needed to turn the engine without throttle, positive; see `torque_curve`."""
    crank: Crankshaft = Crankshaft()

    __repr__ = brief_repr

    def most(self, spin: rad_s) -> Nm:
        """Largest combustion torque: full load plus drag."""
        return on_torque(spin, self.full) + on_torque(spin, self.drag)

    def burning(self, x: EngineStates) -> Nm:
        """Present combustion torque; 0 beyond the rev limit and at standstill."""
        c, spin = self.crank, x.spin_engine
        left = 1.0 - smooth_step(spin, (1.0 - c.fade) * c.spin_max, c.spin_max)
        return (
            left
            * smooth_step(spin, 0.0, c.spin_low)
            * clip(x.tau_engine, 0.0, self.most(x.spin_engine))
        )

    def dragging(self, spin: rad_s) -> Nm:
        """Drag torque, against the rotation."""
        return on_torque(spin, self.drag) * gearing.friction_side(spin, self.crank.spin_low)

    def torque_rate(self, x: EngineStates, throttle: one) -> Any:
        """Rate of the combustion torque at a throttle from 0 to 1."""
        c, most = self.crank, self.most(x.spin_engine)
        missing = c.idle_gain * (c.spin_idle - x.spin_engine)
        idling = self.dragging(x.spin_engine) + missing
        asked = maximum(clip(throttle, 0.0, 1.0) * most, clip(idling, 0.0, most))
        return lag(x.tau_engine, asked, c.t_lag)

    def throttle(self, tau: Nm, spin: rad_s) -> one:
        """Throttle for a torque at the shaft."""
        return clip((tau + on_torque(spin, self.drag)) / self.most(spin), 0.0, 1.0)

    def fuel(self, x: EngineStates) -> W:
        """Heat flow of the fuel."""
        return self.burning(x) * x.spin_engine * (1.0 / self.crank.efficiency)


def on_torque(spin: rad_s, curve: Any) -> Nm:
    """Value of a torque curve at a spin of either sign."""
    return on_curve(abs(spin), curve)


class ClutchTorque(NamedTuple):
    """Torque and twist rate of a clutch at one instant."""

    torque: Nm
    """Torque from the engine to the gearbox."""
    twist_rate: rad_s


class Clutch(NamedTuple):
    """Automatic clutch that closes as the engine revs up, so that the engine never stalls."""

    capacity: Annotated[Nm, positive] = 350.0
    """Largest torque of the closed clutch."""
    spin_engage: Annotated[rad_s, positive] = 110.0
    """Engine spin at which the clutch begins to close."""
    spin_closed: Annotated[rad_s, positive] = 180.0
    """Engine spin above which the clutch is closed."""
    k: Annotated[Nm_rad, positive] = 500.0
    """Stiffness of clutch and shafts, referred to the engine."""
    damping: Annotated[Nm_s_rad, non_negative] = 2.0
    """Damping of the twist."""
    t_release: Annotated[s, positive] = 0.05
    """Time constant with which an open clutch untwists."""

    def closed(self, engine: rad_s, gear: one) -> one:
        """Engagement of the clutch, 0 open to 1 closed; 0 in neutral."""
        return smooth_step(engine, self.spin_engage, self.spin_closed) * minimum(gear * gear, 1.0)

    def transmitted(self, twist: rad, closed: one, slip: rad_s) -> ClutchTorque:
        """Torque and twist rate; `slip` is the engine spin minus that of the gearbox input."""
        by_capacity = 1.0 / self.capacity
        spring, felt = self.k * twist, closed * slip
        spare = maximum(self.capacity - abs(spring), 0.0)
        damping = spare * gearing.saturated((self.damping * by_capacity) * felt)
        open_2 = (1.0 - closed) * (1.0 - closed)
        open_8 = (open_2 * open_2) * (open_2 * open_2)
        untwisting = open_8 * (1.0 / self.t_release) * twist
        rate = felt - abs(felt) * (spring * by_capacity) - untwisting
        return ClutchTorque(closed * (spring + damping), rate)

    def stored(self, twist: rad) -> J:
        """Energy stored in the twist."""
        return 0.5 * self.k * (twist * twist)


class EngineInputs(NamedTuple):
    """Inputs of a car with an engine."""

    throttle: Annotated[one, Allowed(0.0, 1.0)] = 0.0
    """Throttle: share of full load."""
    gear: Annotated[one, Allowed(-1.0, gearing.MOST_GEARS, whole=True)] = 1.0
    """Gear: -1 for reverse, 0 for neutral; with an automatic gearbox -1, 0 or 1."""


@made_once
def inputs_up_to(highest: float) -> Any:
    """Record type of the inputs for a gearbox with this highest gear."""
    gear = Annotated[one, Allowed(-1.0, highest, whole=True)]
    return redefined(EngineInputs, {"gear": gear})


@extended
class EngineDriveStates(EngineStates):
    """States of the engine, and the twist of clutch and shafts."""

    twist_clutch: rad = 0.0
    """Twist of clutch and shafts, referred to the engine, positive when the engine drives."""


class EngineDrive(NamedTuple):
    """Powertrain with one engine that drives two or four wheels."""

    engine: Any = Engine()
    """Engine, see `Engine`."""
    clutch: Clutch = Clutch()
    ratios: Any = gearing.gear_ratios(3.58, 1.93, 1.28, 0.95, 0.76, reverse=3.62)
    """Ratios of the gearbox, see `gear_ratios`."""
    shift: Any = gearing.AutomaticShift()
    """Gear selection: `AutomaticShift` or `ManualShift`."""
    final: gearing.FinalDrive = gearing.FinalDrive(ratio=3.82, efficiency=0.93, J=0.1)
    """Final drive; its efficiency is that of gearbox and final drive together."""
    layout: Any = gearing.RearWheelDrive()
    """Driven wheels: `RearWheelDrive`, `FrontWheelDrive` or `AllWheelDrive`."""

    __repr__ = brief_repr

    Outputs = gearing.PowerOutputs

    @property
    def Inputs(self) -> Any:
        """Record type of the inputs: throttle, and the gears that the gearbox has."""
        return inputs_up_to(self.shift.highest(self.ratios))

    @property
    def States(self) -> Any:
        """Record type of the states of engine, clutch and gearbox."""
        return widened(EngineDriveStates, type(self.shift).States)

    def reflected(self) -> gearing.Reflected:
        """Inertia of shafts and gears; the engine behind its clutch is a state."""
        return gearing.Reflected(self.final.J, self.layout.weights())

    def drive(self, x: Any, u: Any, spins: gearing.Wheels) -> gearing.Drive:
        """Torques on the wheels, rates of the states, and powers."""
        engine, final, crank = self.engine, self.final, self.engine.crank
        shaft = gearing.weighted(self.layout.weights(), spins)
        gear = self.shift.gear(x, u.gear, self.ratios)
        ratio = final.ratio * gearing.gear_ratio(gear, self.ratios)
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
        powers = gearing.PowerOutputs(
            x.spin_engine, shown, fuel, gearing.weighted(torques, spins), lost, stored
        )
        torque_rate = engine.torque_rate(x, u.throttle)
        shifting = self.shift.rates(x, u.gear, final.ratio * shaft, self.ratios)
        rates = self.States(rate, torque_rate, clutch.twist_rate, *shifting)
        return gearing.Drive(torques, self.reflected(), rates, powers)

    def rotating(self, x: Any, spins: gearing.Wheels) -> J:
        """Kinetic energy of engine, shafts and gears, and energy of the twist."""
        inertia, weights = self.reflected()
        shaft, spin = gearing.weighted(weights, spins), x.spin_engine
        turning = 0.5 * inertia * (shaft * shaft) + 0.5 * self.engine.crank.J * (spin * spin)
        return turning + self.clutch.stored(x.twist_clutch)

    def effective_ratio(self, x: Any, spins: gearing.Wheels) -> tuple[one, one]:
        """Overall ratio from engine to wheels in the gear for their speed, and clutch engagement.

        The engagement is from 0 (open) to 1 (closed).
        """
        spin = self.final.ratio * gearing.weighted(self.layout.weights(), spins)
        _, gear = self.shift.asked(1.0, spin, self.ratios)
        ratio = self.final.ratio * gearing.gear_ratio(gear, self.ratios)
        return ratio, self.clutch.closed(x.spin_engine, gear)

    def coasting(self, x: Any, spins: gearing.Wheels) -> Nm:
        """Torque of engine drag at the wheels, gear friction included."""
        ratio, closed = self.effective_ratio(x, spins)
        return (2.0 - self.final.efficiency) * closed * ratio * self.engine.dragging(x.spin_engine)

    def inertia(self, x: Any, spins: gearing.Wheels) -> kg_m2:
        """Inertia at the wheels: shafts, and the engine by the clutch's engagement."""
        ratio, closed = self.effective_ratio(x, spins)
        return self.final.J + closed * self.engine.crank.J * (ratio * ratio)

    def settled(self, x: Any, spins: gearing.Wheels) -> Any:
        """State with an engine at standstill set to idle, or to the speed of the wheels."""
        spin = self.final.ratio * gearing.weighted(self.layout.weights(), spins)
        gears = self.shift.settled(spin, self.ratios)
        _, gear = self.shift.asked(1.0, spin, self.ratios)
        started = maximum(spin * gearing.gear_ratio(gear, self.ratios), self.engine.crank.spin_idle)
        turning = x.spin_engine != 0.0
        fresh = {"spin_engine": started, **gears._asdict()}
        return x._replace(**{n: where(turning, getattr(x, n), v) for n, v in fresh.items()})

    def pedals(self, x: Any, T: Nm, direction: one, spins: gearing.Wheels) -> EngineInputs:
        """Throttle and gear for a total torque on all wheels."""
        spin = self.final.ratio * gearing.weighted(self.layout.weights(), spins)
        asked, gear = self.shift.asked(direction, spin, self.ratios)
        ratio = self.final.ratio * self.final.efficiency * gearing.gear_ratio(gear, self.ratios)
        throttle = self.engine.throttle(T / ratio, x.spin_engine)
        # Without a demand a car idles, so that it stops.
        return EngineInputs(where(T == 0.0, 0.0, throttle), asked)

    def peak(self) -> Nm:
        """Largest total torque on all wheels, in first gear."""
        first, full = gearing.gear_ratio(1.0, self.ratios), self.engine.full
        return self.final.ratio * self.final.efficiency * first * max(full[type(full).size :])

    def top(self) -> rad_s:
        """Spin of the wheels at the rev limit in the highest gear."""
        return self.engine.crank.spin_max / (self.final.ratio * self.ratios[-1])

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Range of each input, by name."""
        return {"throttle": (0.0, 1.0), "gear": (-1.0, self.shift.highest(self.ratios))}
