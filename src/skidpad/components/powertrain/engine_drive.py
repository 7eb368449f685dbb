"""A powertrain of one engine: clutch, gearbox, final drive, differentials."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, get_type_hints

from ... import record
from ...brief import brief_repr
from ...ops import maximum, where
from ...recipes import made_once
from ...record import extended
from ...units import Allowed, J, Nm, kg_m2, one, rad, rad_s
from ..assembly import widened
from .clutch import Clutch
from .contract import Drive, PowerOutputs, Reflected, Wheels, weighted
from .engine import Engine, EngineStates
from .gearing import MOST_GEARS, AutomaticShift, FinalDrive, gear_ratio, gear_ratios
from .layout import RearWheelDrive

__all__ = ["EngineDrive", "EngineInputs"]


class EngineInputs(NamedTuple):
    """How a car with an engine is driven."""

    throttle: Annotated[one, Allowed(0.0, 1.0)] = 0.0
    """Share of full load."""
    gear: Annotated[one, Allowed(-1.0, MOST_GEARS, whole=True)] = 1.0
    """The gear, -1 for reverse and 0 for neutral; of an automatic gearbox -1, 0 or 1."""


@made_once
def inputs_up_to(highest: float) -> Any:
    """The inputs of a car whose highest gear this is."""
    hints = get_type_hints(EngineInputs, include_extras=True)
    hints["gear"] = Annotated[one, Allowed(-1.0, highest, whole=True)]
    docs = {leaf.name: leaf.doc for leaf in record.fields(EngineInputs)}
    return record.define(
        "EngineInputs", hints, EngineInputs._field_defaults, docs, EngineInputs.__doc__ or ""
    )


@extended
class EngineDriveStates(EngineStates):
    """Those of the engine, and the twist behind it."""

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
        """Those of engine and clutch, and of the gearbox."""
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

    def felt_ratio(self, x: Any, spins: Wheels) -> tuple[one, one]:
        """Ratio from the engine to the wheels for their speed, and how far the clutch is closed."""
        spin = self.final.ratio * weighted(self.layout.weights(), spins)
        _, gear = self.shift.asked(1.0, spin, self.ratios)
        ratio = self.final.ratio * gear_ratio(gear, self.ratios)
        return ratio, self.clutch.closed(x.spin_engine, gear)

    def coasting(self, x: Any, spins: Wheels) -> Nm:
        """Drag of the engine, with the friction of the gears."""
        ratio, closed = self.felt_ratio(x, spins)
        return (2.0 - self.final.efficiency) * closed * ratio * self.engine.dragging(x.spin_engine)

    def inertia(self, x: Any, spins: Wheels) -> kg_m2:
        """Shafts and, as far as the clutch is closed, the engine in the gear of the speed."""
        ratio, closed = self.felt_ratio(x, spins)
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
        # A car that is asked for nothing idles, so that it comes to rest.
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
