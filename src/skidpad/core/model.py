"""The contract of a vehicle model: records, pure functions over them, and parameters.

A `Model` is continuous (`derivative`) or discrete (`update`); everything that runs it depends only
on this contract and on no particular vehicle:

1. `State`, `Input`, `Params`, `Disturbance`, `Outputs` are NamedTuple records of scalars.
2. `derivative(x, u, w, p)` returns a `State` of time derivatives; `update(x, u, w, p, dt)` returns
   the next `State`. Exactly one of the two is given.
3. `outputs(x, u, w, p)` returns an `Outputs` record; it never influences the motion.
4. `hold(x, u, w, p)`, if given, is evaluated once at the start of a step; its result replaces `u`
   in `derivative` or `update` and in `outputs` and stays constant over the step. Command limiters
   that sample the state and hard model switches belong there, so that Runge-Kutta stages agree.
5. `settle(x, p)`, if given, returns the state with dependent fields made consistent; `reset` uses
   it.
6. The functions are pure: built from `skidpad.ops` and arithmetic, no memory, no `if` on a value.

Classes of a vehicle are generic over its records, in the order State, Input, Params, Outputs,
Disturbance: a `Simulator[State, Input]` steps to a `State`. Records left out may be of any type.

The module also has the results of linearising a vehicle (`Discrete`, `Continuous`, ...), and
`arguments`, which determines the argument names that a user's function takes.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self

from ..errors import InvalidValue, TraceError
from ..units import m_s
from . import record
from .arrays import AnyArray
from .body import Body, Geometry, Limits, Outline, body_of
from .checks import instance_of, not_negative, one_of
from .plausibility import accept, warn_if_implausible

__all__ = ["NoDisturbance"]


class Discrete(NamedTuple):
    """State after one step of a vehicle, and its derivatives with respect to state and input."""

    x_next: AnyArray
    """State after the step, (nx,)."""
    A: AnyArray
    """Derivative of `x_next` with respect to the state, (nx, nx)."""
    B: AnyArray
    """Derivative of `x_next` with respect to the input, (nx, nu)."""


class Continuous(NamedTuple):
    """Time derivative of a vehicle's state, and its derivatives with respect to state and input."""

    rate: AnyArray
    """Time derivative of the state, (nx,)."""
    A: AnyArray
    """Derivative of `rate` with respect to the state, (nx, nx)."""
    B: AnyArray
    """Derivative of `rate` with respect to the input, (nx, nu)."""


class NormalisedAcceleration(NamedTuple):
    """Accelerations relative to their limits: ±1 is the limit."""

    along: float
    """Longitudinal acceleration, positive forward."""
    across: float
    """Lateral acceleration, positive to the left."""


class LinearAcceleration(NamedTuple):
    """Accelerations relative to their limits, and their derivatives with respect to state and
    input."""

    along: float
    """Longitudinal acceleration, positive forward."""
    across: float
    """Lateral acceleration, positive to the left."""
    along_x: AnyArray
    """Derivative of `along` with respect to the state, (nx,)."""
    along_u: AnyArray
    """Derivative of `along` with respect to the input, (nu,)."""
    across_x: AnyArray
    """Derivative of `across` with respect to the state, (nx,)."""
    across_u: AnyArray
    """Derivative of `across` with respect to the input, (nu,)."""


record.document_all()

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Constant:
    """Base of immutable values: a copy is the value itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def pickled_fields(what: str, value: Any, instead: str) -> dict[str, Any]:
    """Return the fields of a value for `pickle`; the error names a field that cannot be pickled."""
    for name, part in vars(value).items():
        try:
            pickle.dumps(part)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(
                f"{what} cannot be pickled, because its {name} is not at the top of a module "
                f"where another process could import it: {part!r}. Define it there, or {instead}"
            ) from error
    return vars(value)


def arguments(what: str, function: Any, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the arguments of a function; raises for names that are not in `allowed`. Error
    messages begin with `what`."""
    if not callable(function):
        raise InvalidValue(f"{what} must be a function, got {function!r}")
    names: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in _BY_NAME:
            # Further arguments with a default belong to the function, such as a target bound in a
            # loop.
            if parameter.name in allowed or parameter.default is parameter.empty:
                names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise InvalidValue(
                f"{what} takes {parameter}, but its arguments are given by name; "
                f"allowed are {', '.join(allowed)}"
            )
    return tuple(names)


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    X = TypeVar("X", bound=NamedTuple, default=Any)
    U = TypeVar("U", bound=NamedTuple, default=Any)
    P = TypeVar("P", bound=NamedTuple, default=Any)
    Y = TypeVar("Y", bound=NamedTuple, default=Any)
    W = TypeVar("W", bound=NamedTuple, default=Any)
