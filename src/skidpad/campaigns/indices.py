"""Sobol's sensitivity indices of a campaign: which factor explains how much of a column's variance.

SALib estimates them from the runs of the design `Saltelli`; its bootstrap draws from a fixed seed,
so that the intervals are the same whenever they are asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..arrays import AnyArray, Array
from ..brief import brief_repr, counted
from ..checks import finite
from ..errors import InvalidValue
from ..extras import require
from ..record import unknown_name
from .experiment import RUN
from .folder import Folder

_RESAMPLES = 100
"""Of the bootstrap."""
_AT_ONCE = 1_000_000
"""Numbers that are drawn at a time, so that memory does not grow with the resamples."""
_SEED = 1
"""Not 0, which SALib takes for none."""


class SobolIndices(NamedTuple):
    """How much of the variance each factor explains, with confidence intervals."""

    factors: tuple[str, ...]
    first: Array
    """By each factor alone, (factors,); estimates may lie a little outside of 0 to 1."""
    first_low: Array
    first_high: Array
    total: Array
    """By each factor with all that it does together with others, (factors,)."""
    total_low: Array
    total_high: Array
    samples: int
    """Blocks of runs that were counted."""
    left_out: int
    """Blocks with a run that is not done or has no finite number: left out as a whole."""
    level: float
    """Confidence of the intervals, such as 0.95."""

    __repr__ = brief_repr

    def __str__(self) -> str:
        lines = [
            f"{name}: {self.first[k]:.3f} ({self.first_low[k]:.3f} to {self.first_high[k]:.3f}) "
            f"alone, {self.total[k]:.3f} ({self.total_low[k]:.3f} to {self.total_high[k]:.3f}) "
            "with others"
            for k, name in enumerate(self.factors)
        ]
        less = f", {self.left_out} left out" if self.left_out else ""
        return "\n".join([*lines, f"{counted(self.samples, 'sample')}{less}"])


def sobol_indices(folder: Folder, name: str, level: float = 0.95) -> SobolIndices:
    """The indices of a column; raises unless the design is `Saltelli`."""
    design, factors = folder.plan["design"], tuple(folder.plan["factors"])
    if design.get("kind") != "saltelli":
        raise InvalidValue(
            f"design = {design.get('kind')!r}: Sobol's indices need the runs of Saltelli"
        )
    known = [column.name for column in folder.columns if column.name not in factors]
    if name not in known:
        raise InvalidValue(unknown_name("the campaign", name, known, "column"))
    if not 0.0 < finite("level", level) < 1.0:
        raise InvalidValue(f"level = {level} must be between 0 and 1, such as 0.95")
    second = bool(design.get("second_order"))
    block = (2 if second else 1) * len(factors) + 2
    read = folder.read((RUN, name))
    values, left_out = _whole_blocks(read[RUN], np.asarray(read[name], float), block)
    if len(values) < 2:
        raise InvalidValue(
            f"{name}: {counted(len(values), 'sample')} of {block} runs have a number in all of "
            "them; at least 2 are needed"
        )
    ends = values[:, [0, -1]]
    if np.ptp(ends) == 0.0:
        raise InvalidValue(f"{name} = {ends[0, 0]:g} in all runs: there is no variance to explain")
    first, total = _estimated(values, factors, second, level)
    return SobolIndices(factors, *first, *total, len(values), left_out, level)


def _whole_blocks(runs: AnyArray, values: Array, block: int) -> tuple[Array, int]:
    """Values (samples, block) of the blocks that have a finite number in each run, and how many
    others have been begun."""
    samples, place = np.divmod(runs, block)
    count = int(samples.max()) + 1 if len(runs) else 0
    table = np.full((count, block), np.nan)
    table[samples, place] = values
    begun = np.zeros(count, bool)
    begun[samples] = True
    whole = np.isfinite(table).all(axis=1)
    return table[whole], int((begun & ~whole).sum())


_Ends: TypeAlias = tuple[Array, Array, Array]
"""Values with their lower and upper ends."""


def _estimated(
    values: Array, factors: tuple[str, ...], second: bool, level: float
) -> tuple[_Ends, _Ends]:
    """First and total indices."""
    sobol: Any = require("SALib.analyze.sobol", purpose="Study.sensitivity")
    problem = {"num_vars": len(factors), "names": list(factors)}
    # Indices of pairs are not asked for, so their runs are left aside.
    outputs = values[:, [*range(len(factors) + 1), -1]] if second else values
    at_once = min(max(_AT_ONCE // len(values), 2), _RESAMPLES)
    analyses: list[Any] = [
        sobol.analyze(
            problem,
            outputs.ravel(),
            calc_second_order=False,
            num_resamples=at_once,
            keep_resamples=True,
            seed=_SEED + k,
        )
        for k in range(-(-_RESAMPLES // at_once))
    ]
    return _ends(analyses, "S1", level), _ends(analyses, "ST", level)


def _ends(analyses: list[Any], name: str, level: float) -> _Ends:
    """From the scatter of all resamples, as SALib does it."""
    from scipy.special import ndtri

    value = np.asarray(analyses[0][name], float)
    resampled = np.concatenate([one[f"{name}_conf_all"] for one in analyses])
    reach = float(ndtri(0.5 + 0.5 * level)) * resampled.std(axis=0, ddof=1)
    return value, value - reach, value + reach
