"""C compilers: Zig's, a wheel of which builds for every platform, or gcc and clang for this one.

The flags keep the bits: products and sums are contracted only where the source says `fma`, and
nothing is reassociated.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..core.checks import one_of
from ..errors import InvalidValue, MissingExtra, SkidpadError, require

__all__ = [
    "COMPILERS",
    "TARGETS",
    "Target",
    "build_library",
    "build_object",
    "build_program",
    "has_zig",
]

COMPILERS = ("zig", "gcc", "clang")
"""Compilers that can be asked for."""

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-fast-math")
"""Flags under which exported source keeps its bits, whatever the compiler."""
_TIMEOUT = 1200
"""Seconds after which a compiler is given up."""


class Target(NamedTuple):
    """A platform to build for."""

    triple: str
    """As Zig calls it."""
    suffix: str = ".so"
    """Of a shared library."""
    flags: tuple[str, ...] = ()


TARGETS = {
    # The oldest glibc that is still met; exported source needs none of it.
    "x86_64-linux": Target("x86_64-linux-gnu.2.17"),
    "aarch64-linux": Target("aarch64-linux-gnu.2.17"),
    "x86_64-windows": Target("x86_64-windows-gnu", ".dll"),
    "x86_64-macos": Target("x86_64-macos", ".dylib"),
    "aarch64-macos": Target("aarch64-macos", ".dylib"),
    # With the unit for doubles, which not every one has.
    "cortex-m7": Target(
        "thumb-freestanding-eabihf",
        "",
        ("-mcpu=cortex_m7+fp_armv8d16", "-ffreestanding", "-fno-unwind-tables"),
    ),
}
"""Platforms by name; the last one has no libraries, only objects."""

_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}


def host() -> str:
    """The name of this platform, as in `TARGETS` if it is one of these."""
    machine = platform.machine()
    return f"{_MACHINES.get(machine, machine)}-{_SYSTEMS.get(sys.platform, sys.platform)}"


def build_library(
    sources: Sequence[str | Path],
    out: str | Path,
    target: str | None = None,
    compiler: str | None = None,
    *,
    flags: Sequence[str] = (),
) -> Path:
    """Build C sources into a shared library.

    Args:
        sources: files of C; headers beside them are found.
        out: path of the library.
        target: platform, one of `TARGETS`; this one if None.
        compiler: "zig", "gcc" or "clang"; the last two build for this platform alone. None takes
            Zig if it is installed or the target is another platform, else what there is.
        flags: further ones, as -DNAME.

    Returns:
        The path of the library.
    """
    wanted = host() if target is None else target
    if wanted == "cortex-m7":
        raise InvalidValue("target = 'cortex-m7' has no shared libraries; build an object")
    position = () if "windows" in wanted else ("-fPIC",)
    return _run(["-shared", *position, *flags], sources, out, target, compiler)


def build_object(
    source: str | Path,
    out: str | Path,
    target: str | None = None,
    compiler: str | None = None,
    *,
    flags: Sequence[str] = (),
) -> Path:
    """Compile one C source to an object file; arguments as of `build_library`."""
    return _run(["-c", *flags], [source], out, target, compiler)


def build_program(
    sources: Sequence[str | Path],
    out: str | Path,
    target: str | None = None,
    compiler: str | None = None,
    *,
    flags: Sequence[str] = (),
) -> Path:
    """Build C sources into a program; arguments as of `build_library`."""
    return _run(list(flags), sources, out, target, compiler)


def command(target: str | None = None, compiler: str | None = None) -> list[str]:
    """How a compiler is called for a platform, with the flags that keep the bits."""
    if compiler is not None:
        one_of("compiler", compiler, COMPILERS)
    if target is not None:
        one_of("target", target, tuple(TARGETS))
    own = target is None or target == host()
    if compiler is None:
        compiler = _installed_compiler() if own else "zig"
    if compiler == "zig":
        return [*_zig(), *_zig_target(target), *FLAGS, "-fno-sanitize=all", "-g0"]
    if not own:
        raise InvalidValue(
            f"compiler = {compiler!r} builds for {host()} alone; for {target} take 'zig'"
        )
    if shutil.which(compiler) is None:
        raise MissingExtra(f"compiler = {compiler!r} is not installed; {_remedy()}")
    return [compiler, *FLAGS]


def _zig() -> list[str]:
    require("ziglang", purpose="building C")
    return [sys.executable, "-m", "ziglang", "cc"]


def _zig_target(target: str | None) -> list[str]:
    name = host() if target is None else target
    if name not in TARGETS:
        return []
    chosen = TARGETS[name]
    # Without a processor Zig takes the one it runs on.
    baseline = [] if chosen.flags else ["-mcpu=baseline"]
    return ["-target", chosen.triple, *baseline, *chosen.flags]


def has_zig() -> bool:
    """Whether Zig's compiler is installed."""
    try:
        require("ziglang", purpose="building C")
    except MissingExtra:
        return False
    return True


def _installed_compiler() -> str:
    """The compiler for this platform that is there."""
    if has_zig():
        return "zig"
    for name in COMPILERS[1:]:
        if shutil.which(name) is not None:
            return name
    raise MissingExtra(f"no C compiler found; {_remedy()}")


def _remedy() -> str:
    return 'pip install "skidpad[export]" brings one that builds for every platform'


def _run(
    flags: Sequence[str],
    sources: Sequence[str | Path],
    out: str | Path,
    target: str | None,
    compiler: str | None,
) -> Path:
    path = Path(out)
    line = [*command(target, compiler), *flags, *map(str, sources), "-o", str(path)]
    try:
        outcome = subprocess.run(
            line, capture_output=True, text=True, check=False, timeout=_TIMEOUT, env={**os.environ}
        )
    except subprocess.TimeoutExpired as error:
        raise SkidpadError(f"{' '.join(line)} took longer than {_TIMEOUT} s") from error
    if outcome.returncode != 0:
        raise SkidpadError(f"{' '.join(line)} failed:\n{outcome.stderr.strip()}")
    return path
