"""Reading a world file into a scene: whole, or not at all.

`Reader` collects the parts of a scene in the order of the files. `load` and `loads` raise the first
error; `problems` and `review` collect all of them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from ...core.checks import whole
from ...core.files import brief_repr, path_of, reading, regular_file
from ...errors import InvalidValue, MissingExtra, MissingFile
from ...random.streams import checked
from ...units import s
from ..scene import (
    ActorSpec,
    BlockSpec,
    Element,
    Georeference,
    Gnss,
    JointSpec,
    MissingWorld,
    OwnDynamics,
    Scene,
    Sensor,
    Settings,
    VehicleSpec,
    WallSpec,
    WorldError,
    WorldWarning,
    written,
)
from .elements import element
from .expressions import Scope, Values
from .fields import Fields, note_unknown, one_of
from .markup import (
    MOST_REPEATS,
    Context,
    Document,
    Node,
    in_brief,
    parse,
    summaries,
    unknown_attributes,
)
from .shapes import Models, cache_folder
from .things import NOT_DONE, RENDERED, Names, actor, block, free_name, joint, walls
from .vehicles import sensor_of, vehicle

Named = TypeVar("Named", BlockSpec, ActorSpec, WallSpec)
Spec = TypeVar("Spec", VehicleSpec, BlockSpec, ActorSpec)
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
            "gui": lambda node: self._gui.update(node.texts()),
            "lights": lambda node: self._lights.update(node.texts()),
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
        self._add(self._vehicles, spec)

    def _block(self, node: Node) -> None:
        spec = block(node, self._classes["block"], self._block_names, self._models)
        self._add(self._blocks, spec)

    def _actor(self, node: Node) -> None:
        self._add(self._actors, actor(node, self._classes["actor"], self._actor_names))

    def _add(self, specs: list[Spec], spec: Spec) -> None:
        specs.append(spec)
        if spec.visuals:
            self._context.note(RENDERED, "3-D models", spec.source)

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


Compat = Literal["upstream"] | None


@dataclass(frozen=True)
class Options:
    """How a world is read."""

    compat: Compat = None
    """"upstream": as upstream does, errors included."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """World variables that are there from the beginning."""
    seed: int = 0
    """Seed of the random numbers in expressions."""
    limit: int = MOST_REPEATS
    """Most rounds of loops in all."""
    allow_shell: bool = False
    """Whether `$(command)` may run commands."""
    allow_download: bool = False
    """Whether models at remote addresses may be downloaded."""
    models: str | os.PathLike[str] | None = None
    """Folder in which remote models are looked up; None: upstream's cache."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.compat not in (None, "upstream"):
            raise InvalidValue(f"compat = {self.compat!r} is unknown; allowed are None, 'upstream'")
        checked(self.seed)
        whole("limit", self.limit, "at least 1")
        for name, value in self.variables.items():
            if not isinstance(value, (str, int, float)):
                raise InvalidValue(f"variables[{name!r}] = {value!r} must be a text or a number")

    def context(self, collecting: bool) -> Context:
        """The state of a reading that begins."""
        variables = {name: str(value) for name, value in self.variables.items()}
        values = Values(
            variables,
            seed=self.seed,
            allow_shell=self.allow_shell,
            upstream=self.compat == "upstream",
        )
        return Context(values, self.compat, self.limit, collecting)

    def where(self) -> Models:
        """Where models come from."""
        folder = cache_folder() if self.models is None else Path(self.models)
        return Models(folder, self.allow_download)


def load(path: str | os.PathLike[str], **options: Any) -> Scene:
    """The scene that a world file describes; options are the fields of `Options`.

    Raises `WorldError` for the first thing that is wrong. Parts that are not simulated, or were not
    understood, are in `Scene.warnings`, and in brief in one `WorldWarning`.
    """
    file = path_of(path)
    chosen = _options(options)
    context = chosen.context(collecting=False)
    with _reading(file):
        scene = _read(_document(context, file), context, chosen)
    return _warned(scene)


