"""The exceptions skidpad raises. Each message names the field, the value and what is allowed.

Optional packages: imported where they are used, and named in one sentence when absent.
"""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Mapping
from typing import Any


class SkidpadError(Exception):
    """Base of every error raised on purpose by skidpad."""


class InvalidValue(SkidpadError, ValueError):
    """A value that cannot be used: wrong field, shape, sign, unit range, NaN or infinity."""


class ImplausibleParameter(UserWarning):
    """A parameter that is allowed but implausible, such as a length in mm; never an error."""


class MissingFile(InvalidValue, FileNotFoundError):
    """A file to be read does not exist, or the folder of a file to be written."""


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
        """The `Trajectory` before, if `Simulator.run` raised the error."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args[0], vars(self))


class SimulationDiverged(SkidpadError, ArithmeticError):
    """A state became NaN or infinite. The error has the last finite state and its time."""

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
        """The `Trajectory` before, if `Simulator.run` raised the error."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args[0], vars(self))


def _restored(kind: Any, message: str, fields: dict[str, Any]) -> Exception:
    """An exception with keyword-only arguments, from its pickled parts."""
    return kind(message, **fields)


EXTRAS: Mapping[str, tuple[str, ...]] = {
    "campaigns": ("SALib", "fsspec"),
    "commonroad": ("commonroad",),
    "cuda": ("cupy",),
    "export": ("ziglang",),
    "jax": ("jax",),
    "learn": ("gymnasium", "pettingzoo"),
    "maps": ("PIL", "defusedxml"),
    "mesh": ("collada", "trimesh"),
    "onnx": ("onnx",),
    "pandas": ("pandas",),
    "parquet": ("pyarrow",),
    "plots": ("matplotlib",),
    "ray": ("ray",),
    "recording": ("mcap", "zstandard"),
    "ros2": ("cyclonedds",),
    "sb3": ("stable_baselines3",),
    "torch": ("torch",),
    "viewer": ("starlette", "uvicorn", "websockets"),
    "world": ("Box2D",),
    "zenoh": ("zenoh",),
}
"""The extras of `pyproject.toml` and what each brings, by the names under which it is imported."""
_EXTRA_OF = {package: extra for extra, packages in EXTRAS.items() for package in packages}
_FIRST_WITHOUT_WHEEL = (3, 14)
"""The Python from which on these have no wheel; their extras leave them out there."""
_INSTEAD = {
    "Box2D": "take an older Python, or build it with pip install box2d, which needs a C++ compiler "
    "and SWIG",
    "cyclonedds": "take Zenoh in its place, or an x86_64 with an older Python",
}
"""Advice where a package has no wheel."""


def require(module: str, *, purpose: str, extra: str | None = None) -> Any:
    """The imported module; `purpose` begins the message, as in "Trajectory.to_pandas".

    The message names the extra whose package it is, or `extra`, which brings it with all else that
    is needed there."""
    return _imported(module, purpose, extra or _EXTRA_OF[module.partition(".")[0]])


def require_extras(*extras: str, purpose: str) -> None:
    """Raise where a package of these is missing: before work that needs it only at its end."""
    for package in (package for extra in extras for package in EXTRAS[extra]):
        _imported(package, purpose, ",".join(extras))


def _imported(module: str, purpose: str, extras: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtra(f"{purpose} needs {package}, {_remedy(package, extras)}") from error


def _remedy(package: str, extras: str) -> str:
    place = _without_wheel(package)
    if place:
        return f"which has no wheel for {place}: {_INSTEAD[package]}"
    return f'which is not installed: pip install "skidpad[{extras}]"'


def _without_wheel(package: str) -> str:
    """The present platform, if a package has no wheel for it; its extra leaves it out there."""
    if package in _INSTEAD and sys.version_info >= _FIRST_WITHOUT_WHEEL:
        return f"Python {'.'.join(map(str, _FIRST_WITHOUT_WHEEL))} and newer"
    machine = platform.machine()
    if package == "cyclonedds" and sys.platform == "linux" and machine != "x86_64":
        return f"Linux on {machine}"
    return ""
