"""Steps of a world that are too long for the controllers of its robots."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from ...units import s
from ...vehicles.wheeled.long_steps import GROWS, growth, longest_calm
from ...vehicles.wheeled.update import Assembly
from ..errors import WorldWarning
from .groups import Group

_MOST_NAMED = 12


def warn_of_long_steps(groups: Iterable[Group], dt: s) -> None:
    """Name the robots that swing with steps of this length, in one warning.

    Those that repeat another program do as that does.
    """
    names, calm = list[str](), dt
    for group in groups:
        model = group.model
        wheeled = isinstance(getattr(model.update, "__self__", None), Assembly)
        if not wheeled or model.reproduces:
            continue
        grown = growth(model, group.params, dt)
        swinging = [k for k, much in enumerate(grown.tolist()) if much > GROWS]
        if swinging:
            names += [group.names[k] for k in swinging]
            calm = min(calm, longest_calm(model, group.params[int(grown.argmax())], dt))
    if not names:
        return
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    way = f"take simul_timestep = {calm:.2g} s, or smaller gains" if calm else "take smaller gains"
    warnings.warn(
        WorldWarning(
            f"steps of {dt:g} s are too long for the controllers of "
            f"{', '.join(sorted(names)[:_MOST_NAMED])}{more}, whose speeds swing: {way}"
        ),
        stacklevel=4,
    )
