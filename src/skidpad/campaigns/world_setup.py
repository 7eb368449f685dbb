"""The world of a campaign before its runs: read once, known by all that its files say."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import Any

from .. import integrate, record
from ..compile.lower import lower
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..model import Vehicle
from ..units import Allowed
from ..world import xml
from ..world.scene.scene import OccupancyGrid, Scene
from ..world.world import World
from .identities import plain
from .world_factors import Setting, settings_of

VARIABLE = "variable."
NOT_SIMULATED = frozenset(
    ("source", "file", "warnings", "gui", "lights", "visuals", "color", "log_path", "variables")
)
"""Fields of a scene that no motion depends on."""


@dataclass(frozen=True)
class WorldSetup:
    """What the runs of a world have in common."""

    source: str
    """In messages."""
    definition: Any
    """A file, the text of one, a scene or a function that makes a world."""
    variables: Mapping[str, float]
    options: Mapping[str, Any]
    world: World
    """With the usual values, seed 0."""
    digest: str
    """Of its scene."""
    varies: bool
    """Whether the scene itself depends on the seed."""
    settings: Mapping[str, Setting]
    """What factors may set."""
    programs: Mapping[str, str]
    """Digests of the equations of the vehicles."""

    @property
    def grids(self) -> tuple[str, ...]:
        """Names that contacts give occupancy grids."""
        count = sum(isinstance(one, OccupancyGrid) for one in self.world.scene.elements)
        return tuple("grid" if k == 0 else f"grid_{k + 1}" for k in range(count))

    def made(self, values: Mapping[str, float], seed: int) -> World | Scene:
        """The world or scene of a run, before factors are set in the scene."""
        own = {k.removeprefix(VARIABLE): v for k, v in values.items() if k.startswith(VARIABLE)}
        if isinstance(self.definition, Scene) or not (
            own or self.varies or callable(self.definition)
        ):
            return self.world.scene
        return _made(self.definition, {**self.variables, **own}, self.options, seed)


def world_setup(
    definition: Any,
    variables: Mapping[str, float],
    options: Mapping[str, Any],
    units: Mapping[str, str],
) -> WorldSetup:
    """The world as it usually is."""
    if isinstance(definition, Scene) and (variables or options):
        raise InvalidValue("variables and options are of a world file; a scene is read already")
    made = _made(definition, variables, options, 0)
    world = made if isinstance(made, World) else World(made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said just now
        again = (
            definition
            if isinstance(definition, Scene)
            else _made(definition, variables, options, 1)
        )
    other = again.scene if isinstance(again, World) else again
    digest = scene_digest(world.scene)
    own = {f"{VARIABLE}{name}": Setting(units.get(name, ""), Allowed()) for name in variables}
    # What is set in the scene has to be set before the world is made of it.
    inside = {} if isinstance(made, World) else settings_of(world)
    return WorldSetup(
        source=_source(definition),
        definition=definition,
        variables=variables,
        options=options,
        world=world,
        digest=digest,
        varies=not isinstance(definition, Scene) and scene_digest(other) != digest,
        settings={**inside, **own},
        programs=_programs(world),
    )


def _made(
    definition: Any, variables: Mapping[str, float], options: Mapping[str, Any], seed: int
) -> World | Scene:
    if isinstance(definition, Scene):
        return definition
    if isinstance(definition, (str, os.PathLike)):
        how: dict[str, Any] = {**options, "seed": seed, "variables": dict(variables)}
        text = isinstance(definition, str) and definition.lstrip().startswith("<")
        return xml.loads(str(definition), **how) if text else xml.load(definition, **how)
    if not callable(definition):
        raise InvalidValue(
            f"world must be a file, the text of one, a Scene or a function, got {definition!r}"
        )
    made = definition(dict(variables), seed)
    if not isinstance(made, (World, Scene)):
        raise InvalidValue(f"{_source(definition)} must give a World or a Scene, got {made!r}")
    return made


def _source(definition: Any) -> str:
    if isinstance(definition, str) and definition.lstrip().startswith("<"):
        return "the text of the world"
    if isinstance(definition, (str, os.PathLike)):
        return os.fspath(definition)
    return getattr(definition, "__qualname__", "the scene")


def _programs(world: World) -> dict[str, str]:
    """By vehicle; traced once for each model."""
    known: dict[int, str] = {}
    digests: dict[str, str] = {}
    for name, vehicle in world.vehicles.items():
        model = vehicle.vehicle.model
        if id(model) not in known:
            step = Plant.of(vehicle.vehicle, integrate.get("rk4")).step
            known[id(model)] = lower(step, "float64").digest
        digests[name] = known[id(model)]
    return digests


def scene_digest(scene: Scene) -> str:
    """Of all that a scene says and that counts for motion, wherever its files lie."""
    return "sha256:" + sha256(repr(_told(scene)).encode()).hexdigest()


def _told(value: Any) -> Any:
    if isinstance(value, Vehicle):
        names, values = record.names(value.model.Params), record.flatten(value.params)
        params = plain(dict(zip(names, values, strict=True)))
        return ("Vehicle", value.name, params, plain(value.outlines))
    if is_dataclass(value) and not isinstance(value, type):
        kept = (one.name for one in fields(value) if one.name not in NOT_SIMULATED)
        return (type(value).__name__, [(name, _told(getattr(value, name))) for name in kept])
    if isinstance(value, Mapping):
        return [(str(name), _told(part)) for name, part in sorted(value.items())]
    if isinstance(value, (list, tuple)):
        return [_told(part) for part in value]
    return plain(value)
