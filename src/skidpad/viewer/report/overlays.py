"""Charts of several vehicles on top of each other, and the g-g diagram of all drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from ...arrays import Array
from ...manoeuvres import Chart, Curve, Evaluation, Result
from .svg_chart import INK, Drawn, chart_svg, legend_html

__all__ = ["Picture", "gg_pictures", "pictures_of"]

MOST_DOTS = 600
"""Of a vehicle in the g-g diagram."""
MOST_NAMED, FADING = 3, 0.6
"""Curves of a kind and vehicle that each have a name, and how much fainter one is than the last."""
ALONE = ("cones", "limit")
"""Kinds of curves that are the same for all vehicles: drawn once."""


@dataclass
class Picture:
    """A chart with the curves of everybody."""

    chart: Chart
    curves: list[Drawn] = field(default_factory=list[Drawn])

    def html(self) -> str:
        """As a figure of the page."""
        chart = self.chart
        drawing = chart_svg(
            self.curves, chart.x_label, chart.y_label, x_log=chart.x_log, equal=chart.equal
        )
        title = escape(chart.title)
        return (
            f"<figure><figcaption>{title}</figcaption>{drawing}{legend_html(self.curves)}</figure>"
        )


def pictures_of(evaluation: Evaluation, results: Sequence[Result]) -> list[Picture]:
    """The charts of one manoeuvre: those of the same title and axes together."""
    layers = [
        (result.car.name, result.findings.charts)
        for result in results
        if result.findings is not None
    ]
    reference = evaluation.reference
    if reference is not None and results:
        found = reference.of(results[0].car.name, results[0].manoeuvre.name)
        if found is not None:
            layers.append((reference.name, found.charts))
    return _laid_over(layers)


def gg_pictures(results: Sequence[Result]) -> list[Picture]:
    """Longitudinal over lateral acceleration of all drives of each vehicle."""
    layers: list[tuple[str, Sequence[Chart]]] = []
    cars = {result.car.name: result.car for result in results}
    for name, car in cars.items():
        own = [run for one in results if one.car.name == name for run in one.runs]
        parts = [
            np.stack([run["a_y"][:, 0], run["a_x"][:, 0]])
            for run in (run.since(0.0) for run in own)
            if "a_x" in run and "a_y" in run
        ]
        if not parts:
            continue
        points: Array = np.concatenate(parts, axis=1)
        points = points[:, np.isfinite(points).all(axis=0)]
        at = np.unique(np.linspace(0, max(points.shape[1] - 1, 0), MOST_DOTS).astype(int))
        curves = [Curve(points[0, at], points[1, at], "all drives", "points")]
        if car.grip < np.inf:
            angle = np.linspace(0.0, 2.0 * np.pi, 121)
            label = "grip"
            curves.append(
                Curve(car.grip * np.cos(angle), car.grip * np.sin(angle), label, "theory")
            )
        labels = "lateral acceleration in m/s²", "longitudinal acceleration in m/s²"
        layers.append((name, [Chart("g-g diagram", *labels, curves, equal=True)]))
    return _laid_over(layers)


def _laid_over(layers: Sequence[tuple[str, Sequence[Chart]]]) -> list[Picture]:
    pictures: dict[tuple[str, str, str], Picture] = {}
    for number, (name, charts) in enumerate(layers):
        for chart in charts:
            key = chart.title, chart.x_label, chart.y_label
            picture = pictures.setdefault(key, Picture(chart))
            if len(layers) == 1:
                picture.curves += _of_one(chart.curves)
            else:
                first = not any(curve.kind in ALONE for curve in picture.curves)
                picture.curves += _of_several(name, number, chart.curves, first)
    return list(pictures.values())


def _of_one(curves: Sequence[Curve]) -> list[Drawn]:
    """Each run with a colour of its own; of several theories each has that of its run, by order."""
    drawn: list[Drawn] = []
    several = [curve.kind for curve in curves].count("theory") > 1
    counts: dict[str, int] = {}
    for curve in curves:
        colour = counts.get(curve.kind, 0)
        counts[curve.kind] = colour + 1
        shown = colour if several or curve.kind != "theory" else INK
        drawn.append(Drawn(curve.x, curve.y, curve.label, curve.kind, shown))
    return drawn


def _of_several(name: str, number: int, curves: Sequence[Curve], first: bool) -> list[Drawn]:
    """All with the colour of their vehicle; a few fade from one to the next, many have one name."""
    own = [curve for curve in curves if first or curve.kind not in ALONE]
    counts: dict[str, int] = {}
    drawn: list[Drawn] = []
    for curve in own:
        many = [one.kind for one in own].count(curve.kind) > MOST_NAMED
        k = counts.get(curve.kind, 0)
        counts[curve.kind] = k + 1
        label = f"{name}, {curve.kind}s" if many else f"{name}: {curve.label}"
        label = curve.label if curve.kind in ALONE else label
        drawn.append(Drawn(curve.x, curve.y, label, curve.kind, number, 1.0 if many else FADING**k))
    return drawn
