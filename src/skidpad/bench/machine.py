"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..compile import native
from ..workers import cores

PACKAGE_HOME = str(Path(__file__).parents[2])
LIBRARIES = ("numpy", "scipy", "casadi", "llvmlite", "jax")


def machine() -> dict[str, Any]:
    """Processor, cores, vector width, system, Python, and how busy the machine is."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "vector_bits": native.vector_bits(),
        "architecture": platform.machine(),
        "os": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": _load(),
    }


def versions() -> dict[str, str | None]:
    """Versions of skidpad and of the libraries that take part; null where one is not installed."""
    return {"skidpad": __version__, **{name: _version(name) for name in LIBRARIES}}


def cpu_model() -> str:
    """The processor's name as the system tells it."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return platform.processor() or platform.machine()


def _load() -> float | None:
    """Processes that wanted to run over the last minute, on average; null where unknown."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def environment(**settings: str) -> dict[str, str]:
    """This process's environment with settings added, in which the same skidpad is found."""
    path = os.pathsep.join(filter(None, [PACKAGE_HOME, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **settings}
