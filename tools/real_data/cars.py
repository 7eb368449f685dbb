"""Small cars driven by the numbers that their recordings contain: commands from -1 to 1.

`with_servo_and_motor` wraps a car of skidpad. Its inputs are a command to the steering servo and
one to the motor; the curve of the servo and the characteristic of the motor are parameters like any
others, and can be fitted with those of the car.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import skidpad as sp
from skidpad import units as si
from skidpad.core.body import Demand, Limits
from skidpad.ops import clip, tanh, where
from skidpad.tyres.contract import Carcass
from skidpad.tyres.simple import LinearTyre, LoadSensitiveLaw, LoadSensitiveTyre
from skidpad.vehicles.parts import SteadySlip
from skidpad.vehicles.parts.assembly import redefined

N_s_m = Annotated[float, si.Unit("N·s/m", time=1)]
G = 9.81


class Command(NamedTuple):
    """Commands to the steering servo and the motor."""

    steer: si.one = 0.0
    """Command to the servo, -1 to 1, positive to the left."""
    throttle: si.one = 0.0
    """Command to the motor, 0 to 1."""


class Servo(NamedTuple):
    """Wheel angle over command: a hyperbolic tangent on each side."""

    gain: Annotated[si.rad, si.positive] = 0.56
    """Slope of the angle at command 0, in rad per unit of the command."""
    left: Annotated[si.rad, si.positive] = 0.32
    """Largest angle to the left."""
    right: Annotated[si.rad, si.positive] = 0.39
    """Largest angle to the right."""
    trim: si.rad = 0.01
    """Angle at command 0."""

    def angle(self, u: si.one) -> si.rad:
        stop = where(u > 0.0, self.left, self.right)
        return self.trim + stop * tanh(self.gain * u / stop)


class Motor(NamedTuple):
    """Force of a direct-current motor over command and speed, less the resistance of the drive."""

    F_0: Annotated[si.N, si.positive] = 20.0
    """Force at standstill per unit of the command above the dead band."""
    slope: Annotated[N_s_m, si.non_negative] = 8.0
    """Loss of this force per speed."""
    dead: Annotated[si.one, si.non_negative] = 0.05
    """Command up to which the motor makes no force."""
    friction: Annotated[si.N, si.non_negative] = 0.2
    """Dry friction of the drive."""
    v_friction: Annotated[si.m_s, si.positive] = 0.5
    """Speed above which the friction has nearly its full size."""
    viscous: Annotated[N_s_m, si.non_negative] = 0.2
    """Resistance per speed."""

    def force(self, u: si.one, v_x: si.m_s) -> si.N:
        push = (self.F_0 - self.slope * v_x) * where(u > self.dead, u - self.dead, 0.0)
        return push - self.friction * tanh(v_x / self.v_friction) - self.viscous * v_x


def with_servo_and_motor(
    car: sp.Vehicle, servo: Servo, motor: Motor, own_input: Callable[[Any, Any, Any], Any]
) -> sp.Vehicle:
    """The car with commands to servo and motor as inputs, and the parameters of both.

    `own_input(steer, force, p)` is the car's own input for a wheel angle in rad and a force in N.
    """
    model, base = car.model, car.model.body
    assert model.derivative is not None
    assert base is not None
    derivative = model.derivative
    added = {"servo": servo, "motor": motor, "t_dead": 0.05}
    kinds = {"servo": Servo, "motor": Motor, "t_dead": Annotated[si.s, si.non_negative]}
    Params = redefined(type(car.params), kinds, {**car.params._asdict(), **added})

    def input_of(x: Any, u: Any, p: Any) -> Any:
        return own_input(p.servo.angle(u.steer), p.motor.force(u.throttle, x.v_x), p)

    def command(x: Any, demand: Demand, p: Any) -> Command:
        """Commands for a demand; only to hold a speed, the servo taken as linear."""
        resistance = -p.motor.force(0.0, x.v_x)
        push = p.motor.F_0 - p.motor.slope * x.v_x
        throttle = p.motor.dead + (p.m * demand.a + resistance) / push
        return Command((demand.steer - p.servo.trim) / p.servo.gain, clip(throttle, 0.0, 1.0))

    def limits(p: Any) -> Limits:
        own = base.limits(p)
        return replace(own, inputs={"steer": (-1.0, 1.0), "throttle": (0.0, 1.0)})

    whole = replace(
        model,
        name=f"{model.name} with servo and motor",
        Input=Command,
        Params=Params,
        derivative=lambda x, u, w, p: derivative(x, input_of(x, u, p), w, p),
        outputs=lambda x, u, w, p: model.outputs(x, input_of(x, u, p), w, p),
        hold=None,
        energy=None,
        body=replace(base, command=command, limits=limits),
        dead_times={"steer": "t_dead"},
    )
    return sp.VehicleFactory(whole)(Params())


class Size(NamedTuple):
    """Mass and dimensions of a car on its wheels."""

    m: si.kg
    I_z: si.kg_m2
    l_f: si.m
    l_r: si.m
    z_cg: si.m
    track: si.m
    radius: si.m
    """Radius of the wheels."""

    @property
    def load(self) -> si.N:
        """Mean load of a wheel."""
        return 0.25 * self.m * G

    def carcass(self) -> Carcass:
        return Carcass(
            radius=self.radius,
            C_z=self.load / (0.03 * self.radius),
            sigma_x=self.radius,
            sigma_y=self.radius,
            rolling=1e-4,
            v_rolling=0.05,
        )


DART = Size(m=1.580, I_z=0.0065, l_f=0.0805, l_r=0.0930, z_cg=0.045, track=0.115, radius=0.033)
"""Mass, its distribution and the wheelbase are published, the others are estimates."""


F1TENTH = Size(m=3.74, I_z=0.0471, l_f=0.1587, l_r=0.1715, z_cg=0.074, track=0.25, radius=0.05)
"""Values that the simulators of F1TENTH use."""


def tyre(size: Size, mu: float = 0.8, stiffness: float = 9.0) -> LoadSensitiveTyre:
    """Magic Formula tyre with a cornering stiffness of `stiffness` times the mean load per rad."""
    # K is the largest stiffness, at the load F_K; far above the loads here, it is linear.
    F_K = 4.0 * size.load
    K = stiffness * 0.5 * F_K * (1.0 + 1.0 / 16.0)
    law = LoadSensitiveLaw(mu=mu, mu_fall=0.0, K=K, F_K=F_K, C=1.1, E=0.0)
    return LoadSensitiveTyre(
        law, law._replace(K=1.5 * K), size.load, 0.1 * size.radius, size.carcass()
    )


def single_track(size: Size, **more: Any) -> sp.Vehicle:
    """Bicycle on Magic Formula tyres, scaled down to a small car."""
    values: dict[str, Any] = {"front": tyre(size), "rear": tyre(size)} | more
    return sp.vehicles.single_track(
        **{key: getattr(size, key) for key in ("m", "I_z", "l_f", "l_r", "z_cg")},
        I_w=1e-5,
        F_lift=0.02 * size.load,
        C_drag=0.0,
        drive_front=0.5,
        brake_front=0.5,
        v_brake=0.05,
        t_load=0.02,
        t_drive=0.05,
        t_steer=0.05,
        steer_max=0.5,
        steer_rate_max=20.0,
        length=2.0 * (size.l_f + size.l_r),
        width=1.3 * size.track,
        height=0.1,
        slip=SteadySlip(v_low=0.2),
        **values,
    )


def linear_bicycle(size: Size) -> sp.Vehicle:
    """Bicycle on tyres that do not saturate."""
    soft = LinearTyre(
        C_x=15.0, C_y=9.0, mu_x=20.0, mu_y=20.0, trail=0.1 * size.radius, carcass=size.carcass()
    )
    return single_track(size, front=soft, rear=soft)


def two_track(size: Size) -> sp.Vehicle:
    """Car on four wheels that spin and load the tyres by acceleration."""
    return sp.vehicles.two_track(
        **{key: getattr(size, key) for key in ("m", "I_z", "l_f", "l_r", "z_cg")},
        front=tyre(size),
        rear=tyre(size),
        track_f=size.track,
        track_r=size.track,
        I_w=2e-5,
        F_lift=0.02 * size.load,
        C_drag=0.0,
        drive_front=0.5,
        brake_front=0.5,
        t_load=0.02,
        t_tau=0.05,
        t_steer=0.05,
        steer_max=0.5,
        steer_rate_max=20.0,
        length=2.0 * (size.l_f + size.l_r),
        width=1.3 * size.track,
        height=0.1,
        slip=SteadySlip(v_low=0.2),
    )


def kinematic(size: Size) -> sp.Vehicle:
    """Car whose wheels do not slip."""
    return sp.vehicles.kinematic_bicycle(
        **{key: getattr(size, key) for key in ("m", "I_z", "l_f", "l_r", "track")},
        C_m0=1.0,
        C_r0=0.0,
        C_r1=0.0,
        C_r2=0.0,
        v_0=0.05,
        t_tau=0.05,
        t_steer=0.05,
        tau_max=100.0,
        steer_max=0.5,
        steer_rate_max=20.0,
    )


def by_force(car: sp.Vehicle) -> Callable[[Any, Any, Any], Any]:
    """Input of a bicycle for a wheel angle and a force."""
    return lambda steer, force, p: car.Input(steer, force)


def by_torques(car: sp.Vehicle, radius: float) -> Callable[[Any, Any, Any], Any]:
    """Input of a car with four torques for a wheel angle and a force."""

    def own_input(steer: Any, force: Any, p: Any) -> Any:
        torque = 0.25 * radius * force
        return car.Input(steer=steer, tau_fl=torque, tau_fr=torque, tau_rl=torque, tau_rr=torque)

    return own_input


def dart_cars() -> dict[str, sp.Vehicle]:
    """DART with its commands, from the simplest to the most detailed car."""
    servo, motor = Servo(), Motor()
    cars = {
        "kinematic_bicycle": kinematic(DART),
        "single_track, linear tyres": linear_bicycle(DART),
        "single_track": single_track(DART),
        "two_track": two_track(DART),
    }
    four = {"kinematic_bicycle": 1.0, "two_track": DART.radius}
    return {
        name: with_servo_and_motor(
            car, servo, motor, by_torques(car, four[name]) if name in four else by_force(car)
        )
        for name, car in cars.items()
    }


def f1tenth_cars() -> dict[str, sp.Vehicle]:
    """The F1TENTH car, whose servo follows an angle at a limited rate."""
    cars = {
        "kinematic_bicycle": kinematic(F1TENTH),
        "single_track, linear tyres": linear_bicycle(F1TENTH),
        "single_track": single_track(F1TENTH),
        "two_track": two_track(F1TENTH),
    }
    servo = {"steer_rate_max": 3.0, "t_steer": 0.04}
    return {name: car.with_params(servo) for name, car in cars.items()}
