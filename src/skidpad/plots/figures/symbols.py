"""Names of quantities as symbols of print: `v_y` between backticks becomes v with an index y."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

GREEK = {
    "alpha": "α",
    "beta": "β",
    "delta": "δ",
    "kappa": "κ",
    "mu": "μ",
    "omega": "ω",
    "tau": "τ",
}
_QUOTED = re.compile(r"`([^`]+)`")


def parts(name: str) -> tuple[str, str]:
    """The letter of a symbol and its index, empty if it has none: F_z_fl is F with z,fl."""
    letter, _, index = name.partition("_")
    return GREEK.get(letter, letter), index.replace("_", ",")


def plain(text: str) -> str:
    """The text without marks, as for a tooltip."""
    return _QUOTED.sub(r"\1", text)


def mathtext(text: str) -> str:
    """As Matplotlib writes it."""

    def written(letter: str, index: str) -> str:
        lower = f"_{{\\mathrm{{{index}}}}}" if index else ""
        upright = letter if len(letter) == 1 else f"\\mathrm{{{letter}}}"
        return f"${upright}{lower}$"

    # A dollar in somebody's title is a dollar.
    return _written(text.replace("$", r"\$"), written)


def html(text: str) -> str:
    """As Plotly and web pages write it, with everything else escaped."""

    def written(letter: str, index: str) -> str:
        slanted = f"<i>{letter}</i>" if len(letter) == 1 else letter
        return slanted + (f"<sub>{index}</sub>" if index else "")

    return _written(escape(text), written)


def svg(text: str) -> str:
    """As SVG text writes it, with everything else escaped."""

    def written(letter: str, index: str) -> str:
        style = ' font-style="italic"' if len(letter) == 1 else ""
        slanted = f"<tspan{style}>{letter}</tspan>"
        if not index:
            return slanted
        # The second step up takes the line back to where it was; it needs a letter to step with.
        lower = f'<tspan dy="0.25em" font-size="75%">{index}</tspan>'
        return f'{slanted}{lower}<tspan dy="-0.19em">\u200b</tspan>'

    return _written(escape(text), written)


def _written(text: str, write: Callable[[str, str], str]) -> str:
    return _QUOTED.sub(lambda found: write(*parts(found[1])), text)