else:  # a TypeVar has a default from Python 3.13 on
    from typing import TypeVar

    X, U, P, Y, W = map(TypeVar, "XUPYW")


class NoDisturbance(NamedTuple):
    """The empty disturbance record of a model without disturbances."""


class NoOutputs(NamedTuple):
    """The empty output record of a model without outputs."""


# Typed as Any, so that a type checker accepts any record where a model names none.
_NO_DISTURBANCE: Any = NoDisturbance
_NO_OUTPUTS: Any = NoOutputs


def _no_outputs(x: Any, u: Any, w: Any, p: Any) -> NoOutputs:
    return NoOutputs()


_ARGUMENTS = {
    "derivative": ("x", "u", "w", "p"),
    "update": ("x", "u", "w", "p", "dt"),
    "outputs": ("x", "u", "w", "p"),
    "hold": ("x", "u", "w", "p"),
    "settle": ("x", "p"),
    "energy": ("x", "p"),
    "check": ("p",),
}
"""Argument names of the functions of a model, in order."""
MOST_SHOWN = 6
"""Largest number of non-default parameters that the text of a vehicle shows."""


@dataclass(frozen=True, repr=False)
class Model(Constant, Generic[X, U, P, Y, W]):
    """The equations of a vehicle and its records; see the docstring of this module for the
    contract."""

    name: str
    State: type[X]
    Input: type[U]
    Params: type[P]
    derivative: Callable[[Any, Any, Any, Any], Any] | None = None
    update: Callable[[Any, Any, Any, Any, Any], Any] | None = None
    outputs: Callable[[Any, Any, Any, Any], Any] = _no_outputs
    Outputs: type[Y] = _NO_OUTPUTS
    Disturbance: type[W] = _NO_DISTURBANCE
    hold: Callable[[Any, Any, Any, Any], Any] | None = None
    settle: Callable[[Any, Any], Any] | None = None
    fills: tuple[str, ...] = ()
    """State fields that `settle` computes if a start leaves them at 0, such as the spin of
    rolling wheels. If a start is given by names, the fields that it names are kept, also at 0."""
    check: Callable[[Any], None] | None = None
    """`check(p)`, if given, raises `InvalidValue` for inconsistent parameters."""
    substeps: int = 1
    """Default number of steps of the integrator within one step of dt. The result of `hold` stays
    constant over all of them."""
    dead_times: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs that act with a delay, each with the parameter that has the delay in s. The
    functions of the model receive the delayed inputs; see `skidpad.run.delay`."""
    dead_time_rule: str = "at_least"
    """Which command is effective: "at_least", the newest that is at least as old as the delay,
    or "nearest", the one whose age in updates is nearest to the delay."""
    reset_keeps: tuple[str, ...] = ()
    """State fields that a reset does not change, and "pending" for the queue of delayed commands;
    for models that reproduce a program with that behaviour."""
    slowest: m_s = 0.0
    """Lowest speed in m/s at which the equations are valid. A tyre whose slip is divided by the
    speed becomes infinitely stiff towards rest: step sizes are checked for speeds above this
    one."""
    ends: Mapping[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])
    """State fields that limit the validity of the equations, each with its largest magnitude
    and what has happened to a vehicle beyond it, as in "rolled over". The derivative is NaN
    there; errors of diverged runs give this reason."""
    body: Body | None = None
    """Description of the vehicle as a body, for worlds, pages, sensors and controllers; see
    `skidpad.core.body`. A model without one can still be simulated.
    """
    energy: Callable[[Any, Any], Any] | None = None
    """Kinetic energy `energy(x, p)` in J, for the conformance check; optional."""
    reproduces: str = ""
    """The upstream program whose results this model reproduces, errors included; empty for
    none."""
    exempt: Mapping[str, str] = field(default_factory=dict[str, str])
    """Conformance checks that this model does not pass, each with its reason; needs
    `reproduces`."""
    mirror_odd: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Whether fields change their sign when left and right are swapped, by name, for the
    conformance check; the usual names (`y`, `yaw`, `omega`, `steer`, ...) need no entry."""
    summary: str = ""
    """One-line description for tables."""

    def __post_init__(self) -> None:
        if (self.derivative is None) == (self.update is None):
            raise InvalidValue(f"model {self.name!r} needs exactly one of derivative and update")
        for kind in (self.State, self.Input, self.Params, self.Outputs, self.Disturbance):
            record.document(kind)
        self._check_dead_times()
        self._check_arguments()
        not_negative(f"model {self.name!r}: slowest", self.slowest, "m/s")
        if self.exempt and not self.reproduces:
            raise InvalidValue(
                f"model {self.name!r} is exempt from {', '.join(self.exempt)} but names no program "
                "that it reproduces; only such a model may be exempt"
            )

    def _check_arguments(self) -> None:
        """Raise for a function whose arguments do not match the contract."""
        for name, wanted in _ARGUMENTS.items():
            function = getattr(self, name)
            if function is None:
                continue
            try:
                signature = inspect.signature(function)
            except (TypeError, ValueError):  # raised for a function without a signature
                continue
            try:
                signature.bind(*wanted)
            except TypeError:
                raise InvalidValue(
                    f"model {self.name!r}: {name} must take ({', '.join(wanted)}), got {signature}"
                ) from None

    def _check_dead_times(self) -> None:
        known = {"Input": record.names(self.Input), "Params": record.names(self.Params)}
        for pair in self.dead_times.items():
            for name, kind in zip(pair, known, strict=True):
                if name not in known[kind]:
                    raise InvalidValue(record.unknown_name(kind, name, known[kind]))
        one_of("dead_time_rule", self.dead_time_rule, ("at_least", "nearest"))

    def __repr__(self) -> str:
        sizes = f"{record.size(self.State)} states, {record.size(self.Input)} inputs"
        return f"<model {self.name}: {sizes}, {record.size(self.Params)} parameters>"

    def __hash__(self) -> int:
        # Hash only hashable fields, which suffices: they are equal in equal models.
        return hash((self.name, self.State, self.Input, self.Params, self.derivative, self.update))

    @property
    def continuous(self) -> bool:
        """Whether the model has a derivative and so needs an integrator."""
        return self.derivative is not None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle one of skidpad's own models by its import path, any other by its parts."""
        from ..compile.portable import recipe_of_model
        from ..vehicles.registry import listed

        own = listed(self) or recipe_of_model(self)
        from ..compile.portable import portable

        return own or portable(self)

    def held_input(self, x: Any, u: Any, w: Any, p: Any) -> Any:
        """Input that is constant over the step from `x`: the result of `hold`, or `u` itself."""
        if self.hold is None:
            return u
        held = self.hold(x, u, w, p)
        if held is None:
            raise TraceError(
                f"hold of {self.name!r} returned None instead of the held value: a `return` may "
                "be missing"
            )
        return held


