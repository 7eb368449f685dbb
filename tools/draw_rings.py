"""Draws docs/pictures/rings.svg from the list of rings in docs/architecture.md."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, PADDING, LINE, STEP, NAMES = 900, 14, 19, 12, 195
SHADES = ("#0b3c5d", "#13547f", "#1d6ca0", "#2f83b7", "#4a98c6", "#68acd3", "#86bfde", "#a3d0e7",
          "#bedeef", "#d3e8f4", "#e4f0f8", "#f1f7fb")  # fmt: skip


def rings() -> list[tuple[str, list[str]]]:
    """Names and packages of the rings, innermost first."""
    text = (DOCS / "architecture.md").read_text("utf-8")
    block = re.search(r"```rings\n(.*?)```", text, re.S)
    assert block is not None
    pairs = (line.split(":", 1) for line in block.group(1).strip().splitlines())
    return [(name.strip(), packages.split()) for name, packages in pairs]


def wrapped(words: list[str], width: int) -> list[str]:
    """Words in lines of at most so many characters."""
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 3 > width:
            lines.append("")
        lines[-1] += ("   " if lines[-1] else "") + word
    return lines


def band(y: int, k: int, name: str, packages: list[str]) -> tuple[str, int]:
    """One ring as a band, and its height. Inner rings are indented: the others lie around them."""
    indent = (len(SHADES) - 1 - k) * STEP
    ink = "#ffffff" if k < 6 else "#0b2a3f"
    x, wide = indent, WIDTH - 2 * indent
    lines = wrapped(packages, (wide - NAMES) // 8)
    height = PADDING * 2 + LINE * len(lines)
    parts = [
        f'<rect x="{x}" y="{y}" width="{wide}" height="{height}" rx="9" fill="{SHADES[k]}"/>',
        f'<text x="{x + 16}" y="{y + PADDING + 13}" fill="{ink}" font-size="13" '
        f'font-weight="600">{name}</text>',
    ]
    for n, line in enumerate(lines):
        parts.append(
            f'<text x="{x + NAMES}" y="{y + PADDING + 13 + n * LINE}" fill="{ink}" font-size="13" '
            f'xml:space="preserve" font-family="ui-monospace, Menlo, monospace">{line}</text>'
        )
    return "\n".join(parts), height


def main() -> None:
    """Write the picture: the innermost ring at the bottom, as what everything stands on."""
    y, parts = 8, []
    listed = rings()
    for k, (name, packages) in reversed(list(enumerate(listed))):
        drawn, height = band(y, k, name, packages)
        parts.append(drawn)
        y += height + 6
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 4}" '
        'font-family="system-ui, sans-serif" role="img" aria-label="Rings of the package, the '
        'outermost on top; imports go down">'
    )
    (DOCS / "pictures" / "rings.svg").write_text("\n".join([head, *parts, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
