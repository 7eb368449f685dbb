"""C compilers of exported sources: Zig, whose wheel builds for every platform, or gcc and clang for
this one.

The flags preserve the bits: products and sums are contracted only where the source says `fma`, and
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

File = str | Path
COMPILERS = ("zig", "gcc", "clang")

FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-fast-math")
"""Flags with which exported source has the same bits for every compiler."""
_TIMEOUT = 1200
"""Time limit of a compiler run, in s."""


class Target(NamedTuple):
    """A target platform of the C compilers."""

    triple: str
    """Target triple for Zig."""
    suffix: str = ".so"
    """Suffix of its shared libraries."""
    flags: tuple[str, ...] = ()


TARGETS = {
    # Target the oldest glibc still in use; exported source needs none of its functions.
    "x86_64-linux": Target("x86_64-linux-gnu.2.17"),
    "aarch64-linux": Target("aarch64-linux-gnu.2.17"),
    "x86_64-windows": Target("x86_64-windows-gnu", ".dll"),
    "x86_64-macos": Target("x86_64-macos", ".dylib"),
    "aarch64-macos": Target("aarch64-macos", ".dylib"),
    # Enable the optional double-precision floating-point unit.
    "cortex-m7": Target(
        "thumb-freestanding-eabihf",
        "",
        ("-mcpu=cortex_m7+fp_armv8d16", "-ffreestanding", "-fno-unwind-tables"),
    ),
}
"""Platforms by name; for the last one only objects can be built."""

_REMEDY = 'pip install "skidpad[export]" brings one that builds for every platform'

_MACHINES = {"AMD64": "x86_64", "arm64": "aarch64"}
_SYSTEMS = {"linux": "linux", "win32": "windows", "darwin": "macos"}


def host() -> str:
    """Name of this platform, as in `TARGETS`."""
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
        sources: C files; headers in their folders are found.
        out: path of the library.
        target: platform, one of `TARGETS`; this one if None.
        compiler: "zig", "gcc" or "clang"; the last two build for this platform alone. None selects
            Zig if it is installed or the target is another platform, else gcc or clang.
        flags: further flags, such as -DNAME.

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
    """Compile one C source to an object file; arguments as in `build_library`."""
    return _run(["-c", *flags], [source], out, target, compiler)


def build_program(
    sources: Sequence[str | Path],
    out: str | Path,
    target: str | None = None,
    compiler: str | None = None,
    *,
    flags: Sequence[str] = (),
) -> Path:
    """Build C sources into a program; arguments as in `build_library`."""
    return _run(list(flags), sources, out, target, compiler)


def command(target: str | None = None, compiler: str | None = None) -> list[str]:
    """Command line of a compiler for a platform, with the flags that preserve the bits."""
    if compiler is not None:
        one_of("compiler", compiler, COMPILERS)
    if target is not None:
        one_of("target", target, tuple(TARGETS))
    own = target is None or target == host()
    if compiler is None:
        there = [c for c in COMPILERS if (has_zig() if c == "zig" else shutil.which(c))]
        if own and not there:
            raise MissingExtra(f"no C compiler found; {_REMEDY}")
        compiler = there[0] if own else "zig"
    if compiler == "zig":
        require("ziglang", purpose="building C")
        line, chosen = [sys.executable, "-m", "ziglang", "cc"], TARGETS.get(target or host())
        if chosen is not None:
            # Name a generic processor, since by default Zig builds for the processor it runs on.
            baseline = [] if chosen.flags else ["-mcpu=baseline"]
            line += ["-target", chosen.triple, *baseline, *chosen.flags]
        return [*line, *FLAGS, "-fno-sanitize=all", "-g0"]
    if not own:
        raise InvalidValue(
            f"compiler = {compiler!r} builds for {host()} alone; for {target} take 'zig'"
        )
    if shutil.which(compiler) is None:
        raise MissingExtra(f"compiler = {compiler!r} is not installed; {_REMEDY}")
    return [compiler, *FLAGS]


def has_zig() -> bool:
    """Whether Zig's compiler is installed."""
    try:
        require("ziglang", purpose="building C")
    except MissingExtra:
        return False
    return True


def _run(
    flags: Sequence[str],
    sources: Sequence[File],
    out: File,
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
