"""What something was made with cannot be changed under it: it would only look changed."""

from __future__ import annotations

from typing import Any

import pytest

import skidpad as sp
from skidpad.run.linearisation import Linearisation

CAR = sp.vehicles.commonroad_kinematic_bicycle()
SCENE = """<mvsim_world version="1.0"><simul_timestep>0.01</simul_timestep></mvsim_world>"""


def world() -> sp.World:
    from skidpad.world.xml import loads

    return sp.World(loads(SCENE))


MADE: dict[str, tuple[Any, tuple[str, ...]]] = {
    "simulator": (
        lambda: sp.Simulator(CAR, 0.01),
        ("vehicle", "dt", "integrator", "precision", "state", "time", "input", "disturbance"),
    ),
    "fleet": (
        lambda: sp.Fleet(CAR, 0.01),
        ("plant", "vehicle", "dt", "precision", "device", "on_diverge", "substeps", "lanes"),
    ),
    "linearisation": (lambda: Linearisation(CAR, 0.01), ("vehicle", "dt")),
    "world": (world, ("scene", "dt", "time", "seed")),
}
"""Things that run, and what is read of them."""


@pytest.mark.parametrize("what", MADE)
def test_settings_are_read_only(what: str) -> None:
    make, names = MADE[what]
    made = make()
    for name in names:
        before = getattr(made, name)
        with pytest.raises(AttributeError, match=name):
            setattr(made, name, 0.1)
        assert getattr(made, name) == before


def test_all_that_a_simulator_or_a_fleet_shows_is_read_only() -> None:
    """Also what is added one day: no public name is a plain attribute."""
    for what in ("simulator", "fleet"):
        made = MADE[what][0]()
        assert [name for name in vars(made) if not name.startswith("_")] == []
