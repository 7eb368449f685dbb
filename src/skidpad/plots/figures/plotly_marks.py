"""The marks of a diagram as Plotly traces, shapes and annotations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .sheet import (
    GREY,
    Areas,
    Arrows,
    Band,
    Curve,
    Diagram,
    Dots,
    Key,
    Mark,
    Rule,
    Trail,
    Words,
    colour_of,
)
from .symbols import html
from .trail_pieces import pieces

SHADES = 48
"""Colours of a line that is coloured by values: Plotly has one colour per line."""
_SYMBOLS = {
    "circle": "circle",
    "ring": "circle-open",
    "square": "square",
    "cross": "x-thin-open",
    "diamond": "diamond",
}
_PER_POINT = 4.0 / 3.0
"""Pixels in 1/72 inch."""


class Place(NamedTuple):
    """Where a diagram is on its sheet."""

    number: str
    """Of its axes: empty for the first, then 2, 3, ..."""
    slope: float
    """Pixels per unit of y over pixels per unit of x."""


def shared_key(key: Key) -> bool:
    """Whether an entry of a legend stands for marks of several colours."""
    return key.colour == GREY and isinstance(key.mark, Curve)


def traces(mark: Mark, diagram: Diagram, place: Place) -> list[dict[str, Any]]:
    """The traces of a mark; rules and words are no traces."""
    if isinstance(mark, Curve):
        return [_curve(mark, place)]
    if isinstance(mark, Band):
        return [_band(mark, place)]
    if isinstance(mark, Dots):
        return [_dots(mark, place)]
    if isinstance(mark, Trail):
        return _trail(mark, diagram, place)
    if isinstance(mark, Arrows):
        return [_arrows(mark, place)]
    return [_areas(mark, place)] if isinstance(mark, Areas) else []


def _base(place: Place, label: str) -> dict[str, Any]:
    named = {"name": html(label), "legendgroup": label} if label else {}
    return {
        "xaxis": f"x{place.number}",
        "yaxis": f"y{place.number}",
        "legend": f"legend{place.number}",
        "hovertemplate": "%{x:.4g}, %{y:.4g}" + ("" if label else "<extra></extra>"),
        **named,
    }


def key_look(mark: Curve | Band | Dots | Areas) -> dict[str, Any]:
    """How the entry of a mark looks in a legend of its own."""
    if isinstance(mark, Curve):
        line = {"color": mark.colour, "dash": mark.dash, "width": max(1.3, mark.width)}
        return {"mode": "lines", "line": line}
    square = isinstance(mark, (Band, Areas))
    colour = _clear(colour_of(mark), mark.opacity)
    symbol = "square" if square else _SYMBOLS[mark.symbol] if isinstance(mark, Dots) else "circle"
    return {"mode": "markers", "marker": {"color": colour, "symbol": symbol, "size": 11}}


def _curve(mark: Curve, place: Place) -> dict[str, Any]:
    return {
        **_base(place, mark.label),
        "x": mark.x,
        "y": mark.y,
        "mode": "markers" if mark.x.size == 1 else "lines",
        "line": {
            "color": mark.colour,
            "width": _PER_POINT * mark.width,
            "dash": mark.dash,
            "shape": "hv" if mark.steps else "linear",
            "simplify": False,
        },
        "marker": {"color": mark.colour},
        "opacity": mark.opacity,
    }


def _band(mark: Band, place: Place) -> dict[str, Any]:
    known = np.isfinite(mark.low) & np.isfinite(mark.high)
    x, low, high = mark.x[known], mark.low[known], mark.high[known]
    return {
        **_base(place, mark.label),
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([high, low[::-1]]),
        "mode": "lines",
        "line": {"width": 0.0, "color": mark.colour},
        "fill": "toself",
        "fillcolor": _clear(mark.colour, mark.opacity),
        "hoverinfo": "skip",
        "hovertemplate": None,
    }


def _dots(mark: Dots, place: Place) -> dict[str, Any]:
    marker: dict[str, Any] = {
        "symbol": _SYMBOLS[mark.symbol],
        "size": _PER_POINT * mark.size,
        "opacity": mark.opacity,
    }
    if mark.values is None:
        marker |= {"color": mark.colour, "line": {"width": 2, "color": mark.colour}}
        return {
            **_base(place, mark.label), "x": mark.x, "y": mark.y, "mode": "markers",
            "marker": marker,
        }  # fmt: skip
    marker |= {"color": mark.values, "coloraxis": f"coloraxis{place.number}"}
    return {
        **_base(place, mark.label),
        "x": mark.x,
        "y": mark.y,
        "mode": "markers",
        "marker": marker,
        "hovertemplate": "%{x:.4g}, %{y:.4g}: %{marker.color:.4g}<extra></extra>",
    }


def _trail(mark: Trail, diagram: Diagram, place: Place) -> list[dict[str, Any]]:
    """Pieces of one shade each, and points to hover over that carry the values."""
    from plotly.colors import sample_colorscale

    assert diagram.scale is not None
    made: list[dict[str, Any]] = [
        {
            **_base(place, ""),
            "x": piece.x,
            "y": piece.y,
            "mode": "lines",
            "line": {
                "color": sample_colorscale("Viridis", [piece.shade])[0],
                "width": _PER_POINT * mark.width,
                "simplify": False,
            },
            "hoverinfo": "skip",
            "hovertemplate": None,
        }
        for piece in pieces(mark, diagram.scale, SHADES)
    ]
    points: dict[str, Any] = {
        "color": mark.values,
        "coloraxis": f"coloraxis{place.number}",
        "opacity": 0.0,
        "size": 8.0,
    }
    made.append(
        {
            **_base(place, ""),
            "x": mark.x,
            "y": mark.y,
            "mode": "markers",
            "marker": points,
            "hovertemplate": "%{x:.4g}, %{y:.4g}: %{marker.color:.4g}<extra></extra>",
        }
    )
    return made


def _arrows(mark: Arrows, place: Place) -> dict[str, Any]:
    # Plotly turns markers clockwise from up.
    angle = 90.0 - np.rad2deg(np.arctan2(mark.dy * place.slope, mark.dx))
    return {
        **_base(place, ""),
        "x": mark.x,
        "y": mark.y,
        "mode": "markers",
        "marker": {
            "symbol": "arrow",
            "angle": angle,
            "size": _PER_POINT * mark.size,
            "color": mark.colour,
            "line": {"width": 0},
        },
        "hoverinfo": "skip",
        "hovertemplate": None,
    }


def _areas(mark: Areas, place: Place) -> dict[str, Any]:
    closed = [np.vstack([outline, outline[:1], [[np.nan, np.nan]]]) for outline in mark.outlines]
    points = np.concatenate(closed)[:-1] if closed else np.empty((0, 2))
    return {
        **_base(place, mark.label),
        "x": points[:, 0],
        "y": points[:, 1],
        "mode": "lines" if mark.edge else "none",
        "line": {"color": mark.edge or mark.fill, "width": _PER_POINT * mark.width},
        "fill": "toself",
        "fillcolor": _clear(mark.fill, mark.opacity) if mark.fill else "rgba(0,0,0,0)",
        "hoverinfo": "skip",
        "hovertemplate": None,
    }


def layout_parts(diagram: Diagram, place: Place) -> tuple[list[Any], list[Any]]:
    """Shapes and annotations of a diagram: rules and words."""
    shapes: list[Any] = []
    notes: list[Any] = []
    for mark in diagram.marks:
        if isinstance(mark, Rule):
            shapes.append(_rule(mark, place))
            if mark.label:
                notes.append(_rule_label(mark, diagram, place))
        elif isinstance(mark, Words):
            notes.append(_words(mark, diagram, place))
    return shapes, notes


def _rule(mark: Rule, place: Place) -> dict[str, Any]:
    n, line = place.number, {"color": mark.colour, "width": 1.3 * mark.width, "dash": mark.dash}
    if mark.axis == "y":
        ends = {"x0": 0, "x1": 1, "xref": f"x{n} domain", "y0": mark.at, "y1": mark.at}
        return {"type": "line", "yref": f"y{n}", "line": line, **ends}
    ends = {"y0": 0, "y1": 1, "yref": f"y{n} domain", "x0": mark.at, "x1": mark.at}
    return {"type": "line", "xref": f"x{n}", "line": line, **ends}


def _rule_label(mark: Rule, diagram: Diagram, place: Place) -> dict[str, Any]:
    n, across = place.number, mark.axis == "y"
    at = _on_axis(mark.at, diagram.y.log if across else diagram.x.log)
    return {
        "text": html(mark.label),
        "showarrow": False,
        "font": {"size": 10, "color": mark.colour},
        "x": 0.99 if across else at,
        "y": at if across else 0.98,
        "xref": f"x{n} domain" if across else f"x{n}",
        "yref": f"y{n}" if across else f"y{n} domain",
        "xanchor": "right" if across else "left",
        "yanchor": "bottom" if across else "top",
    }


_ANCHORS = {
    "right": ("left", "middle", 6, 0),
    "left": ("right", "middle", -6, 0),
    "above": ("center", "bottom", 0, 5),
    "below": ("center", "top", 0, -5),
}


def _words(mark: Words, diagram: Diagram, place: Place) -> dict[str, Any]:
    x_anchor, y_anchor, right, up = _ANCHORS[mark.side]
    return {
        "text": html(mark.text),
        "showarrow": False,
        "font": {"size": 10, "color": mark.colour},
        "x": _on_axis(mark.x, diagram.x.log),
        "y": _on_axis(mark.y, diagram.y.log),
        "xref": f"x{place.number}",
        "yref": f"y{place.number}",
        "xanchor": x_anchor,
        "yanchor": y_anchor,
        "xshift": right,
        "yshift": up,
    }


def _on_axis(value: float, log: bool) -> float:
    # Annotations on a logarithmic axis are placed by the logarithm, shapes by the value.
    return float(np.log10(value)) if log else value


def _clear(colour: str, opacity: float) -> str:
    """A colour `#rrggbb` that lets through what is behind it."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"
