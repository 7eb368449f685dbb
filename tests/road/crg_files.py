"""OpenCRG files written by hand, for the tests that read them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FORMATS = ("LRFI", "LDFI", "KRBI", "KDBI")


def header(block: str, numbers: Mapping[str, float]) -> list[str]:
    """A block of names with numbers."""
    return [
        f"${block}",
        *(f"{name.upper()} = {float(value)!r}" for name, value in numbers.items()),
        "$",
    ]


def crg_bytes(
    rows: Any,
    channels: Sequence[str],
    kind: str = "LDFI",
    *,
    road: Mapping[str, float] | None = None,
    modifiers: Mapping[str, float] | None = None,
    options: Mapping[str, float] | None = None,
    virtual: str = "",
) -> bytes:
    """A file with these rows, NaN where there is no number."""
    lines = ["$CT ! written for a test", "a road", "$", *header("ROAD_CRG", road or {})]
    lines += header("ROAD_CRG_MODS", modifiers) if modifiers else []
    lines += header("ROAD_CRG_OPTS", options) if options else []
    lines += ["$KD_Definition", f"#:{kind}", *([f"U:{virtual}"] if virtual else [])]
    lines += [*(f"D:{channel} ! a column" for channel in channels), "$!*****", "$$$$"]
    text = ("\n".join(lines) + "\n").encode("latin-1")
    table = np.asarray(rows, float)
    if kind.startswith("K"):
        return text + binary(table, "f" if kind == "KRBI" else "d")
    return text + written(table, 10 if kind == "LRFI" else 20).encode("latin-1")


def binary(table: np.ndarray, code: str) -> bytes:
    """Big-endian numbers, filled up to records of 80 bytes."""
    size = struct.calcsize(code)
    numbers = list(table.ravel())
    numbers += [float("nan")] * (-len(numbers) % (80 // size))
    return struct.pack(f">{len(numbers)}{code}", *numbers)


def written(table: np.ndarray, width: int) -> str:
    """Rows of text, 80 characters a line."""
    lines: list[str] = []
    for row in table:
        entries = [entry(value, width) for value in row]
        step = 80 // width
        lines += ["".join(entries[k : k + step]) for k in range(0, len(entries), step)]
    return "\n".join(lines) + "\n"


def entry(value: float, width: int) -> str:
    """A number, or what stands for none."""
    if np.isnan(value):
        return "*missing*".rjust(width)
    digits = width - 3
    text = f"{value:.{digits}f}"[: width - 1]
    return (text if width == 10 else f"{value:.12e}").rjust(width)


def stored(folder: Path, content: bytes, name: str = "road.crg") -> Path:
    """The path of a file with this content."""
    path = folder / name
    path.write_bytes(content)
    return path


def sections(places: Sequence[float]) -> list[str]:
    """Channels of heights at listed places."""
    return [f"long section at v = {v:.3f},m" for v in places]


def numbered(count: int) -> list[str]:
    """Channels of heights by number."""
    return [f"long section {k + 1},m" for k in range(count)]
