"""The exceptions skidpad raises. Each message names the field, the value and what is allowed."""

from __future__ import annotations

from typing import Any

__all__ = [
    "ImplausibleParameter",
    "InvalidValue",
    "MissingExtra",
    "MissingFile",
    "SimulationDiverged",
    "SimulatorInUse",
    "SkidpadError",
    "StepNotConverged",
    "TraceError",
    "UnknownOperation",
]


class SkidpadError(Exception):
    """Base of every error raised on purpose by skidpad."""


class InvalidValue(SkidpadError, ValueError):
    """A value that cannot be used: wrong field, shape, sign, unit range, NaN or infinity."""


class ImplausibleParameter(UserWarning):
    """A parameter that is allowed but implausible, such as a length in mm; never an error."""


class MissingFile(InvalidValue, FileNotFoundError):
    """A file that is to be read does not exist, nor the folder of one that is to be written."""


class TraceError(SkidpadError, TypeError):
    """A model function did something that cannot be compiled, such as a Python `if` on a state,
    or a function that has no derivative was differentiated."""


class UnknownOperation(TraceError):
    """The tracer or the lowering met an operation it has no rule for; the message names it."""


class MissingExtra(SkidpadError, ImportError):
    """An optional package is not installed; the message says what to install."""


class SimulatorInUse(SkidpadError, RuntimeError):
    """A simulator or a world was called while another thread steps it; nothing was changed."""


class StepNotConverged(SkidpadError, ArithmeticError):
    """An implicit step left a Newton residual above its tolerance, so its result is not used."""

    def __init__(
        self, message: str, *, time: float, residual: float, trajectory: Any = None
    ) -> None:
        super().__init__(message)
        self.time = time
        """Time at the start of the step that failed, in s."""
        self.residual = residual
        """Newton residual of that step, relative (see `integrate.radau`)."""
        self.trajectory = trajectory
        """What was driven up to there, if `Simulator.run` raised it: a `Trajectory`."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args[0], vars(self))


class SimulationDiverged(SkidpadError, ArithmeticError):
    """A state became NaN or infinite. The last finite state and its time are kept here."""

    def __init__(
        self,
        message: str,
        *,
        time: float,
        last_state: Any,
        vehicles: tuple[int, ...] = (),
        trajectory: Any = None,
    ) -> None:
        super().__init__(message)
        self.time = time
        """Time of the last finite state, in s."""
        self.last_state = last_state
        """The last finite state, a State record."""
        self.vehicles = vehicles
        """In a fleet: the indices of the vehicles that diverged."""
        self.trajectory = trajectory
        """What was driven up to there, if `Simulator.run` raised it: a `Trajectory`."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args[0], vars(self))


def _restored(kind: Any, message: str, fields: dict[str, Any]) -> Exception:
    """An exception with keyword-only arguments, from its pickled parts."""
    return kind(message, **fields)
