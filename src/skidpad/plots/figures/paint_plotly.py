"""Drawing a sheet with Plotly: to zoom, to point at, to send as one page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...extras import require
from .plotly_marks import Place, key_look, layout_parts, shared_key, traces
from .sheet import INK, Axis, Cell, Diagram, Sheet, legend
from .symbols import html

PIXELS = 110.0
"""Per inch."""
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 18.0, 52.0, 48.0
_BESIDE, _ABOVE, _BELOW, _BAR = 62.0, 34.0, 8.0, 84.0
"""Pixels for the numbers beside a diagram, its title above, the next row below, a colour bar."""


class Box(NamedTuple):
    """Where a diagram lies, as shares of the area within the margins."""

    left: float
    right: float
    low: float
    high: float


def figure(sheet: Sheet) -> Any:
    """The sheet as a `plotly.graph_objects.Figure`."""
    go = require("plotly.graph_objects", extra="plots", purpose="a figure with backend='plotly'")
    drawn = go.Figure()
    width, height = PIXELS * sum(sheet.widths), PIXELS * sum(sheet.heights)
    top = _TOP if sheet.title or sheet.keys else 14.0
    bottom = _BOTTOM + (24.0 if sheet.warning else 0.0)
    inner = (width - _LEFT - _RIGHT, height - top - bottom)
    layout: dict[str, Any] = {"shapes": [], "annotations": []}
    groups: dict[tuple[str, str], str] = {}
    for number, cell in enumerate(sheet.cells, start=1):
        box = _box(sheet, cell, inner)
        place = Place("" if number == 1 else str(number), _slope(box, cell.diagram, inner))
        drawn.add_traces(_traces(go, cell.diagram, place))
        _add_axes(layout, cell.diagram, place, box, groups)
        _add_heading(layout, cell.diagram, place, box)
        shapes, notes = layout_parts(cell.diagram, place)
        layout["shapes"] += shapes
        layout["annotations"] += notes
    if sheet.keys:
        _add_keys(go, drawn, layout, sheet)
    if sheet.warning:
        layout["annotations"].append(_warning(sheet.warning))
    drawn.update_layout(
        template="plotly_white",
        width=round(width),
        height=round(height),
        margin={"l": _LEFT, "r": _RIGHT, "t": top, "b": bottom},
        font={"family": FONT, "size": 12, "color": INK},
        title={"text": f"<b>{html(sheet.title)}</b>", "x": 0.01, "font": {"size": 16}},
        hovermode="closest",
        **layout,
    )
    return drawn


def _box(sheet: Sheet, cell: Cell, inner: tuple[float, float]) -> Box:
    across, down = (np.append(0.0, np.cumsum(sizes)) for sizes in (sheet.widths, sheet.heights))
    across, down = across / across[-1], down / down[-1]
    last_row = cell.row + cell.rows
    left = across[cell.column] + (_BESIDE / inner[0] if cell.column else 0.0)
    right = across[cell.column + cell.columns] - (_BAR if cell.diagram.scale else 10.0) / inner[0]
    high = 1.0 - down[cell.row] - _ABOVE / inner[1]
    numbers = 26.0 if last_row < len(sheet.heights) and cell.diagram.x.ticks else 0.0
    beyond = _BELOW if last_row < len(sheet.heights) else 0.0
    low = 1.0 - down[last_row] + (numbers + beyond) / inner[1]
    return Box(float(left), float(right), float(low), float(high))


def _slope(box: Box, diagram: Diagram, inner: tuple[float, float]) -> float:
    """Pixels per unit of y over pixels per unit of x, to turn directions into angles."""
    if diagram.equal:
        return 1.0
    spans = [_span(axis) for axis in (diagram.x, diagram.y)]
    across, up = (box.right - box.left) * inner[0], (box.high - box.low) * inner[1]
    return (up / spans[1]) / (across / spans[0])


def _span(axis: Axis) -> float:
    return 1.0 if axis.low is None or axis.high is None else axis.high - axis.low


def _traces(go: Any, diagram: Diagram, place: Place) -> list[Any]:
    made = [go.Scatter(one) for mark in diagram.marks for one in traces(mark, diagram, place)]
    listed: set[str] = set()
    keys = [] if diagram.legend == "none" else legend(diagram)
    colours = {key.label: key for key in keys}
    for trace in made:
        key = colours.get(trace.legendgroup)
        first = key is not None and trace.legendgroup not in listed
        shared = key is not None and shared_key(key)
        trace.showlegend = bool(first and not shared and trace.mode != "none")
        if first and not shared:
            listed.add(trace.legendgroup)
    made += [
        go.Scatter(
            x=[None],
            y=[None],
            mode="lines",
            line={"color": key.colour, "dash": "dash", "width": 1.4},
            name=html(key.label),
            legendgroup=key.label,
            legend=f"legend{place.number}",
            xaxis=f"x{place.number}",
            yaxis=f"y{place.number}",
        )
        for key in keys
        if shared_key(key)
    ]
    return made


def _add_axes(
    layout: dict[str, Any],
    diagram: Diagram,
    place: Place,
    box: Box,
    groups: dict[tuple[str, str], str],
) -> None:
    n = place.number
    domains = {"x": [box.left, box.right], "y": [box.low, box.high]}
    for name, axis in (("x", diagram.x), ("y", diagram.y)):
        other = "y" if name == "x" else "x"
        made: dict[str, Any] = {
            "domain": domains[name],
            "anchor": f"{other}{n}",
            "title": {"text": html(axis.label), "standoff": 6},
            "showticklabels": axis.ticks,
            "showgrid": diagram.grid,
            "gridcolor": "#E8E8E8",
            "zeroline": False,
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": "#999999",
            "linecolor": "#999999",
            "showline": True,
        }
        if axis.log:
            made |= {"type": "log", "minor": {"showgrid": True, "gridcolor": "#F2F2F2"}}
        if axis.step is not None:
            made["dtick"] = axis.step
        if axis.low is not None and axis.high is not None:
            ends = [axis.low, axis.high]
            made["range"] = np.log10(ends).tolist() if axis.log else ends
        if axis.group:
            first = groups.setdefault((name, axis.group), f"{name}{n}")
            if first != f"{name}{n}":
                made["matches"] = first
        layout[f"{name}axis{n}"] = made
    if diagram.equal:
        layout[f"yaxis{n}"] |= {"scaleanchor": f"x{n}", "scaleratio": 1.0}


def _add_heading(layout: dict[str, Any], diagram: Diagram, place: Place, box: Box) -> None:
    if diagram.title:
        layout["annotations"].append(
            {
                "text": f"<b>{html(diagram.title)}</b>",
                "x": box.left,
                "y": box.high,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 5,
                "showarrow": False,
                "font": {"size": 13},
            }
        )
    inside = diagram.legend != "above"
    layout[f"legend{place.number}"] = {
        "x": box.left if inside else box.right,
        "y": box.high,
        "xanchor": "left" if inside else "right",
        "yanchor": "top" if inside else "bottom",
        "orientation": "v" if inside else "h",
        "bgcolor": "rgba(255,255,255,0.6)",
        "font": {"size": 10.5},
        "borderwidth": 0,
        "itemwidth": 30,
    }
    if diagram.scale is not None:
        layout[f"coloraxis{place.number}"] = {
            "colorscale": "Viridis",
            "cmin": diagram.scale.low,
            "cmax": diagram.scale.high,
            "colorbar": {
                "title": {"text": html(diagram.scale.label), "side": "right"},
                "x": box.right,
                "xanchor": "left",
                "xpad": 6,
                "y": box.low,
                "yanchor": "bottom",
                "ypad": 0,
                "len": box.high - box.low,
                "thickness": 12,
                "outlinewidth": 0,
            },
        }


def _add_keys(go: Any, drawn: Any, layout: dict[str, Any], sheet: Sheet) -> None:
    """A legend in the line of the title; a click hides the lines of that name everywhere."""
    for mark in sheet.keys:
        # Plotly starts numbers with 1, and no sheet has so many diagrams.
        look = key_look(mark)
        drawn.add_trace(
            go.Scatter(
                x=[None], y=[None], name=html(mark.label), legendgroup=mark.label,
                legend="legend99", **look,
            )
        )  # fmt: skip
    layout["legend99"] = {
        "x": 1.0,
        "y": 1.0,
        "yref": "container",
        "xanchor": "right",
        "yanchor": "top",
        "orientation": "h",
    }


def _warning(text: str) -> dict[str, Any]:
    return {
        "text": text,
        "x": 0.0,
        "y": 0.0,
        "xref": "paper",
        "yref": "paper",
        "yshift": -58,
        "xanchor": "left",
        "showarrow": False,
        "font": {"color": "#B03000"},
    }
