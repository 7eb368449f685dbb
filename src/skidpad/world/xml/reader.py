"""The parts of a scene, collected in the order of the files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ...errors import MissingExtra
from ...units import s
from ..errors import WorldError
from ..scene.elements import Element, WallSpec
from ..scene.fields import written
from ..scene.scene import ActorSpec, BlockSpec, Georeference, JointSpec, Scene, Settings
from ..scene.sensors import Gnss, Sensor
from ..scene.vehicle import OwnDynamics, VehicleSpec
from .actors import actor, joint
from .blocks import block
from .common import NOT_DONE, RENDERED, Names, free_name
from .elements import element
from .fields import Fields, note_unknown, one_of
from .nodes import Context, Node
from .notes import summaries
from .sensors import sensor_of
from .shapes import Models
from .vehicles import vehicle
from .walls import walls

Named = TypeVar("Named", BlockSpec, ActorSpec, WallSpec)
FLOW = ("include", "for", "if")
MOST_VARIABLES = 5_000
"""Variables of a world."""
SHORTEST: s = 1e-6
"""Least length of a step."""
UNDONE = ("save_to_rawlog", "save_ground_truth_trajectory", "joystick_enabled")
"""Settings that are read and lead to nothing."""
SETTINGS = tuple(how.tags[0] for how in written(Settings).values())
"""Tags of the world's own parameters."""


