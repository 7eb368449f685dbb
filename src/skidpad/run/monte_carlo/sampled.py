"""From the arguments of `Fleet.monte_carlo` to its result."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import record
from ...arrays import Array
from ...brief import shown
from ...checks import check_room, positive, steps_in, whole
from ...compile.plant import Plant
from ...errors import InvalidValue
from ...policy import Policy
from ...progress import Choice
from ...random import NoUncertainty, UncertaintyModel
from ...random.model import checked_model
from .. import batch
from ..runner import Runner
from ..start import settled
from .experiment import Experiment, input_rows
from .result import MonteCarlo
from .tally import Quantity, Tally

NOISE = "noise"
"""Field of the reference that holds the noise of a step, one number per state of the vehicle."""
TOLD = "told"
"""Field of the reference that holds what the policy itself is told."""


def noisy(policy: Policy, State: type) -> Policy:
    """The policy with `State` plus noise in place of the state; the noise comes by its reference.

    Its reference record has the policy's own (`told`), if it has any, and behind it the noise of
    the step in the units of the state (`noise`).
    """
    kinds = {TOLD: policy.Reference} if record.size(policy.Reference) else {}
    kinds[NOISE] = _noise_record(State)
    Reference = record.define("NoisyReference", kinds, doc="What a policy is told, and the noise.")
    return replace(policy, act=_seeing(policy, State), Reference=Reference)


def _seeing(policy: Policy, State: type) -> Callable[..., Any]:
    def act(**arguments: Any) -> Any:
        noise = record.flatten(getattr(arguments["r"], NOISE))
        pairs = zip(record.flatten(arguments["x"]), noise, strict=True)
        seen = record.unflatten(State, [value + error for value, error in pairs])
        arguments = {**arguments, "x": seen, "r": getattr(arguments["r"], TOLD, None)}
        return policy.act(**{name: arguments[name] for name in policy.arguments})

    # A policy is asked by the names of its arguments what it needs.
    names = dict.fromkeys(("x", "r", *policy.arguments))
    keyword = inspect.Parameter.KEYWORD_ONLY
    act.__signature__ = inspect.Signature([inspect.Parameter(n, keyword) for n in names])
    return act


def _noise_record(State: type) -> Any:
    """A record with the leaves of a state, all zero unless given."""
    names = [leaf.name.replace(".", "_") for leaf in record.fields(State)]
    return record.define("Noise", dict.fromkeys(names, float), dict.fromkeys(names, 0.0))


def sampled(
    runner: Runner,
    x0: Any,
    inputs: Any,
    runs: int | Sequence[int],
    disturbance: UncertaintyModel | None,
    noise: UncertaintyModel | None,
    policy: Policy | None,
    seed: int,
    steps: int | None,
    duration: float | None,
    params: Mapping[str, Any] | None,
    policy_params: Mapping[str, Any] | None,
    quantities: Any,
    events: Mapping[str, Quantity] | None,
    quantiles: Sequence[float],
    confidence: float | Sequence[float],
    progress: Choice,
) -> MonteCarlo:
    """Run a Monte Carlo; the arguments are those of `Fleet.monte_carlo`."""
    plant = runner.plant
    numbers = _run_numbers(runs)
    told = input_rows(runner, plant.Input if policy is None else policy.Reference, inputs)
    experiment = Experiment(
        runner=_loop(runner, policy, noise),
        vehicle_states=record.size(plant.State),
        steps=_step_count(runner.settings.dt, steps, duration, told),
        seed=whole("seed", seed, "not negative", least=0, most=None),
        start=_start(runner, x0),
        memory=_memory(policy),
        inputs=told,
        params={
            **_own("params", plant.Params, params),
            **_policy_params(policy, policy_params),
        },
        disturbance=_disturbance(runner.plant, disturbance),
        noise=None if noise is None else _of_state("noise", noise, plant.State),
    )
    _check_runs(experiment, numbers)
    tally = Tally(
        plant.State,
        _quantities(plant.State, quantities),
        _events(events),
        _levels(quantiles),
        experiment.steps + 1,
        len(numbers),
        _confidences(confidence),
    )
    return MonteCarlo(experiment, numbers, tally).run(progress)


def _run_numbers(runs: int | Sequence[int]) -> NDArray[np.int64]:
    if np.ndim(runs) == 0:
        count = whole("runs", runs, "at least 1")
        check_room("runs", count)
        return np.arange(count)
    numbers = np.asarray(runs)
    if not np.issubdtype(numbers.dtype, np.integer) or numbers.ndim != 1 or not numbers.size:
        raise InvalidValue("runs must be a number of runs, or a list of the numbers of some")
    if numbers.min() < 0 or numbers.max() >= 2**32 or len(np.unique(numbers)) < len(numbers):
        raise InvalidValue(f"numbers of runs must differ and lie between 0 and {2**32 - 1}")
    return numbers.astype(np.int64)


def _loop(runner: Runner, policy: Policy | None, noise: UncertaintyModel | None) -> Runner:
    """What runs: the vehicle alone, or with its policy compiled in."""
    if policy is None:
        if noise is not None:
            raise InvalidValue("noise is on what a policy sees; without policy= nobody sees it")
        return runner
    return runner.loop(policy if noise is None else noisy(policy, runner.plant.State))


def _start(runner: Runner, x0: Any) -> Array | UncertaintyModel:
    State = runner.plant.State
    if isinstance(x0, UncertaintyModel):
        return checked_model("x0", x0, record.names(State), "the state")
    # The parameters that differ between runs are drawn later; a start is that of the vehicle's own.
    whole = settled(runner.plant, x0, runner.own_params)
    return batch.states(State, whole, batch.Space.of("cpu", runner.settings.precision), "aos")[0]


def _memory(policy: Policy | None) -> Array:
    return np.array(() if policy is None else record.flatten(record.build(policy.Memory)))


def _of_state(name: str, model: Any, State: type) -> UncertaintyModel:
    checked_model(name, model, record.names(State), "the state").check_state(State)
    return model


def _own(what: str, Params: type, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Parameters by name: models, or numbers () or (runs,)."""
    if not isinstance(params or {}, Mapping):
        raise InvalidValue(f"{what} = {params!r} must be numbers, arrays or models by name")
    columns: dict[str, Any] = {}
    for name, source in (params or {}).items():
        if name not in record.names(Params):
            raise InvalidValue(record.unknown_name(what, name, record.names(Params)))
        place = f"{what}[{name!r}]"
        if isinstance(source, UncertaintyModel):
            columns[name] = checked_model(place, source, (name,), "a parameter")
        else:
            columns[name] = _column(place, source)
    return columns