def loads(text: str, *, folder: str | os.PathLike[str] = ".", **options: Any) -> Scene:
    """The scene that a text describes; relative paths in it lead from the folder."""
    if not isinstance(text, str):
        raise InvalidValue(f"text must be the text of a world, got a {type(text).__qualname__}")
    chosen = _options(options)
    context = chosen.context(collecting=False)
    document = parse(text, path_of(folder, "folder") / "(text)")
    return _warned(_read(document, context, chosen))


def problems(path: str | os.PathLike[str], **options: Any) -> list[WorldError]:
    """Everything that is wrong with a world file, as far as it can be read."""
    return list(review(path, **options).errors)


class Review(NamedTuple):
    """The errors and warnings of a world file, and its scene."""

    errors: tuple[WorldError, ...]
    """Errors by file and place."""
    warnings: tuple[str, ...]
    """Parts that were not understood or are not simulated; complete only without errors."""
    scene: Scene | None
    """None if the file has errors."""

    __repr__ = brief_repr


def review(path: str | os.PathLike[str], **options: Any) -> Review:
    """Everything that is wrong with a world file, and what its reader warns of."""
    chosen = _options(options)
    context = chosen.context(collecting=True)
    scene: Scene | None = None
    try:
        with _reading(path):
            scene = _read(_document(context, path_of(path)), context, chosen)
    except WorldError as error:
        context.report(error)
    notes = summaries(context.notes)
    return Review(_by_place(context.errors), notes, None if context.errors else scene)


@contextmanager
def _reading(file: str | os.PathLike[str]) -> Generator[None]:
    """A block in which all that goes wrong with a file becomes a `WorldError`."""
    try:
        with reading(file, "cannot be used"):
            yield
    except WorldError:
        raise
    except InvalidValue as error:
        raise WorldError(str(error)) from error


def _by_place(errors: list[WorldError]) -> tuple[WorldError, ...]:
    """Errors by file, in the order in which files first have one, then by line and column."""
    files = list(dict.fromkeys(e.source.file for e in errors if e.source is not None))

    def place(error: WorldError) -> tuple[int, int, int]:
        source = error.source
        return (-1, 0, 0) if source is None else (files.index(source.file), *source[1:])

    return tuple(sorted(errors, key=place))


def _options(options: dict[str, Any]) -> Options:
    known = [option.name for option in fields(Options)]
    for name in options:
        if name not in known:
            raise InvalidValue(f"{name} is no option; allowed are {', '.join(known)}")
    return Options(**options)


def _document(context: Context, file: Path) -> Document:
    if file.is_dir():
        raise WorldError(f"{file} is a folder; a world is a file")
    try:
        regular_file(file)
    except MissingFile:
        raise MissingWorld(f"the file {file} does not exist") from None
    except InvalidValue as error:
        raise WorldError(str(error)) from None
    document = context.document(file)
    context.open_files.append(file)
    return document


def _read(document: Document, context: Context, options: Options) -> Scene:
    root = document.roots[0]
    if root.tag != "mvsim_world" or len(document.roots) > 1:
        other = root if root.tag != "mvsim_world" else document.roots[1]
        raise WorldError(
            f"a world is one element <mvsim_world>, not <{other.tag}>", source=other.source
        )
    top = Node(root, Scope(document.file.absolute().parent), context)
    version = top.attribute("version")
    if version is not None and version.split(".")[0] != "1":
        context.report(top.error(f"version={version!r} is unknown; 1.0 is known"))
    reader = Reader(context, options.where())
    for node in top.each():
        reader.read(node)
    documents = [document, *context.documents.values()]
    failed = {error.source for error in context.errors}
    for name, source in unknown_attributes(documents, failed):
        context.note("unknown attributes", name, source)
    return reader.scene(str(document.file))


def _warned(scene: Scene) -> Scene:
    if scene.warnings:
        lines = in_brief(scene.warnings, scene.file)
        text = "\n".join([f"{scene.file}:", *(f"  {line}" for line in lines)])
        warnings.warn(WorldWarning(text), stacklevel=3)
    return scene