class Reader:
    """Reads the elements of a world one after another."""

    def __init__(self, context: Context, models: Models) -> None:
        self._context = context
        self._models = models
        self._settings = Settings()
        self._classes: dict[str, dict[str, Node]] = {"vehicle": {}, "block": {}, "actor": {}}
        self._vehicle_names = Names(context, "vehicle", "veh{}")
        self._block_names = Names(context, "block", "block{:03d}")
        self._actor_names = Names(context, "actor", "actor{:03d}")
        self._vehicles: list[VehicleSpec] = []
        self._blocks: list[BlockSpec] = []
        self._actors: list[ActorSpec] = []
        self._walls: list[WallSpec] = []
        self._elements: list[Element] = []
        self._joints: list[tuple[Node, JointSpec]] = []
        self._sensors: list[Sensor] = []
        self._georeference: Georeference | None = None
        self._gui: dict[str, str] = {}
        self._lights: dict[str, str] = {}
        self._tags: dict[str, Callable[[Node], None]] = {
            "vehicle": self._vehicle,
            "block": self._block,
            "actor": self._actor,
            **{f"{kind}:class": self._class for kind in self._classes},
            "element": self._element,
            "walls": self._wall,
            "joint": self._joint,
            "sensor": self._sensor,
            "variable": self._variable,
            "georeference": self._place,
            "gui": lambda node: self._gui.update(_texts(node)),
            "lights": lambda node: self._lights.update(_texts(node)),
            "marker": self._marker,
            **dict.fromkeys(SETTINGS, self._setting),
        }

    def read(self, node: Node) -> None:
        """Add what an element of the world describes."""
        try:
            if node.tag in self._tags:
                self._tags[node.tag](node)
            else:
                note_unknown(node, "mvsim_world", [*self._tags, *FLOW])
        except WorldError as error:
            self._context.report(error)
        except (MissingExtra, Warning):
            raise
        # Numbers that a file may hold and that something made of them cannot be.
        except Exception as error:
            failure = node.error(f"cannot be used: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._context.report(failure)

    def scene(self, file: str) -> Scene:
        """The parts put together."""
        self._check_joints()
        self._tell_apart()
        if self._georeference is None:
            self._note_receivers()
        return Scene(
            self._settings,
            tuple(self._with_gravity(spec) for spec in self._vehicles),
            tuple(self._blocks),
            tuple(self._walls),
            tuple(self._elements),
            tuple(spec for _, spec in self._joints),
            tuple(self._actors),
            tuple(self._sensors),
            self._georeference,
            self._gui,
            self._lights,
            dict(self._context.values.world),
            summaries(self._context.notes),
            self._context.compat,
            file,
        )

    def _note_receivers(self) -> None:
        """Name the satellite receivers that have no readings without a <georeference>."""
        kind = "no readings, as the world has no <georeference>"
        for spec in self._vehicles:
            for one in spec.sensors:
                if isinstance(one, Gnss):
                    self._context.note(kind, f"gnss {one.name} of", one.source, spec.name)

    def _with_gravity(self, spec: VehicleSpec) -> VehicleSpec:
        """The vehicle in the world's gravity, which may be set after it."""
        if isinstance(spec.dynamics, OwnDynamics):
            return spec
        return replace(spec, dynamics=replace(spec.dynamics, gravity=self._settings.gravity))

    def _setting(self, node: Node) -> None:
        settings = Fields([[node]], self._context, node).record(self._settings)
        if 0.0 < settings.timestep < SHORTEST:
            text = node.text()
            raise node.error(f"{node.tag} = {text} must be 0 or at least {SHORTEST:g} s")
        if node.tag in UNDONE and getattr(settings, node.tag):
            self._context.note(NOT_DONE, node.tag, node.source)
        self._settings = settings

    def _class(self, node: Node) -> None:
        known = self._classes[node.tag.partition(":")[0]]
        name = node.needed("name")
        if name in known and known[name].element is not node.element:
            self._context.note("classes defined twice, the later one counts", name, node.source)
        known[name] = node

    def _vehicle(self, node: Node) -> None:
        spec = vehicle(node, self._classes["vehicle"], self._vehicle_names, self._models)
        self._vehicles.append(spec)
        self._note_pictures(len(spec.visuals), node)

    def _block(self, node: Node) -> None:
        spec = block(node, self._classes["block"], self._block_names, self._models)
        self._blocks.append(spec)
        self._note_pictures(len(spec.visuals), node)

    def _actor(self, node: Node) -> None:
        spec = actor(node, self._classes["actor"], self._actor_names)
        self._actors.append(spec)
        self._note_pictures(len(spec.visuals), node)

    def _note_pictures(self, count: int, node: Node) -> None:
        if count:
            self._context.note(RENDERED, "3-D models", node.source)

    def _element(self, node: Node) -> None:
        read = element(node)
        if read is not None:
            self._elements.append(read)

    def _wall(self, node: Node) -> None:
        self._walls += walls(node, len(self._walls))

    def _joint(self, node: Node) -> None:
        self._joints.append((node, joint(node)))

    def _sensor(self, node: Node) -> None:
        self._sensors.append(sensor_of(node, "", {sensor.name for sensor in self._sensors}))

    def _variable(self, node: Node) -> None:
        name, value = node.needed("name"), node.needed("value")
        known = self._context.values.world
        if name not in known and len(known) >= MOST_VARIABLES:
            raise node.error(f"more than {MOST_VARIABLES} variables in this world")
        known[name] = value

    def _place(self, node: Node) -> None:
        fields = Fields.of(node)
        self._georeference = fields.record(Georeference())
        fields.finish()

    def _marker(self, node: Node) -> None:
        one_of(node, "type of marker", node.needed("type"), ("line_strip",))
        self._context.note(RENDERED, "marker", node.source)

    def _check_joints(self) -> None:
        # At the end, so that joints may stand anywhere in a file.
        # Those that were refused have a name too, which is no second problem.
        bodies = [*self._vehicle_names.taken, *self._block_names.taken]
        unreal = {block.name for block in self._blocks if block.intangible}
        for node, spec in self._joints:
            for name in (spec.body_a, spec.body_b):
                try:
                    one_of(node, "body", name, bodies)
                    if name in unreal:
                        raise node.error(f"the block {name!r} is intangible: nothing can hold it")
                except WorldError as error:
                    self._context.report(error)

    def _tell_apart(self) -> None:
        """Other names for blocks, actors and walls that are called as a vehicle or each other."""
        # At the end, so that the order of the elements does not matter.
        taken = {vehicle.name for vehicle in self._vehicles}
        self._blocks = [self._own_name(one, taken) for one in self._blocks]
        self._actors = [self._own_name(one, taken) for one in self._actors]
        self._walls = [self._own_name(one, taken) for one in self._walls]

    def _own_name(self, one: Named, taken: set[str]) -> Named:
        name = free_name(one.name, taken)
        taken.add(name)
        if name == one.name:
            return one
        self._context.note("names given twice", f"{one.name}, here {name}", one.source)
        return replace(one, name=name)


def _texts(node: Node) -> dict[str, str]:
    return {child.tag: child.text() for child in node.children()}
