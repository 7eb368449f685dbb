"""The exceptions that skidpad raises. Each message names the field, the value and what is allowed.

Optional packages are imported by `require` where they are used; its error says what to install.
"""

from __future__ import annotations

import importlib
import platform
import sys
from collections.abc import Mapping
from typing import Any


class SkidpadError(Exception):
    """Base of every error that skidpad raises deliberately."""


class InvalidValue(SkidpadError, ValueError):
    """A value is invalid: wrong field, shape, sign, range, NaN or infinity."""


class ImplausibleParameter(UserWarning):
    """Warning about a parameter that is allowed but implausible, such as a length in mm."""


class MissingFile(InvalidValue, FileNotFoundError):
    """A file to be read does not exist, or the folder of a file to be written does not."""


class TraceError(SkidpadError, TypeError):
    """A model function cannot be compiled, as with a Python `if` on a state, or a function without
    a derivative was differentiated."""


class UnknownOperation(TraceError):
    """The compiler met an operation that it does not support; the message names it."""


class MissingExtra(SkidpadError, ImportError):
    """An optional package is not installed; the message says what to install."""


class SimulatorInUse(SkidpadError, RuntimeError):
    """A simulator or a world was called while another thread steps it; nothing was changed."""


class NotOptimal(SkidpadError, ArithmeticError):
    """The search for a lap of least time did not converge; the message names the constraint that
    is violated most."""

    def __init__(self, message: str, *, lap: Any = None) -> None:
        super().__init__(message)
        self.lap = lap
        """The last iterate, a `Lap` whose `converged` is False."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args[0], {})


class _FailedStep(SkidpadError, ArithmeticError):
    """Base of errors with keyword-only arguments, which `pickle` needs to know of."""

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args[0], vars(self))


class StepNotConverged(_FailedStep):
    """The Newton iteration of an implicit step did not converge, so its result is not used."""

    def __init__(
        self, message: str, *, time: float, residual: float, trajectory: Any = None
    ) -> None:
        super().__init__(message)
        self.time = time
        """Time at the start of the step that failed, in s."""
        self.residual = residual
        """Relative Newton residual of that step (see `integrate.radau`)."""
        self.trajectory = trajectory
        """The `Trajectory` up to the failed step, if `Simulator.run` raised the error."""


class SimulationDiverged(_FailedStep):
    """A state became NaN or infinite; the error has the last finite state and its time."""

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
        """Indices of the vehicles of a fleet that diverged."""
        self.trajectory = trajectory
        """The `Trajectory` up to the failed step, if `Simulator.run` raised the error."""


def _restored(kind: Any, message: str, fields: dict[str, Any]) -> Exception:
    """Rebuild an exception with keyword-only arguments from its pickled parts."""
    return kind(message, **fields)


EXTRAS: Mapping[str, tuple[str, ...]] = {
    "campaigns": ("SALib", "fsspec"),
    "commonroad": ("commonroad",),
    "cuda": ("cupy",),
    "export": ("ziglang",),
    "jax": ("jax",),
    "learn": ("gymnasium", "pettingzoo"),
    "logs": ("asammdf", "can", "cantools", "libxrk"),
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
"""The extras of `pyproject.toml`, with the import names of their packages."""
_EXTRA_OF = {package: extra for extra, packages in EXTRAS.items() for package in packages}
_FIRST_WITHOUT_WHEEL = (3, 14)
"""Python version from which some packages have no wheel; their extras omit them there."""
_INSTEAD = {
    "Box2D": "take an older Python, or build it with pip install box2d, which needs a C++ compiler "
    "and SWIG",
    "cyclonedds": "take Zenoh in its place, or an x86_64 with an older Python",
}
"""Advice by package if it has no wheel."""


def require(module: str, *, purpose: str, extra: str | None = None) -> Any:
    """Import and return an optional module; the error names the extra to install.

    The message begins with `purpose`, as in "Trajectory.to_pandas". `extra` overrides the extra
    that has the module, for one that installs everything else that is needed too.
    """
    return _imported(module, purpose, extra or _EXTRA_OF[module.partition(".")[0]])


def require_extras(*extras: str, purpose: str) -> None:
    """Raise if a package of these extras is missing, ahead of long work that needs it."""
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
    """Description of this platform if a package has no wheel for it, so that its extra omits the
    package; otherwise an empty text."""
    if package in _INSTEAD and sys.version_info >= _FIRST_WITHOUT_WHEEL:
        return f"Python {'.'.join(map(str, _FIRST_WITHOUT_WHEEL))} and newer"
    machine = platform.machine()
    if package == "cyclonedds" and sys.platform == "linux" and machine != "x86_64":
        return f"Linux on {machine}"
    return ""
