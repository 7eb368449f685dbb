"""Optional packages: imported where they are used, and named in one sentence when absent."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from .errors import MissingExtra

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "commonroad": ("commonroad",),
    "cuda": ("cupy",),
    "jax": ("jax",),
    "maps": ("PIL", "defusedxml"),
    "mesh": ("collada", "trimesh"),
    "pandas": ("pandas",),
    "parquet": ("pyarrow",),
    "plots": ("matplotlib",),
    "recording": ("mcap", "zstandard"),
    "torch": ("torch",),
    "viewer": ("starlette", "uvicorn", "websockets"),
    "world": ("Box2D",),
    "zenoh": ("zenoh",),
}
"""The extras of `pyproject.toml` and what each brings, by the names under which it is imported."""
_EXTRA_OF = {package: extra for extra, packages in EXTRAS.items() for package in packages}
_NO_WHEEL_FROM = {"Box2D": (3, 14)}
"""The first Python for which a package has no wheel; its extra leaves it out from there on."""


def require(module: str, *, purpose: str) -> Any:
    """The imported module; `purpose` begins the message, as in "Trajectory.to_pandas"."""
    return _imported(module, purpose, _EXTRA_OF[module.partition(".")[0]])


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
    bound = _NO_WHEEL_FROM.get(package)
    if bound is None or sys.version_info < bound:
        return f'which is not installed: pip install "skidpad[{extras}]"'
    version = ".".join(map(str, bound))
    return (
        f"which has no wheel for Python {version} and newer: take an older Python, or build it "
        f"with pip install {package.lower()}, which needs a C++ compiler and SWIG"
    )
