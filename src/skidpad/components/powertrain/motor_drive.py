"""A powertrain of one electric motor: battery, motor, a fixed gear, differentials."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ...brief import brief_repr
from ...ops import clip
from ...units import Allowed, J, Nm, kg_m2, one, rad_s
from ..assembly import widened
from .battery import Battery
from .contract import Drive, PowerOutputs, Reflected, Wheels, weighted
from .electric_motor import ElectricMotor, MotorStates
from .gearing import FinalDrive
from .layout import RearWheelDrive

__all__ = ["MotorDrive", "MotorInputs"]


class MotorInputs(NamedTuple):
    """How an electric car is driven."""

    throttle: Annotated[one, Allowed(-1.0, 1.0)] = 0.0
    """Share of the largest torque; below 0, of regenerative braking."""
    gear: Annotated[one, Allowed(-1.0, 1.0, whole=True)] = 1.0
    """1 drives forward, -1 backward, 0 not at all; regenerative braking works in each."""


class MotorDrive(NamedTuple):
    """One electric motor that drives two or four wheels."""

    motor: Any = ElectricMotor()
    """See `ElectricMotor`."""
    battery: Any = Battery()
    """`Battery` or `Supply`."""
    final: FinalDrive = FinalDrive()
    """All gears together."""
    layout: Any = RearWheelDrive()
    """`RearWheelDrive`, `FrontWheelDrive` or `AllWheelDrive`."""

    __repr__ = brief_repr

    Inputs = MotorInputs

    @property
    def Outputs(self) -> Any:
        """Powers, and what is measured at the battery."""
        return widened(PowerOutputs, type(self.battery).Outputs)

    @property
    def States(self) -> Any:
        """Torques of the motor, and what the battery has."""
        return widened(MotorStates, type(self.battery).States)

    def reflected(self) -> Reflected:
        """Rotor and gears, at the speed of the differential."""
        inertia: kg_m2 = self.motor.rotor.J * (self.final.ratio * self.final.ratio) + self.final.J
        return Reflected(inertia, self.layout.weights())

    def drive(self, x: Any, u: Any, spins: Wheels) -> Drive:
        """Torques, rates and powers."""
        motor, battery, final = self.motor, self.battery, self.final
        shaft = weighted(self.layout.weights(), spins)
        spin = final.ratio * shaft
        tau = motor.torque(x, spin, battery.limits(x))
        carried = final.ratio * tau
        T = final.output(carried, shaft)
        heat = motor.lost(tau, spin)
        flow = battery.flow(x, tau * spin + heat)
        rates = motor.rates(x, u.throttle, clip(u.gear, -1.0, 1.0))
        torques = self.layout.split(T, spins)
        lost = heat + flow.lost + final.lost(carried, shaft) + self.layout.lost(T, spins)
        powers = PowerOutputs(spin, tau, flow.source, weighted(torques, spins), lost, 0.0 * lost)
        named = {**rates._asdict(), **flow.rates._asdict()}
        shown = self.Outputs(*powers, *flow.shown)
        return Drive(torques, self.reflected(), self.States(**named), shown)

    def rotating(self, x: Any, spins: Wheels) -> J:
        """Kinetic energy of rotor and gears."""
        inertia, weights = self.reflected()
        shaft = weighted(weights, spins)
        return 0.5 * inertia * (shaft * shaft)

    def coasting(self, x: Any, spins: Wheels) -> Nm:
        """A released pedal does not slow it."""
        return 0.0

    def inertia(self, x: Any, spins: Wheels) -> kg_m2:
        """Rotor and gears, at the speed of the wheels."""
        return self.reflected().J

    def settled(self, x: Any, spins: Wheels) -> Any:
        """Nothing depends on anything."""
        return x

    def pedals(self, x: Any, T: Nm, direction: one, spins: Wheels) -> MotorInputs:
        """Throttle and direction for a torque on all wheels together."""
        largest = self.final.ratio * self.final.efficiency * self.motor.peak()
        return MotorInputs(clip(direction * T / largest, 0.0, 1.0), direction)

    def peak(self) -> Nm:
        """Largest torque on all wheels together."""
        return self.final.ratio * self.final.efficiency * self.motor.peak()

    def top(self) -> rad_s:
        """Spin of the wheels at which the motor stops to drive."""
        return self.motor.speed.spin_max * (1.0 / self.final.ratio)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the inputs."""
        return {"throttle": (-1.0, 1.0), "gear": (-1.0, 1.0)}
