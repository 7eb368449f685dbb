"""FMUs: a vehicle as a file that co-simulation and modelling tools load.

An FMU is a ZIP file with the description of its variables, a library for each platform and the
source of these. A step of it is one of `Simulator`, to the last bit. What tools can ask of it is
written in `docs/fmu.md`.

Several libraries of macOS in one file, which each processor loads its own part of.

The format is Apple's: a head and a row per part, in big-endian words (`mach-o/fat.h` of the system
describes it). FMI 2.0 has one folder for macOS, whatever the processor.
"""

from __future__ import annotations

import hashlib
import struct
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ..core.checks import one_of
from ..core.files import path_of, replacing
from ..core.progress import Working, working
from ..core.threads import alone
from ..errors import InvalidValue
from .c import c_sources
from .exported import Exported
from .fmu_description import build_description, model_description
from .fmu_programs import Programs
from .fmu_source import DerivativeSource, fixed_files, model_header
from .toolchain import COMPILERS, TARGETS, build_library, host

__all__ = [
    "write_fmu",
]

_MAGIC = 0xCAFEBABE
_MACHO = 0xFEEDFACF
_ALIGNMENT = 14
"""Parts begin at multiples of the largest page, 16 KiB, as a power of two."""


def fat_binary(parts: Sequence[bytes]) -> bytes:
    """One file of 64-bit libraries, each for another processor."""
    rows: list[bytes] = []
    body, page = b"", 1 << _ALIGNMENT
    for part in parts:
        magic, processor, model = struct.unpack_from("<III", part)
        if magic != _MACHO:
            raise InvalidValue(f"a part begins with {magic:#x}, which is no library of macOS")
        offset = page + len(body)
        rows.append(struct.pack(">IIIII", processor, model, offset, len(part), _ALIGNMENT))
        body += part + bytes(-len(part) % page)
    head = struct.pack(">II", _MAGIC, len(rows)) + b"".join(rows)
    return head + bytes(page - len(head)) + body


VERSIONS = (2, 3)
"""Versions of FMI that can be written."""
SYSTEMS = {
    "linux": ("x86_64-linux",),
    "windows": ("x86_64-windows",),
    "macos": ("x86_64-macos", "aarch64-macos"),
}
"""What is built by default, by the name of the system."""
_MOMENT = (1980, 1, 1, 0, 0, 0)
"""Of all files in the archive, so that the same vehicle gives the same file."""
_FOLDERS = {"x86_64-linux": "linux64", "x86_64-windows": "win64"}
"""Folders of binaries in FMI 2.0; macOS has one for both processors, and others have the names of
3.0."""


def write_fmu(
    exported: Exported,
    path: str | Path,
    version: int = 3,
    *,
    platforms: Sequence[str] | None = None,
    compiler: str | None = None,
    sources_only: bool = False,
    queue: int | None = None,
) -> Path:
    """Write a vehicle as an FMU. A line in the terminal says which library is being built.

    Args:
        exported: the vehicle, made by `exported`.
        path: the file, by custom with the suffix .fmu.
        version: of FMI, 3 or 2.
        platforms: what it runs on: "linux", "windows", "macos", or a platform of `toolchain` such
            as "aarch64-linux"; all three if None, or with gcc and clang this machine.
        compiler: "zig", "gcc" or "clang"; Zig if None, which the extra `export` brings.
        sources_only: leave the libraries out; tools that compile FMUs themselves take it.
        queue: room for commands that wait, of a vehicle with dead times; see `c_sources`.

    Returns:
        The path of the file.
    """
    one_of("version", version, VERSIONS)
    if compiler is not None:
        one_of("compiler", compiler, COMPILERS)
    target = path_of(path, "path")
    wanted = () if sources_only else targets_of(platforms, compiler)
    with working(f"deriving {exported.name}") as sign:
        files = described(exported, version, queue=queue)
        sign.show()
        files |= _binaries(exported.name, files, wanted, compiler, version, sign)
    with replacing(target) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, content)
    return target


def described(exported: Exported, version: int, *, queue: int | None = None) -> dict[str, bytes]:
    """The files of an FMU by their paths, all but the libraries."""
    programs, name = Programs(exported), exported.name
    derivatives = DerivativeSource(programs, adjoints=version == 3)
    texts = c_sources(exported, queue=queue)
    sources = {file: texts[file].encode() for file in (f"{name}.h", f"{name}.c")}
    sources |= fixed_files(version)
    sources["derivatives.h"] = derivatives.header().encode()
    built = [f"fmi{version}.c"]
    token = _token(sources, model_description(programs, version, "", built))
    sources["model.h"] = model_header(programs, token, derivatives.lines()).encode()
    if version == 3:
        sources["buildDescription.xml"] = build_description(name, built)
    description = model_description(programs, version, token, built)
    return {"modelDescription.xml": description} | {
        f"sources/{file}": content for file, content in sources.items()
    }


def targets_of(platforms: Sequence[str] | None, compiler: str | None) -> tuple[str, ...]:
    """The platforms of `toolchain` that are asked for."""
    if platforms is None:
        platforms = tuple(SYSTEMS) if compiler in (None, "zig") else (host(),)
    known = [*SYSTEMS, *(name for name in TARGETS if name != "cortex-m7")]
    chosen: dict[str, None] = {}
    for platform in platforms:
        if platform not in known:
            raise InvalidValue(
                f"platforms: {platform!r} is none of them; allowed are {', '.join(known)}"
            )
        chosen |= dict.fromkeys(SYSTEMS.get(platform, (platform,)))
    return tuple(chosen)


def folder_of(target: str, version: int) -> str:
    """Where the library of a platform lies within the binaries."""
    if version == 2:
        return "darwin64" if target.endswith("macos") else _FOLDERS.get(target, target)
    return target.replace("macos", "darwin")


def _token(sources: Mapping[str, bytes], description: bytes) -> str:
    """What names this FMU and no other: a digest of all that it is made of."""
    digest = hashlib.sha256(description)
    for name, content in sources.items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    text = digest.hexdigest()[:32]
    return "{" + "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]]) + "}"


def _binaries(
    name: str,
    files: Mapping[str, bytes],
    targets: Sequence[str],
    compiler: str | None,
    version: int,
    sign: Working,
) -> dict[str, bytes]:
    """The libraries for some platforms, by their paths."""
    built: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path, content in files.items():
            if path.startswith("sources/"):
                (folder / Path(path).name).write_bytes(content)
        for k, target in enumerate(targets):
            sign.label = f"building {name} for {target} ({k + 1} of {len(targets)})"
            file = f"{name}{TARGETS[target].suffix}"
            out = folder / target / file
            out.parent.mkdir()
            # Nothing but the functions of FMI is seen from outside, and no path of this machine.
            flags = ["-fvisibility=hidden", "-s"]
            if target.endswith("macos"):
                flags.append(f"-Wl,-install_name,@rpath/{file}")
            source = folder / f"fmi{version}.c"
            alone(partial(build_library, [source], out, target, compiler, flags=flags), sign.show)
            path = f"binaries/{folder_of(target, version)}/{file}"
            built.setdefault(path, []).append(out.read_bytes())
    return {
        path: parts[0] if len(parts) == 1 else fat_binary(parts) for path, parts in built.items()
    }