@dataclass(frozen=True, repr=False)
class Vehicle(Constant, Generic[X, U, P, Y, W]):
    """A model with its parameters, for `Simulator` and `Fleet`."""

    model: Model[X, U, P, Y, W]
    params: P
    outlines: tuple[Outline, ...] | None = None
    """Outlines from above that replace the outlines of the body's geometry, or None."""
    clips_inputs: bool = False
    """Whether steering angles far beyond the actuator's limit are clipped; otherwise they are
    refused, since they may be in degrees. See `with_clipped_inputs`."""

    def __post_init__(self) -> None:
        instance_of("model", self.model, Model)
        Params: type = self.model.Params
        if not isinstance(self.params, Params):
            raise InvalidValue(
                f"parameters of {self.name!r} must be a {Params.__qualname__} record, "
                f"got {type(self.params).__qualname__}"
            )
        record.check(self.params)
        record.check_normal(self.params)
        if self.model.check is not None:
            self.model.check(self.params)
        warn_if_implausible(self.model.name, self.model.body, self.params)

    def __repr__(self) -> str:
        leaves = zip(record.fields(self.model.Params), record.flatten(self.params), strict=True)
        own = [f"{leaf.name}={value:.6g}" for leaf, value in leaves if value != leaf.default]
        shown = own if len(own) <= MOST_SHOWN else [*own[:MOST_SHOWN], "..."]
        clipped = ".with_clipped_inputs()" if self.clips_inputs else ""
        return f"{self.name}({', '.join(shown)}){clipped}"

    def __hash__(self) -> int:
        return hash((self.model, self.params))

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.model.name

    @property
    def State(self) -> type[X]:
        """The state record class."""
        return self.model.State

    @property
    def Input(self) -> type[U]:
        """The input record class."""
        return self.model.Input

    @property
    def Params(self) -> type[P]:
        """The parameter record class; the values are `params`."""
        return self.model.Params

    @property
    def Outputs(self) -> type[Y]:
        """The output record class."""
        return self.model.Outputs

    @property
    def Disturbance(self) -> type[W]:
        """The disturbance record class."""
        return self.model.Disturbance

    @property
    def body(self) -> Body:
        """Body of the vehicle; raises if its model has none."""
        return body_of(self, "this")

    @property
    def geometry(self) -> Geometry:
        """Geometry of the body (shape, wheels, mass) for the vehicle's parameters."""
        shape = self.body.geometry(self.params)
        return shape if self.outlines is None else replace(shape, outlines=self.outlines)

    @property
    def limits(self) -> Limits:
        """Driving limits of the body for the vehicle's parameters."""
        return self.body.limits(self.params)

    def __reduce__(self) -> tuple[Any, ...]:
        leaves = record.flatten(self.params)
        return _vehicle, (type(self), self.model, leaves, self.outlines, self.clips_inputs)

    def with_params(self, params: Any = None, /, **values: Any) -> Self:
        """Copy of the vehicle with some parameters replaced; nested parameters by record or dotted
        name.
        """
        return replace(
            self, params=record.build(self.model.Params, params, base=self.params, **values)
        )

    def with_clipped_inputs(self) -> Self:
        """Copy of the vehicle that clips steering demands to the limits of its actuators."""
        return replace(self, clips_inputs=True)

    def derivative(self, x: Any, u: Any, w: Any = None, p: Any = None) -> X:
        """Evaluate the time derivative of the state on floats, NumPy, CasADi or JAX values.

        If the model has `hold`, the input is first sampled at `x`, as at the start of a step.
        """
        model = self.model
        if model.derivative is None:
            raise InvalidValue(f"{self.name!r} is a discrete model: it has update, not derivative")
        w, p = self._defaults(w, p)
        return model.derivative(x, model.held_input(x, u, w, p), w, p)

    def outputs(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Y:
        """Evaluate the outputs at a state and input on floats, NumPy, CasADi or JAX values."""
        w, p = self._defaults(w, p)
        return self.model.outputs(x, self.model.held_input(x, u, w, p), w, p)

    def casadi(self, integrator: Any = None) -> Any:
        """Return CasADi symbols and expressions for acados, do-mpc or Opti; with an integrator also
        the step.
        """
        from ..run.interop import casadi_model

        return casadi_model(self, integrator)

    def jax(self, integrator: Any = "rk4") -> Any:
        """Return derivative and step as JAX functions on flat arrays; needs the extra `jax`."""
        from ..run.interop import jax_model

        return jax_model(self, integrator)

    def linearise(
        self, x: Any, u: Any, dt: float, integrator: Any = "auto", *, w: Any = None
    ) -> Discrete:
        """Linearise one step of `dt` in s from a state with constant input: next state and exact
        Jacobians.

        Returns (x_next, A, B); see `skidpad.linearise`.
        """
        from ..run.linearisation import linearise

        return linearise(self, x, u, dt, integrator, w=w)

    def linearise_continuous(self, x: Any, u: Any, *, w: Any = None) -> Continuous:
        """Linearise the time derivative at a state and input: (rate, A, B) with exact Jacobians A
        and B.
        """
        from ..run.linearisation import linearise_continuous

        return linearise_continuous(self, x, u, w=w)

    def normalised_acceleration(
        self,
        x: Any,
        u: Any,
        *,
        w: Any = None,
        a_long_max: float | None = None,
        a_lat_max: float | None = None,
    ) -> NormalisedAcceleration:
        """Longitudinal and lateral acceleration relative to their limits in m/s², by default those
        of the parameters."""
        from ..run.linearisation import normalised_acceleration

        return normalised_acceleration(self, x, u, w=w, a_long_max=a_long_max, a_lat_max=a_lat_max)

    def _repr_html_(self) -> str:
        from ..view.plots.notebook import vehicle_html

        return vehicle_html(self)

    def _defaults(self, w: Any, p: Any) -> tuple[Any, Any]:
        w = record.build(self.model.Disturbance) if w is None else w
        return w, self.params if p is None else p


def _vehicle(kind: type[Any], model: Model, leaves: tuple[float, ...], *rest: Any) -> Any:
    """Rebuild a pickled vehicle; parameters are pickled as numbers, since their class belongs to
    the model."""
    return kind(model, accept(record.unflatten(model.Params, leaves)), *rest)


def made_by(build: Callable[..., Model], *arguments: Any, model: Model) -> Model:
    """Make a model pickle as `build(*arguments)`, which rebuilds it in any process."""
    vars(model)["_recipe"] = (build, arguments)
    return model


def built_once(build: Callable[..., Model]) -> Callable[..., Model]:
    """Decorator of a model builder: equal arguments return the same model, which is pickled as its
    arguments.
    """

    @cache
    @wraps(build)
    def once(*arguments: Any) -> Model:
        return made_by(once, *arguments, model=build(*arguments))

    return once


@dataclass(frozen=True, repr=False)
class VehicleFactory(Generic[X, U, P, Y, W]):
    """Factory of vehicles of one model, such as the built-in ones: `four_wheel(m=240.0)`."""

    model: Model[X, U, P, Y, W]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.model.summary)

    def __repr__(self) -> str:
        return f"<vehicles of {self.model.name}: {self.model.summary or 'call it to make one'}>"

    @property
    def models(self) -> tuple[Model, ...]:
        """The models of the vehicles that this factory can make."""
        return (self.model,)

    def __call__(self, params: Any = None, /, **values: Any) -> Vehicle[X, U, P, Y, W]:
        """Make a vehicle with the default parameters, some replaced by keyword or mapping."""
        return Vehicle(self.model, record.build(self.model.Params, params, **values))


def port_kinds(source: Any) -> dict[str, type]:
    """Record classes of the ports x, u, w, p of a model or a plant."""
    return {"x": source.State, "u": source.Input, "w": source.Disturbance, "p": source.Params}


def model_of(vehicle: Vehicle | Model) -> Model:
    """Return the model of a vehicle; a model is returned unchanged."""
    return vehicle.model if isinstance(vehicle, Vehicle) else vehicle


def vehicle_of(vehicle: Any) -> Vehicle:
    """Return the vehicle; raises for anything else, such as a factory that was not called."""
    if isinstance(vehicle, Vehicle):
        return vehicle
    hint = f"; call it: {vehicle.model.name}()" if isinstance(vehicle, VehicleFactory) else ""
    raise InvalidValue(f"vehicle must be a Vehicle, got a {type(vehicle).__qualname__}{hint}")