def _column(place: str, values: Any) -> Array:
    numbers = batch.numbers(place, values, batch.Space.of("cpu", "float64"))
    if numbers.ndim > 1:
        raise InvalidValue(f"{place} has shape {numbers.shape}; expected a number or (runs,)")
    return numbers


def _policy_params(policy: Policy | None, params: Mapping[str, Any] | None) -> dict[str, Any]:
    if policy is None:
        if params is not None:
            raise InvalidValue("policy_params go with a policy=")
        return {}
    # Always there, as the compiled loop is shared by policies that differ in parameters only.
    own = zip(record.names(policy.Params), record.flatten(policy.params), strict=True)
    asked = _own("policy_params", policy.Params, params)
    return {f"policy.{n}": v for n, v in {**dict(own), **asked}.items()}


def _disturbance(plant: Plant, model: UncertaintyModel | None) -> UncertaintyModel:
    kind = plant.Disturbance
    neutral = record.flatten(record.build(kind))
    if model is None:
        return NoUncertainty(len(neutral), nominal_value=np.array(neutral))
    if not neutral:
        raise InvalidValue(
            f"{plant.name!r} takes no disturbance; `skidpad.with_disturbance(vehicle)` makes "
            "a vehicle that takes one on the rate of every state"
        )
    names = record.names(kind)
    checked_model("disturbance", model, names, f"the disturbance of {plant.name!r}")
    model.check_state(plant.State)
    return model


def _step_count(dt: float, steps: int | None, duration: float | None, told: Array) -> int:
    counts = {len(told)} if len(told) > 1 else set[int]()
    if duration is not None:
        counts.add(steps_in(positive("duration", duration, "s"), dt))
    if steps is not None:
        counts.add(whole("steps", steps, "at least 1"))
    if len(counts) != 1:
        listed = " and ".join(map(str, sorted(counts))) or "none given"
        raise InvalidValue(
            f"number of steps: {listed}; say one with steps=, duration= in s, or a table of inputs"
        )
    return counts.pop()


def _check_runs(experiment: Experiment, numbers: NDArray[np.int64]) -> None:
    """Raise unless what is given per run is given for all."""
    last = int(numbers.max())
    counts = {"inputs": experiment.inputs.shape[1]}
    if not isinstance(experiment.start, UncertaintyModel):
        counts["x0"] = len(experiment.start)
    for name, value in experiment.params.items():
        if not isinstance(value, UncertaintyModel):
            counts[f"params[{name!r}]"] = np.size(value)
    for name, count in counts.items():
        if count != 1 and count <= last:
            raise InvalidValue(f"{name}: {count} runs are given, but run {last} is wanted")


def _quantities(State: type, quantities: Any) -> dict[str, Quantity]:
    """Functions of the state by name; names of states stand for themselves."""
    names = record.names(State)
    if quantities is None:
        quantities = names
    if isinstance(quantities, str):
        quantities = (quantities,)
    if not isinstance(quantities, Mapping):
        if not isinstance(quantities, Iterable):
            raise InvalidValue(
                f"quantities = {quantities!r} must be names of states, or functions by name"
            )
        quantities = {name: name for name in quantities}
    functions: dict[str, Callable[[Any], Any]] = {}
    for name, quantity in quantities.items():
        if callable(quantity):
            functions[name] = quantity
        elif quantity in names:
            functions[name] = attrgetter(quantity)
        else:
            raise InvalidValue(record.unknown_name("State", str(quantity), names, "quantity"))
    return functions


def _events(events: Any) -> dict[str, Quantity]:
    """Functions of the state by name."""
    if events is None:
        return {}
    if not isinstance(events, Mapping):
        raise InvalidValue(
            f"events = {events!r} must be functions of the state by name, as in "
            "{'left the lane': lambda x: abs(x.y) > 0.3}"
        )
    for name, event in events.items():
        if not callable(event):
            raise InvalidValue(f"event {name!r} must be a function of the state, got {event!r}")
    return dict(events)


def _levels(quantiles: Any) -> Array:
    levels = _different("quantiles", quantiles)
    if not levels.size or not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise InvalidValue(f"quantiles = {quantiles!r} must lie between 0 and 1")
    return levels


def _confidences(confidence: Any) -> list[float]:
    levels = _different("confidence", confidence)
    if not levels.size or not ((levels > 0.0) & (levels < 1.0)).all():
        raise InvalidValue(
            f"confidence = {confidence!r} must be between 0 and 1, such as 0.95 or (0.9, 0.99)"
        )
    return levels.tolist()


def _different(name: str, values: Any) -> Array:
    """Numbers in order, each once."""
    try:
        return np.unique(np.asarray(values, dtype=float))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{name} = {shown(values)} must be numbers from 0 to 1") from error
