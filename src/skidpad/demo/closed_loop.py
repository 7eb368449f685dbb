"""Car and driver as one vehicle, so that a fleet compiles them together.

At the start of a step the driver looks at the car and decides (`hold`); the decision then stays for
the step, as in a simulation with the driver outside. What the driver remembers is part of the
state: it moves at the constant rate that takes it from its old to its new value in one step.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from .. import record
from ..model import Model, Vehicle
from ..units import positive, s
from ..vehicles import car_state
from ..vehicles.formula_student import Params as CarParams
from ..vehicles.formula_student import derivative as car_derivative
from . import driver


class State(NamedTuple):
    """The car and what its driver remembers."""

    car: car_state.State = car_state.State()
    driver: driver.Memory = driver.Memory()


class Input(NamedTuple):
    """Nothing is left to command."""


class Params(NamedTuple):
    """The car, its driver and how often the driver acts."""

    car: CarParams
    driver: driver.Params
    period: Annotated[s, positive] = 0.01
    """Time between two decisions: the step of the simulation."""


class Held(NamedTuple):
    """A decision of the driver, valid for one step."""

    targets: car_state.Input
    memory_rate: driver.Memory
    """Rates of what the driver remembers, each in its unit per second."""


def hold(x: State, u: Input, w: car_state.External, p: Params) -> Held:
    """The decision of the driver at the start of a step."""
    targets, memory = driver.drive(p.driver, x.driver, x.car, p.period)
    before, after = record.flatten(x.driver), record.flatten(memory)
    rates = [(b - a) / p.period for a, b in zip(before, after, strict=True)]
    return Held(targets, record.unflatten(driver.Memory, rates))


def derivative(x: State, u: Held, w: car_state.External, p: Params) -> State:
    """Time derivative of the state under a decision."""
    return State(car_derivative(x.car, u.targets, w, p.car), u.memory_rate)


MODEL = Model(
    name="driven_formula_student",
    State=State,
    Input=Input,
    Params=Params,
    Disturbance=car_state.External,
    derivative=derivative,
    hold=hold,
    summary="The Formula Student car with the driver of the demo",
)


def driven(car: Vehicle, p: driver.Params, period: s) -> Vehicle:
    """A Formula Student car with a driver who acts once per `period`: the step to simulate with."""
    return Vehicle(MODEL, Params(car.params, p, period))
