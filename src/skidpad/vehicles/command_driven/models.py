"""Command-driven models as discrete steps, and their bodies.

IDEAL_STEER models follow commands without lag; their reports always show the present command, even
in steps without an update. DELAY_STEER models lag behind their commands. Their steering angle is
integrated by forward Euler, with the rate at the start of the update, while the yaw angle is
integrated with the tyre angle as it changes. DELAY_STEER_ACC_GEARED_WO_FALL_GUARD uses forward
Euler for all states: its brake opposes the motion in every gear, and PARK cuts off the engine but
does not brake. ACTUATION_CMD models are driven by pedals; _VGR, _STEER_MAP and _MECHANICAL differ
in the steering.

The body of each model is a car with the middle of its rear axle as its body point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from ...core.body import Body, Demand, Geometry, GroundUnder, Limits, Pose, car_geometry
from ...core.model import Model, NoDisturbance
from ...ops import abs, logical_and, logical_or, maximum, where
from ...units import m, m_s, m_s2, one, rad, rad_s, s
from ..parts.actuators import (
    Gear,
    driven_acceleration,
    forbids,
    is_neutral,
    lag,
    limited,
    limited_lag,
    outside_dead_band,
    rk4,
    servo_rate,
)
from ..parts.assembly import NoTable, at_column, at_row, rolling_car
from ..parts.kinematics import rolling, yaw_rate
from ..parts.steering import gear_ratio, limited_target, steered, tyre_target, wheel_angle
from .records import (
    PROGRAM,
    AccelerationInput,
    ActuationInput,
    GearedInput,
    GearedState,
    MechanicalState,
    PedalInput,
    PedalState,
    Report,
    State,
    VelocityInput,
    guarded,
    velocity_change,
)

Update = Callable[[Any, Any, Any, s, bool], Any]
"""Function that returns the next state from state, input, parameters, dt and mode."""
FRONT_OVERHANG, REAR_OVERHANG, WIDTH = 0.37, 0.37, 0.66
"""Dimensions as shares of the wheelbase: 4.86 m by 1.84 m at a wheelbase of 2.79 m."""
TRACK = 0.58
WHEEL_RADIUS, WHEEL_WIDTH = 0.13, 0.08
HEIGHT: m = 1.7
STILL: m_s = 0.02
"""Speed below which the gear may change."""
PEDAL_DRIVE: m_s2 = 4.0
PEDAL_BRAKE: m_s2 = 6.0
"""Accelerations assumed for fully pressed pedals; the pedal maps are not inverted."""
FULL_RATE: rad = 0.1
"""Steering error from which the end of a steering map is commanded."""


def geometry(p: Any) -> Geometry:
    """Geometry in proportion to the wheelbase; the mass is estimated from the size."""
    base = p.wheel_base
    return car_geometry(
        front_axle=base,
        rear_axle=0.0,
        front=(1.0 + FRONT_OVERHANG) * base,
        rear=-REAR_OVERHANG * base,
        width=WIDTH * base,
        height=HEIGHT,
        track=TRACK * base,
        wheel_radius=WHEEL_RADIUS * base,
        wheel_width=WHEEL_WIDTH * base,
    )


def limits(p: Any) -> Limits:
    """Limits of the DELAY_STEER and ACTUATION_CMD models, which lag behind their commands."""
    return Limits(
        steer_max=p.steer_lim,
        # A steering column has a limit of its own, on another angle.
        steer_rate_max=getattr(p, "steer_rate_lim", inf),
        v_max=p.vel_lim,
        v_min=-p.vel_lim,
        a_max=p.vel_rate_lim,
        a_min=-p.vel_rate_lim,
        inputs={
            "steer": (-p.steer_lim, p.steer_lim),
            "velocity": (-p.vel_lim, p.vel_lim),
            "acceleration": (-p.vel_rate_lim, p.vel_rate_lim),
        },
    )


def _commanded(Input: Any, x: Any, demand: Demand, p: Any) -> Any:
    """Convert a demand to the input; pedals drive in the direction of the gear."""
    if Input is VelocityInput:
        return VelocityInput(demand.v, demand.steer)
    if Input is AccelerationInput:
        return AccelerationInput(demand.a, demand.steer)
    # In reverse while rolling back, or if the car stands and reverse is demanded.
    slow = logical_and(x.v_x < STILL, demand.a < 0.0)
    back = logical_or(x.v_x < -STILL, slow)
    gear = where(back, float(Gear.REVERSE), float(Gear.DRIVE))
    if Input is GearedInput:
        return GearedInput(demand.a, demand.steer, gear)
    along = where(back, -demand.a, demand.a)
    if Input is PedalInput:
        return PedalInput(along, demand.steer, gear)
    # Accelerator and brake as shares of their assumed full accelerations; without a map, as
    # accelerations.
    drive, brake = maximum(along, 0.0), maximum(-along, 0.0)
    if not isinstance(p.accel_map, NoTable):
        drive = drive * (1.0 / PEDAL_DRIVE)
    if isinstance(p.brake_map, NoTable):
        return ActuationInput(drive - brake, 0.0 * brake, demand.steer, gear)
    return ActuationInput(drive, brake * (1.0 / PEDAL_BRAKE), demand.steer, gear)


def by_steering_wheel(x: Any, steer: rad, p: Any) -> rad:
    """Steering wheel angle that demands a tyre angle, with a variable gear ratio."""
    coefficients = (p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c)
    held = wheel_angle(x.v_x, x.steer, *coefficients)
    return steer * gear_ratio(x.v_x, held, *coefficients)


def by_steering_map(x: Any, steer: rad, p: Any) -> one:
    """Row coordinate of the map of steering rates that turns the wheels towards a tyre angle."""
    rows, _ = type(p.steer_map).size
    most = p.steer_map[rows - 1]
    return limited((steer - x.steer) * (most * (1.0 / FULL_RATE)), most)


def on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
    """Apply the slope as a longitudinal acceleration, for models with an input `slope`."""
    return (u if ground.down is None else u._replace(slope=ground.g * ground.down.x)), w


def car(Input: Any, ideal: bool, steering: Callable[[Any, rad, Any], Any] | None) -> Body:
    """Return the body of a model with this input; `ideal` means without limits.

    `steering(x, steer, p)` converts a tyre angle to the steering input, if that is not a tyre
    angle.
    """

    def command(x: Any, demand: Demand, p: Any) -> Any:
        if ideal:
            return _commanded(Input, x, demand, p)
        steer = limited(demand.steer, p.steer_lim)
        u = _commanded(Input, x, demand._replace(steer=steer), p)
        return u if steering is None else u._replace(steer=steering(x, steer, p))

    def own_limits(p: Any) -> Limits:
        if ideal:
            return Limits()
        every = limits(p)
        # Limits are known only for inputs in physical units: pedals are in units of their maps, and
        # so is a steering input other than the tyre angle.
        known = () if steering is not None or Input is ActuationInput else Input._fields
        ranges = {name: ends for name, ends in every.inputs.items() if name in known}
        return replace(every, inputs=ranges)

    return rolling_car(
        wheel_base=lambda p: p.wheel_base,
        geometry=geometry,
        limits=own_limits,
        command=command,
        on_ground=on_ground if Input in (PedalInput, ActuationInput) else None,
    )


DEAD_TIMES = {
    "velocity": "vel_time_delay",
    "acceleration": "acc_time_delay",
    "accel": "accel_time_delay",
    "brake": "brake_time_delay",
    "steer": "steer_time_delay",
}
"""Dead-time parameter of each delayed input."""


def time_constant(t: s, p: Any) -> s:
    return maximum(t, p.least_time_constant)


def towards(target: rad, x: Any, p: Any) -> rad_s:
    """Steering rate towards `target`, by the measured angle at the start of the update."""
    error = x.steer + p.steer_bias - target
    return servo_rate(error, time_constant(p.steer_time_constant, p), p.steer_rate_lim)


def driven(
    x: Any,
    dt: s,
    p: Any,
    target: Callable[[m_s], m_s2],
    t: s,
    steer_rate: Callable[[State], rad_s],
) -> State:
    """State after `dt`, with the acceleration lagging behind `target` with the time constant `t`.

    `target` is a function of the velocity, `steer_rate` of all continuous states; both are
    evaluated at every stage of a Runge-Kutta step. The derivatives use velocity and acceleration
    clipped to their limits; the integrated velocity and acceleration themselves are not clipped.
    """

    def rates(at: State) -> State:
        v_x, a_x = limited(at.v_x, p.vel_lim), limited(at.a_x, p.vel_rate_lim)
        pose = rolling(at.yaw, v_x, at.steer, p.wheel_base)
        return State(*pose, a_x, steer_rate(at), lag(a_x, target(v_x), t))

    return rk4(rates, State(*x[:6]), dt)


def reported(x: Any, u: Any, p: Any) -> Report:
    """Report of a car with a steering bias, including the acceleration of a stop by the gear."""
    omega = yaw_rate(x.v_x, x.steer, p.wheel_base)
    a_x = x.a_x + x.a_stop if isinstance(x, (GearedState, MechanicalState)) else x.a_x
    return Report(x.v_x, 0.0, a_x, omega, x.steer + p.steer_bias)


class _Rolling(NamedTuple):
    x: m
    y: m
    yaw: rad
    v_x: m_s


class _Steered(NamedTuple):
    x: m
    y: m
    yaw: rad
    v_x: m_s
    steer: rad


def _rolled(x: State, a_x: m_s2, steer: rad, dt: s, p: Any) -> State:
    """State after `dt` at a constant acceleration and steering angle, which it reports."""

    def rates(at: _Rolling) -> _Rolling:
        return _Rolling(*rolling(at.yaw, at.v_x, steer, p.wheel_base), a_x)

    return State(*rk4(rates, _Rolling(x.x, x.y, x.yaw, x.v_x), dt), steer, a_x)


def ideal_velocity(x: State, u: VelocityInput, p: Any, dt: s, upstream: bool) -> State:
    """Step of IDEAL_STEER_VEL: velocity and steering angle equal the commands."""

    def rates(at: Pose) -> Pose:
        return Pose(*rolling(at.yaw, u.velocity, u.steer, p.wheel_base))

    a_x = velocity_change(x.v_x, u.velocity, dt, p, x.a_x, upstream)
    return State(*rk4(rates, Pose(x.x, x.y, x.yaw), dt), u.velocity, u.steer, a_x)


def ideal_acceleration(x: State, u: AccelerationInput, p: Any, dt: s, upstream: bool) -> State:
    """Step of IDEAL_STEER_ACC: acceleration and steering angle equal the commands."""
    return _rolled(x, u.acceleration, u.steer, dt, p)


def ideal_geared(x: State, u: GearedInput, p: Any, dt: s, upstream: bool) -> State:
    """Step of IDEAL_STEER_ACC_GEARED: as commanded, but the gear may stop the car."""
    after = _rolled(x, u.acceleration, u.steer, dt, p)
    stops = forbids(u.gear, after.v_x)
    v_x = where(stops, 0.0, after.v_x)
    return State(
        where(stops, x.x, after.x),
        where(stops, x.y, after.y),
        where(stops, x.yaw, after.yaw),
        v_x,
        u.steer,
        (v_x - x.v_x) * (1.0 / maximum(dt, p.least_dt)),
    )


def ideal_report(x: State, u: Any, p: Any) -> Report:
    """Report of an IDEAL_STEER model: its commands, except for what a gear decides."""
    v_x = u.velocity if isinstance(u, VelocityInput) else x.v_x
    a_x = u.acceleration if isinstance(u, AccelerationInput) else x.a_x
    return Report(v_x, 0.0, a_x, yaw_rate(v_x, u.steer, p.wheel_base), u.steer)


def steer_rate(x: Any, target: rad, p: Any) -> rad_s:
    """Steering rate towards `target`, by the measured angle; 0 within the dead band."""
    error = outside_dead_band(x.steer + p.steer_bias - target, p.steer_dead_band)
    return servo_rate(error, time_constant(p.steer_time_constant, p), p.steer_rate_lim)


def scaled_steer(command: rad, p: Any) -> rad:
    """Tyre angle for a steering command: limited, then scaled."""
    return limited(command, p.steer_lim) * maximum(p.debug_steer_scaling_factor, 0.0)


def scaled_acceleration(command: m_s2, p: Any) -> m_s2:
    return limited(command, p.vel_rate_lim) * maximum(p.debug_acc_scaling_factor, 0.0)


def lagging_velocity(x: State, u: VelocityInput, p: Any, dt: s, upstream: bool) -> State:
    """Step of DELAY_STEER_VEL: velocity and steering angle lag behind the commands."""
    rate = steer_rate(x, limited(u.steer, p.steer_lim), p)
    t = time_constant(p.vel_time_constant, p)

    def rates(at: _Steered) -> _Steered:
        v_x, steer = limited(at.v_x, p.vel_lim), limited(at.steer, p.steer_lim)
        a_x = limited(limited_lag(v_x, u.velocity, t, p.vel_lim), p.vel_rate_lim)
        return _Steered(*rolling(at.yaw, v_x, steer, p.wheel_base), a_x, rate)

    after = rk4(rates, _Steered(x.x, x.y, x.yaw, x.v_x, x.steer), dt)
    return State(*after, velocity_change(x.v_x, after.v_x, dt, p, x.a_x, upstream))


def lagging_acceleration(x: State, u: AccelerationInput, p: Any, dt: s, upstream: bool) -> State:
    """Step of DELAY_STEER_ACC: acceleration and steering angle lag behind the commands."""
    return State(*_driven(x, u, p, dt))


def lagging_geared(x: GearedState, u: GearedInput, p: Any, dt: s, upstream: bool) -> GearedState:
    """Step of DELAY_STEER_ACC_GEARED: lags behind the commands, moves only as the gear allows."""
    return guarded(x, GearedState(*_driven(x, u, p, dt)), u.gear, dt, p, upstream)


def _driven(x: Any, u: Any, p: Any, dt: s) -> tuple[Any, ...]:
    """Continuous states after `dt`; velocity is limited, acceleration is not."""
    target = scaled_acceleration(u.acceleration, p)
    rate = steer_rate(x, scaled_steer(u.steer, p), p)
    t = time_constant(p.acc_time_constant, p)
    after = driven(x, dt, p, lambda v_x: target, t, lambda at: rate)
    return after._replace(v_x=limited(after.v_x, p.vel_lim))


def lagging_map(x: GearedState, u: GearedInput, p: Any, dt: s, upstream: bool) -> GearedState:
    """Step of DELAY_STEER_MAP_ACC_GEARED: `lagging_geared` with a map instead of the scaling
    factors, and without a dead band."""
    command = limited(u.acceleration, p.vel_rate_lim)
    rate = towards(limited(u.steer, p.steer_lim), x, p)
    t = time_constant(p.acc_time_constant, p)
    if isinstance(p.acceleration_map, NoTable):
        after = driven(x, dt, p, lambda v_x: command, t, lambda at: rate)
    else:
        curve = at_row(command, p.acceleration_map)
        after = driven(x, dt, p, lambda v_x: at_column(v_x, curve), t, lambda at: rate)
    after = after._replace(v_x=limited(after.v_x, p.vel_lim))
    return guarded(x, GearedState(*after), u.gear, dt, p, upstream)


def acceleration(pedal: m_s2, v_x: m_s, gear: one, slope: m_s2) -> m_s2:
    """Longitudinal acceleration from pedal, gear and slope."""
    engine = where(is_neutral(gear), slope, driven_acceleration(pedal, gear, slope))
    brake = where(v_x > 0.0, pedal + slope, slope - pedal)
    standing = where(-pedal >= abs(slope), 0.0, slope)
    braked = where(v_x == 0.0, standing, brake)
    return where(pedal >= 0.0, engine, braked)


def without_fall_guard(x: PedalState, u: PedalInput, p: Any, dt: s, upstream: bool) -> PedalState:
    """Step of DELAY_STEER_ACC_GEARED_WO_FALL_GUARD; on a slope only the brake holds the car."""
    v_x, pedal = limited(x.v_x, p.vel_lim), limited(x.pedal, p.vel_rate_lim)
    pose = rolling(x.yaw, v_x, x.steer, p.wheel_base)
    target = scaled_acceleration(u.acceleration, p)
    next_pedal = x.pedal + dt * lag(pedal, target, time_constant(p.acc_time_constant, p))
    next_v = limited(x.v_x + dt * acceleration(pedal, v_x, u.gear, u.slope), p.vel_lim)
    holds = logical_and(x.v_x * next_v <= 0.0, -next_pedal >= abs(u.slope))
    next_v = where(holds, 0.0, next_v)
    return x._replace(
        x=x.x + dt * pose.x,
        y=x.y + dt * pose.y,
        yaw=x.yaw + dt * pose.yaw,
        v_x=next_v,
        steer=x.steer + dt * steer_rate(x, scaled_steer(u.steer, p), p),
        a_x=velocity_change(x.v_x, next_v, dt, p, x.a_x, upstream),
        pedal=next_pedal,
    )


SteerRate = Callable[[State], rad_s]
"""Steering rate as a function of the continuous states."""


def pedal_acceleration(u: ActuationInput, p: Any) -> Callable[[m_s], m_s2]:
    """Acceleration that the pedals demand, as a function of velocity; the accelerator has priority.

    If the pressed pedal has no map, the accelerator input is the acceleration itself.
    """

    def looked_up(
        pedal: Any, table: Any, otherwise: Callable[[m_s], m_s2]
    ) -> Callable[[m_s], m_s2]:
        if isinstance(table, NoTable):
            return otherwise
        curve = at_row(pedal, table)
        return lambda v_x: where(pedal > 0.0, at_column(v_x, curve), otherwise(v_x))

    by_brake = looked_up(u.brake, p.brake_map, lambda v_x: u.accel)
    return looked_up(u.accel, p.accel_map, by_brake)


def _actuation_driven(x: Any, u: ActuationInput, p: Any, dt: s, steer_rate: SteerRate) -> State:
    demand = pedal_acceleration(u, p)

    def target(v_x: m_s) -> m_s2:
        return driven_acceleration(limited(demand(v_x), p.vel_rate_lim), u.gear, u.slope)

    accel, brake = (time_constant(t, p) for t in (p.accel_time_constant, p.brake_time_constant))
    return driven(x, dt, p, target, where(u.accel > 0.0, accel, brake), steer_rate)


def _limited(after: State, p: Any) -> State:
    return after._replace(
        v_x=limited(after.v_x, p.vel_lim), steer=limited(after.steer, p.steer_lim)
    )


def plain(x: Any, u: ActuationInput, p: Any, upstream: bool) -> SteerRate:
    """Steering rate for a command that is a tyre angle."""
    rate = towards(u.steer, x, p)
    return lambda at: rate


def geared_wheel(x: Any, u: ActuationInput, p: Any, upstream: bool) -> SteerRate:
    """Steering rate for a command that is a steering wheel angle, with a variable gear ratio."""

    def rate(at: State) -> rad_s:
        target = tyre_target(at.v_x, at.steer, u.steer, p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c)
        return towards(target, x, p)

    return rate


def mapped(x: Any, u: ActuationInput, p: Any, upstream: bool) -> SteerRate:
    """Steering rate for a command that is a steering map coordinate, without feedback."""
    curve = at_row(u.steer, p.steer_map)
    by_t = 1.0 / time_constant(p.steer_time_constant, p)

    def rate(at: State) -> rad_s:
        column = at.v_x if upstream else at.steer  # as upstream looks it up
        return limited(at_column(column, curve) * by_t, p.steer_rate_lim)

    return rate


def _servo(steering: Callable[[Any, ActuationInput, Any, bool], SteerRate]) -> Update:
    """Return the step of a pedal-driven model with this steering rate."""

    def update(x: GearedState, u: ActuationInput, p: Any, dt: s, upstream: bool) -> GearedState:
        after = _limited(_actuation_driven(x, u, p, dt, steering(x, u, p, upstream)), p)
        return guarded(x, GearedState(*after), u.gear, dt, p, upstream)

    return update


def mechanical(
    x: MechanicalState, u: ActuationInput, p: Any, dt: s, upstream: bool
) -> MechanicalState:
    """Step of ACTUATION_CMD_MECHANICAL: the car moves first, then the steering column."""
    after = _actuation_driven(x, u, p, dt, lambda at: 0.0)
    demand = tyre_target(after.v_x, x.steer, u.steer, p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c)
    params = p.mechanical_params
    target = limited_target(demand, x.steer_target, dt, params)
    speed = abs(after.v_x)
    steer, column = steered(x.steer, target, speed, x.column, dt, params, queued=upstream)
    after = _limited(after._replace(steer=steer), p)
    state = MechanicalState(*after)._replace(steer_target=demand, column=column)
    return guarded(x, state, u.gear, dt, p, upstream)


class Kind(NamedTuple):
    """Functions and records of a model, without its parameters."""

    summary: str
    Input: Any
    update: Update
    State: Any = State
    outputs: Callable[[Any, Any, Any], Report] = reported
    ideal: bool = False
    """Whether commands act at once, without dead times and limits."""
    steering: Callable[[Any, rad, Any], Any] | None = None
    """Converts a tyre angle to the steering input, if that is not a tyre angle."""
    keeps: tuple[str, ...] = ()
    """Fields of the state that upstream does not reset."""
    mirror_odd: Mapping[str, bool] = MappingProxyType({})


KINDS = {
    "IDEAL_STEER_VEL": Kind(
        "Rolls with the commanded velocity and steering angle",
        VelocityInput, ideal_velocity, outputs=ideal_report, ideal=True, keeps=("v_x", "a_x"),
    ),
    "IDEAL_STEER_ACC": Kind(
        "Rolls with the commanded acceleration and steering angle",
        AccelerationInput, ideal_acceleration, outputs=ideal_report, ideal=True,
    ),
    "IDEAL_STEER_ACC_GEARED": Kind(
        "Rolls with the commanded acceleration and steering angle as the gear allows",
        GearedInput, ideal_geared, outputs=ideal_report, ideal=True, keeps=("a_x",),
    ),
    "DELAY_STEER_VEL": Kind(
        "Velocity and steering angle lag behind the commands",
        VelocityInput, lagging_velocity, keeps=("a_x",),
    ),
    "DELAY_STEER_ACC": Kind(
        "Acceleration and steering angle lag behind the commands",
        AccelerationInput, lagging_acceleration,
    ),
    "DELAY_STEER_ACC_GEARED": Kind(
        "Acceleration and steering angle lag behind the commands; moves as the gear allows",
        GearedInput, lagging_geared, GearedState,
    ),
    "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD": Kind(
        "Pedal and steering angle lag behind the commands; the car may roll back",
        PedalInput, without_fall_guard, PedalState,
    ),
    "DELAY_STEER_MAP_ACC_GEARED": Kind(
        "Acceleration lags behind what a map of command and velocity says",
        GearedInput, lagging_map, GearedState,
    ),
    "ACTUATION_CMD": Kind(
        "Pedals through maps; the steering command is a tyre angle",
        ActuationInput, _servo(plain), GearedState,
    ),
    "ACTUATION_CMD_VGR": Kind(
        "Pedals through maps; the steering command is a wheel angle, its gear ratio varies",
        ActuationInput, _servo(geared_wheel), GearedState, steering=by_steering_wheel,
    ),
    "ACTUATION_CMD_STEER_MAP": Kind(
        "Pedals through maps; steering rate through a map",
        ActuationInput, _servo(mapped), GearedState, steering=by_steering_map,
    ),
    "ACTUATION_CMD_MECHANICAL": Kind(
        "Pedals through maps; the steering command turns a column with inertia and friction",
        ActuationInput, mechanical, MechanicalState, steering=by_steering_wheel,
        keeps=("steer_target",), mirror_odd=dict.fromkeys(("column.rate", "column.integral",
        "column.error"), True),
    ),
}  # fmt: skip
"""Available models, by upstream's names."""


def command_model(name: str, Params: type, upstream: bool) -> Model:
    """Build the command-driven model `name` of `KINDS` with these parameters."""
    kind = KINDS[name]

    def update(x: Any, u: Any, w: NoDisturbance, p: Any, dt: s) -> Any:
        return kind.update(x, u, p, dt, upstream)

    def outputs(x: Any, u: Any, w: NoDisturbance, p: Any) -> Report:
        return kind.outputs(x, u, p)

    names = () if kind.ideal else kind.Input._fields
    delayed = {n: DEAD_TIMES[n] for n in names if n in DEAD_TIMES}
    kept = kind.keeps if kind.ideal else (*kind.keeps, "pending")
    return Model(
        name=name,
        summary=kind.summary,
        State=kind.State,
        Params=Params,
        Input=kind.Input,
        Outputs=Report,
        update=update,
        outputs=outputs,
        body=car(kind.Input, kind.ideal, kind.steering),
        dead_times=delayed,
        dead_time_rule="nearest" if upstream and delayed else "at_least",
        reset_keeps=kept if upstream else (),
        reproduces=PROGRAM if upstream else "",
        mirror_odd=kind.mirror_odd,
    )
