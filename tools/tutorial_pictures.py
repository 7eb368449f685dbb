"""Pictures of the tutorials, from the numbers of their pages.

The Python blocks of a page are run, and what they leave is drawn: what a page shows and what it
prints is of the same run. `make_pictures.py` lists the functions.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

TUTORIALS = Path(__file__).parents[1] / "docs" / "tutorials"


def values_of(name: str) -> dict[str, Any]:
    """The variables that the Python blocks of a page leave, run in a folder of their own."""
    page = (TUTORIALS / f"{name}.md").read_text("utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    values: dict[str, Any] = {"__name__": "__main__"}
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
    ):
        exec(compile(code, f"docs/tutorials/{name}.md", "exec", dont_inherit=True), values)
    return values


def formula_student(file: Path) -> None:
    """What changes of the car are worth in the two events, beside the car as it is."""
    import matplotlib.pyplot as plt

    from skidpad.view.plots.style import BLUE, INK, ORANGE, STYLE

    values = values_of("formula_student")
    changes = [name for name in values["changes"] if name != "as it is"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
        events = {"skidpad": values["circles"], "acceleration": values["straight"]}
        for (event, result), shift, colour in zip(
            events.items(), (-0.18, 0.18), (BLUE, ORANGE), strict=True
        ):
            times = np.asarray(result["time"])
            gains = 1e3 * (times[1:] - times[0])
            axes.barh(np.arange(len(changes)) + shift, gains, 0.34, color=colour, label=event)
        axes.axvline(0.0, color=INK, lw=0.8)
        axes.set(
            yticks=np.arange(len(changes)),
            yticklabels=changes,
            xlabel="ms, to the left is faster",
            title="What a change is worth",
        )
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.legend(loc="lower right")
        figure.savefig(file, dpi=130)
        plt.close(figure)


def control(file: Path) -> None:
    """The band of all lane changes of the study, its mean and its worst run."""
    import matplotlib.pyplot as plt

    from skidpad.view.plots.style import BLUE, GREY, RED, STYLE

    values = values_of("control")
    study, low, high, worst = (values[name] for name in ("study", "low", "high", "worst"))
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(8.4, 2.8), layout="constrained")
        for axes in panels:
            axes.fill_between(
                study.t, low, high, color=BLUE, alpha=0.25, lw=0, label="90 % of the cars"
            )
            axes.plot(study.t, study.mean("y"), color=BLUE, label="mean")
            axes.plot(worst.t, worst["y"], color=RED, lw=1.0, label="worst of 250")
            axes.axhline(3.8, color=GREY, lw=0.8, ls=":")
            axes.set(xlabel="time in s", ylabel="y in m")
        panels[0].set(title="Lane changes in gusts", xlim=(0.0, 4.0))
        panels[0].legend(loc="lower right")
        panels[1].set(title="The end of them", xlim=(1.0, 4.0), ylim=(3.3, 3.95))
        panels[1].annotate("30 cm too far", (3.95, 3.82), color=GREY, fontsize=8, ha="right")
        figure.savefig(file, dpi=130)
        plt.close(figure)


def robotics(file: Path) -> None:
    """What the lidar hit, and the way of the robot."""
    import matplotlib.pyplot as plt

    from skidpad.view.plots.style import BLUE, INK, ORANGE, STYLE

    values = values_of("robotics")
    dots, places = values["dots"], np.array(values["places"])
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
        axes.plot(*dots.T, ",", color=BLUE, alpha=0.6, rasterized=True)
        axes.plot(*places.T, color=ORANGE)
        axes.plot(*places[-1], "o", color=ORANGE, ms=5)
        axes.set(title="What the lidar saw", xlabel="x in m", ylabel="y in m", aspect="equal")
        axes.annotate("the crate", (0.65, -2.0), color=INK, fontsize=8)
        axes.annotate("the robot, 20 s", (-0.4, -0.8), color=INK, fontsize=8)
        figure.savefig(file, dpi=130)
        plt.close(figure)
