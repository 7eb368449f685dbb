"""Which runs stand for all that the factors allow, so that shares of them are probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import AnyArray
from .experiment import Runs

_DRAWN = ("random", "converging", "latin_hypercube", "sobol", "saltelli")
_CHOSEN = ("refinement", "subset_simulation")
_LISTED = ("grid", "table")


def reason_against(plan: Mapping[str, Any], *, listed: bool = False) -> str:
    """Why shares of the runs of a plan are no probabilities; empty if they are.

    Runs of a grid or a table are what somebody has listed, not drawn: `listed` takes them for drawn
    ones, each as likely as the other.
    """
    kind = plan["design"].get("kind", "")
    if kind in _CHOSEN:
        return f"the runs of a {kind.replace('_', ' ')} were chosen by what came out of others"
    if kind in _DRAWN or listed:
        return ""
    if kind in _LISTED:
        return f"the runs of a {kind} were listed, not drawn"
    return f"whether the runs of the design {kind!r} were drawn is not known"


def reason_for_no_interval(plan: Mapping[str, Any], column: str) -> str:
    """Why no ordinary confidence interval of a column holds; empty if one does."""
    design = plan["design"]
    if design.get("kind") == "converging" and design.get("column") == column:
        return f"the design looked at {column} until it was narrow; the one that holds is its own"
    return reason_against(plan)


def independent(plan: Mapping[str, Any], runs: Runs) -> AnyArray:
    """Which of these runs were drawn, rather than put together from others: all, but of the blocks
    of a Saltelli design the first and the last only."""
    design = plan["design"]
    if design.get("kind") != "saltelli":
        return np.ones(len(runs), bool)
    block = (2 if design.get("second_order") else 1) * len(plan["factors"]) + 2
    place = runs % block
    return (place == 0) | (place == block - 1)
