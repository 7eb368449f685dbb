"""What a figure shows, apart from who draws it: diagrams on a grid, made of marks.

Everything here is plain data in the units of the screen (degrees for angles). The painters turn a
`Sheet` into a Matplotlib figure, a Plotly figure or a small SVG, so all of them show the same
numbers. In texts, a name between backticks is a symbol: `v_y` is drawn as v with an index y.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np

from ...arrays import Array

Dash = Literal["solid", "dash", "dot"]
Symbol = Literal["circle", "ring", "square", "cross", "diamond"]

INK = "#333333"
GREY = "#888888"
BLUE = "#0072B2"


class Curve(NamedTuple):
    """A line through points; NaN breaks it."""

    x: Array
    y: Array
    label: str = ""
    colour: str = BLUE
    dash: Dash = "solid"
    width: float = 1.4
    """In points, 1/72 inch."""
    steps: bool = False
    """Whether a value holds until the next point, as an input does."""
    opacity: float = 1.0


class Band(NamedTuple):
    """The area between two curves."""

    x: Array
    low: Array
    high: Array
    label: str = ""
    colour: str = BLUE
    opacity: float = 0.3


class Dots(NamedTuple):
    """Points, in one colour or coloured by `values`."""

    x: Array
    y: Array
    label: str = ""
    colour: str = BLUE
    symbol: Symbol = "circle"
    size: float = 5.0
    """Diameter in points."""
    values: Array | None = None
    """What colours the points, on the scale of the diagram."""
    opacity: float = 1.0


class Trail(NamedTuple):
    """A line coloured by values, on the scale of the diagram."""

    x: Array
    y: Array
    values: Array
    """One per point; a piece between two points has their mean."""
    width: float = 2.2


class Arrows(NamedTuple):
    """Small heads that point from (x, y) towards (x + dx, y + dy)."""

    x: Array
    y: Array
    dx: Array
    dy: Array
    colour: str = INK
    size: float = 9.0
    """Length in points, whatever dx and dy are."""


class Areas(NamedTuple):
    """Closed outlines, filled."""

    outlines: tuple[Array, ...]
    """Each (n, 2), not repeating its first point."""
    label: str = ""
    fill: str = "#D6DAE0"
    edge: str = ""
    """Empty for none."""
    opacity: float = 1.0
    width: float = 0.8


class Rule(NamedTuple):
    """A straight line across the whole diagram at a value of x or y."""

    at: float
    axis: Literal["x", "y"] = "y"
    label: str = ""
    """Written beside the line."""
    colour: str = GREY
    dash: Dash = "dash"
    width: float = 0.9


class Words(NamedTuple):
    """A short text at a point."""

    x: float
    y: float
    text: str
    colour: str = "#666666"
    side: Literal["left", "right", "above", "below"] = "right"
    """Of the point, where the text stands."""


Mark = Curve | Band | Dots | Trail | Arrows | Areas | Rule | Words


class Axis(NamedTuple):
    """An axis of a diagram."""

    label: str = ""
    """With its unit in brackets."""
    log: bool = False
    low: float | None = None
    high: float | None = None
    group: str = ""
    """Diagrams with the same word here share their range and are zoomed together."""
    ticks: bool = True
    """Whether numbers are written at it."""
    step: float | None = None
    """Distance of its ticks, where it matters, such as 45°."""


class Scale(NamedTuple):
    """What colours mean in a diagram."""

    label: str
    low: float
    high: float


class Diagram(NamedTuple):
    """One pair of axes with what is drawn between them, in this order from the back."""

    marks: tuple[Mark, ...]
    title: str = ""
    x: Axis = Axis()
    y: Axis = Axis()
    equal: bool = False
    """Whether a metre is as long along x as along y."""
    scale: Scale | None = None
    """Needed by marks that are coloured by values."""
    legend: Literal["above", "upper left", "none"] = "above"
    """Above the frame at the right, where it covers no data, or within."""
    grid: bool = True


class Cell(NamedTuple):
    """A diagram and its place on the grid."""

    diagram: Diagram
    row: int
    column: int
    rows: int = 1
    columns: int = 1


class Sheet(NamedTuple):
    """A whole figure."""

    cells: tuple[Cell, ...]
    widths: tuple[float, ...]
    """Of the columns of the grid, in inches."""
    heights: tuple[float, ...]
    """Of the rows of the grid, in inches."""
    title: str = ""
    keys: tuple[Curve | Band | Dots | Areas, ...] = ()
    """What a legend beside the title explains for all diagrams; their numbers are not drawn."""
    warning: str = ""
    """Shown in red below, such as why a run ended early."""

    def sized(self, size: tuple[float, float] | None) -> Sheet:
        """The same sheet with another width and height in inches; None leaves it as it is."""
        if size is None:
            return self
        across, down = size[0] / sum(self.widths), size[1] / sum(self.heights)
        return self._replace(
            widths=tuple(across * w for w in self.widths),
            heights=tuple(down * h for h in self.heights),
        )


class Key(NamedTuple):
    """An entry of a legend."""

    label: str
    mark: Mark
    colour: str


def legend(diagram: Diagram) -> list[Key]:
    """One entry for each label. Where marks of several colours share one, it is grey."""
    found: dict[str, Key] = {}
    for mark in diagram.marks:
        label = "" if isinstance(mark, (Trail, Arrows, Rule, Words)) else mark.label
        if not label:
            continue
        colour = colour_of(mark)
        known = found.get(label)
        if known is None:
            found[label] = Key(label, mark, colour)
        elif known.colour != colour:
            found[label] = known._replace(colour=GREY)
    # What several have in common comes after them.
    return sorted(found.values(), key=lambda key: key.colour == GREY)


def colour_of(mark: Mark) -> str:
    """The colour a mark is known by."""
    if isinstance(mark, Areas):
        return mark.fill
    return INK if isinstance(mark, Trail) else mark.colour


def room(values: Iterable[Array], share: float = 0.06) -> tuple[float | None, float | None]:
    """A range with room above and below.

    A constant gets a span that does not blow up its rounding; nothing finite gets no range.
    """
    parts = [np.asarray(v, dtype=float).ravel() for v in values]
    known = np.concatenate([np.empty(0), *(p[np.isfinite(p)] for p in parts)])
    if known.size == 0:
        return None, None
    low, high = float(known.min()), float(known.max())
    if high - low < 1e-3 * max(1.0, abs(low), abs(high)):
        middle, half = 0.5 * (low + high), max(0.5, 0.1 * abs(high))
        return middle - half, middle + half
    return low - share * (high - low), high + share * (high - low)
