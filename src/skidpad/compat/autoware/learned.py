"""The model LEARNED_STEER_VEL: a vehicle made of Python sub-models that exchange named signals.

Any class with these methods is a sub-model (the interface of Autoware's
`learning_based_vehicle_model`):

1. `get_state_names()` and `get_action_names()`: signals that the sub-model writes and reads.
2. `forward(action, state)`: the new values of its states, from lists of floats in those orders.
3. `load_params(path)` and `reset()`: called once, in this order, if there is a parameter path.
4. `dtSet(dt)`: called once, with the nominal period in s. It is not called for steps of other
   lengths.

`VX_DES` and `STEER_DES` are the command; `POS_X`, `POS_Y`, `YAW`, `YAW_RATE`, `VX`, `VY` and
`STEER` are the motion; any other name connects sub-models with each other. In a step every
sub-model reads the signals from before the step, so each connection takes one step. If two
sub-models write a signal, the later in the list wins; a signal without a writer keeps its value.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.checks import finite, not_negative, one_of, positive
from ...errors import InvalidValue
from .reports import Motion

COMMAND_SIGNALS = ("VX_DES", "STEER_DES")
MOTION_SIGNALS = ("POS_X", "POS_Y", "YAW", "YAW_RATE", "VX", "VY", "STEER")
LISTS = ("model_module_paths", "model_param_paths", "model_class_names")
"""Parameters of this model: lists with one entry per sub-model."""
INTERFACE = ("forward", "get_state_names", "get_action_names", "reset", "load_params", "dtSet")
"""Methods that a sub-model must have."""
MOVED_FROM_OUTSIDE = 1e-6
"""Difference in m, rad, m/s or rad/s above which the state was set from outside."""


class _SubModel(NamedTuple):
    """A sub-model with its connections."""

    label: str
    """Class name, for messages."""
    forward: Any
    reads: tuple[str, ...]
    writes: tuple[str, ...]

    def step(self, signals: Mapping[str, float]) -> dict[str, float]:
        """New values of the signals that the sub-model writes, from the signals before the step."""
        action = [signals[name] for name in self.reads]
        state = [signals[name] for name in self.writes]
        try:
            answer = self.forward(action, state)
        except Exception as error:
            error.add_note(f"raised by forward() of the sub-model {self.label}")
            raise
        values = list(_numbers(answer, self.label))
        if len(values) != len(self.writes):
            raise InvalidValue(
                f"forward() of {self.label} returned {len(values)} values; "
                f"it must return {len(self.writes)}: {', '.join(self.writes)}"
            )
        written = dict(zip(self.writes, values, strict=True))
        for name, value in written.items():
            if not math.isfinite(value):
                raise InvalidValue(
                    f"forward() of {self.label} returned {name} = {value}, which must be finite"
                )
        return written

    @classmethod
    def of(cls, k: int, module: str, params: str, class_name: str, period: float) -> _SubModel:
        """Import, create and prepare the sub-model number `k`."""
        if not module:
            raise InvalidValue(
                f"model_module_paths[{k}] = '' is empty: a learned model needs the names of its "
                "Python modules, and model_class_names those of the classes in them"
            )
        try:
            imported = importlib.import_module(module)
        except Exception as error:  # a module may raise anything while it is imported
            raise InvalidValue(
                f"model_module_paths[{k}] = {module!r} cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        kind = getattr(imported, class_name, None)
        if not callable(kind):
            raise InvalidValue(
                f"model_class_names[{k}] = {class_name!r} is not a class of {module!r}"
            )
        try:
            instance: Any = kind()
        except Exception as error:
            raise InvalidValue(
                f"{class_name} of {module!r} cannot be made without arguments: "
                f"{type(error).__name__}: {error}"
            ) from error
        for method in INTERFACE:
            if not callable(getattr(instance, method, None)):
                raise InvalidValue(
                    f"{class_name} of {module!r} has no method {method}(); "
                    f"a sub-model needs {', '.join(INTERFACE)}"
                )
        if params:
            instance.load_params(params)
            instance.reset()
        writes = _names(instance.get_state_names(), class_name, "get_state_names")
        reads = _names(instance.get_action_names(), class_name, "get_action_names")
        instance.dtSet(period)
        return cls(class_name, instance.forward, reads, writes)


class LearnedMotion:
    """The motion model of LEARNED_STEER_VEL: sub-models by module, parameter file and class name.

    Modules are imported by their dotted names; a parameter path may be empty. `period` is the
    nominal period in s. The reported acceleration is the change of the *commanded* speed over the
    step, as upstream computes it.
    """

    name = "LEARNED_STEER_VEL"
    inputs: tuple[str, ...] = ("velocity", "steer")

    def __init__(
        self,
        model_module_paths: Sequence[str],
        model_param_paths: Sequence[str],
        model_class_names: Sequence[str],
        *,
        period: float,
        compat: str | None = None,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._upstream = compat == "upstream"
        positive("period", period, "s")
        lists = (model_module_paths, model_param_paths, model_class_names)
        for name, each in zip(LISTS, lists, strict=True):
            if isinstance(each, str):
                raise InvalidValue(f"{name} = {each!r} must be a list of texts, not one text")
        counts = [len(each) for each in lists]
        if len(set(counts)) > 1 or 0 in counts:
            listed = ", ".join(f"{name} {n}" for name, n in zip(LISTS, counts, strict=True))
            raise InvalidValue(
                "lists of sub-models must have the same number of entries, at least 1; got "
                f"{listed}"
            )
        self._sub_models = tuple(
            _SubModel.of(k, *each, period) for k, each in enumerate(zip(*lists, strict=True))
        )
        written = {*COMMAND_SIGNALS, *MOTION_SIGNALS}.union(*(m.writes for m in self._sub_models))
        reads = [(model.label, name) for model in self._sub_models for name in model.reads]
        for label, name in reads:
            if name not in written:
                text = f"{label} reads {name!r}, which no sub-model writes: it is always 0. Written"
                warnings.warn(f"{text} are {', '.join(sorted(written))}", stacklevel=2)
        self._signals = dict.fromkeys(sorted(written.union(name for _, name in reads)), 0.0)
        self._state = dict.fromkeys(MOTION_SIGNALS, 0.0)
        self._command, self._velocity_before, self._a_x = (0.0, 0.0), 0.0, 0.0

    @classmethod
    def of(
        cls, values: Mapping[str, Any], period: float, compat: str | None = None
    ) -> LearnedMotion:
        """Motion model from the three lists in `values`, under upstream's parameter names."""
        missing = [name for name in LISTS if values.get(name) is None]
        if missing:
            raise InvalidValue(f"{cls.name} needs the parameters {', '.join(missing)}")
        return cls(*(values[name] for name in LISTS), period=period, compat=compat)

    def set_state(
        self, x: float, y: float, yaw: float, v_x: float, steer: float = 0.0, a_x: float = 0.0
    ) -> None:
        """Move the vehicle to a state, with yaw rate and lateral velocity 0.

        The next step detects the change and clears all other signals, but not the memory inside
        sub-models. `a_x` is ignored: the reported acceleration stays.
        """
        values = dict(zip(MOTION_SIGNALS, (x, y, yaw, 0.0, v_x, 0.0, steer), strict=True))
        self._state = {name: finite(name, value) for name, value in values.items()}

    def set_input(self, row: Sequence[float]) -> None:
        """Set the command: velocity in m/s and tyre angle in rad, positive to the left."""
        if len(row) != len(self.inputs):
            raise InvalidValue(
                f"{self.name} takes {len(self.inputs)} numbers ({', '.join(self.inputs)}), "
                f"got {len(row)}"
            )
        self.command(**dict(zip(self.inputs, row, strict=True)))

    def command(self, **fields: float) -> None:
        """Command by name of the field, which `set_input` sets."""
        command = dict(zip(self.inputs, self._command, strict=True))
        for name, value in fields.items():
            if name not in command:
                raise InvalidValue(
                    f"{self.name} has no input {name!r}; allowed are {', '.join(self.inputs)}"
                )
            command[name] = finite(name, value)
        self._command = (command["velocity"], command["steer"])

    def step(self, dt: float) -> None:
        """Update all sub-models once; `dt` in s affects the reported acceleration only.

        If a sub-model fails, the error names it, and nothing changes.
        """
        not_negative("dt", dt, "s")
        # A state set by `set_state` clears the other signals.
        moved = any(
            abs(self._signals[name] - value) > MOVED_FROM_OUTSIDE
            for name, value in self._state.items()
        )
        before = dict.fromkeys(self._signals, 0.0) | self._state if moved else dict(self._signals)
        before |= dict(zip(COMMAND_SIGNALS, self._command, strict=True))
        after = dict(before)
        for model in self._sub_models:
            after.update(model.step(before))
        self._signals = after
        self._state = {name: after[name] for name in MOTION_SIGNALS}
        change = self._command[0] - self._velocity_before
        if dt > 0.0:
            self._a_x = change / dt
        elif self._upstream:  # otherwise a step of length 0 changes nothing
            self._a_x = math.copysign(math.inf, change) if change else math.nan
        self._velocity_before = self._command[0]

    @property
    def motion(self) -> Motion:
        """Pose, velocities, acceleration and tyre angle after the last step."""
        x, y, yaw, omega, v_x, v_y, steer = (self._state[name] for name in MOTION_SIGNALS)
        return Motion(x=x, y=y, yaw=yaw, v_x=v_x, v_y=v_y, a_x=self._a_x, omega=omega, steer=steer)

    @property
    def signals(self) -> Mapping[str, float]:
        """All signals by name, after the last step."""
        return dict(self._signals)

    def actuation_status(self) -> tuple[float, float] | None:
        """Return None, as this model has no pedals."""
        return None


def _names(answer: Any, class_name: str, method: str) -> tuple[str, ...]:
    names = tuple(answer) if isinstance(answer, Iterable) and not isinstance(answer, str) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidValue(
            f"{method}() of {class_name} must return a list of names, got {answer!r}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidValue(f"{method}() of {class_name} names {', '.join(repeated)} more than once")
    return names


def _numbers(answer: Any, label: str) -> Iterable[float]:
    """Numbers in lists, tuples or arrays of any library, nested or not, in order."""
    # Arrays and tensors of all libraries have the method; `float` fails on a tensor with gradients.
    as_list = getattr(answer, "tolist", None)
    if callable(as_list):
        answer = as_list()
    if isinstance(answer, (list, tuple)):
        for part in answer:
            yield from _numbers(part, label)
    elif isinstance(answer, (int, float)):
        yield float(answer)
    else:
        raise InvalidValue(
            f"forward() of {label} must return numbers, got {answer!r} ({type(answer).__name__})"
        )
