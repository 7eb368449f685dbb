"""Charts of several vehicles on top of each other, and the g-g diagram of all drives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...manoeuvres import Chart, Curve, Evaluation, Result
from .svg_chart import INK, Drawn, chart_svg, legend_html

__all__ = ["Picture", "gg_pictures", "laid_over", "pictures_of"]

MOST_DOTS = 600
"""Of a vehicle in the g-g diagram."""
MOST_NAMED, FADING = 3, 0.6
"""Curves of a kind and vehicle that each have a name, and how much fainter one is than the last."""
SHARED = ("cones", "limit")
"""Kinds of curves that are mostly the same for all vehicles, and then drawn once; some go by the
width of a vehicle."""


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


class Layer(NamedTuple):
    """A chart of a vehicle."""

    name: str
    number: int
    """Of the vehicle, for its colour."""
    chart: Chart


def pictures_of(evaluation: Evaluation, results: Sequence[Result]) -> list[Picture]:
    """The charts of one manoeuvre: those of the same title and axes together."""
    layers = [
        (result.car.name, result.findings.charts)
        for result in results
        if result.findings is not None
    ]
    reference = evaluation.reference
    if reference is not None and results:
        findings = reference.of(results[0].car.name, results[0].manoeuvre.name)
        if findings is not None:
            layers.append((reference.name, findings.charts))
    return laid_over(layers)


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
    return laid_over(layers)


def laid_over(layers: Sequence[tuple[str, Sequence[Chart]]]) -> list[Picture]:
    """Charts of the same title and axes together, of vehicles with these names."""
    together: dict[tuple[str, str, str], list[Layer]] = {}
    for number, (name, charts) in enumerate(layers):
        for chart in charts:
            key = chart.title, chart.x_label, chart.y_label
            together.setdefault(key, []).append(Layer(name, number, chart))
    return [
        Picture(own[0].chart, _of_one(own[0].chart.curves) if len(layers) == 1 else _of_all(own))
        for own in together.values()
    ]


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


def _of_all(layers: Sequence[Layer]) -> list[Drawn]:
    drawn: list[Drawn] = []
    for layer in layers:
        drawn += _shared(layer, layers)
        drawn += _of_several(layer)
    return drawn


def _shared(layer: Layer, layers: Sequence[Layer]) -> list[Drawn]:
    """What the vehicle is the first to have of `SHARED`, with the names of those who have it unless
    it is all who have such a thing."""
    drawn: list[Drawn] = []
    for curve in layer.chart.curves:
        if curve.kind not in SHARED:
            continue
        those = [one for one in layers if any(_same(curve, c) for c in one.chart.curves)]
        others = [one for one in layers if any(curve.kind == c.kind for c in one.chart.curves)]
        if those[0] is layer:
            names = "" if len(those) == len(others) else f"{', '.join(o.name for o in those)}: "
            drawn.append(Drawn(curve.x, curve.y, f"{names}{curve.label}", curve.kind, layer.number))
    return drawn


def _same(one: Curve, other: Curve) -> bool:
    alike = one.kind == other.kind and one.label == other.label
    return alike and np.array_equal(one.x, other.x) and np.array_equal(one.y, other.y)


def _of_several(layer: Layer) -> list[Drawn]:
    """All with the colour of their vehicle; a few fade from one to the next, many have one name."""
    own = [curve for curve in layer.chart.curves if curve.kind not in SHARED]
    counts: dict[str, int] = {}
    drawn: list[Drawn] = []
    for curve in own:
        many = [one.kind for one in own].count(curve.kind) > MOST_NAMED
        k = counts.get(curve.kind, 0)
        counts[curve.kind] = k + 1
        label = f"{layer.name}, {curve.kind}s" if many else f"{layer.name}: {curve.label}"
        opacity = 1.0 if many else FADING**k
        drawn.append(Drawn(curve.x, curve.y, label, curve.kind, layer.number, opacity))
    return drawn
