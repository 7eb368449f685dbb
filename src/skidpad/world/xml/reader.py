"""Reader of world files, which returns a complete scene or raises.

`element` reads an `<element>`: a map, ground, a plane or a region. `Reader` collects the parts of a
scene in the order of the files. `load` and `loads` raise the first error; `problems` and `review`
collect all of them.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from ...core.arrays import Array
from ...core.checks import whole
from ...core.files import brief_repr, open_file, path_of, reading, regular_file
from ...errors import InvalidValue, MissingExtra, MissingFile, require
from ...geometry.maps.occupancy import Grid
from ...random.streams import checked
from ...road.road import Road
from ...units import non_negative, positive, s
from .. import scene as specs
from ..scene import Element, ElevationMap, Scene, Settings, WorldError
from .expressions import Scope, Values
from .markup import (
    MOST_REPEATS,
    Context,
    Document,
    Fields,
    Models,
    Node,
    as_number,
    as_switch,
    in_brief,
    note_unknown,
    one_of,
    parse,
    summaries,
    unknown_attributes,
)
from .shapes import (
    NOT_DONE,
    RENDERED,
    Names,
    actor,
    block,
    cache_folder,
    free_name,
    joint,
    keyframes,
    matrix,
    table,
    walls,
)
from .vehicles import sensor_of, vehicle

PICTURES = {
    "ground_grid": ("floating", "floating_focus", "color", "line_width", "interval"),
    "pointcloud": ("file_txt_2d", "file_txt_3d", "pose_3d", "render_max_vertical_extent"),
    "skybox": ("textures",),
}
"""Element classes that only a renderer would show, and their tags."""
_SURFACE = (
    *("cull_face", "texture", "texture_size_x", "texture_size_y", "color", "enable_shadows"),
    *("normal_map", "normal_map_image", "texture_image", "texture_image_rotate"),
    *("texture_extension_x", "texture_extension_y", "model_split_size", "mesh_color"),
    *("debug_show_contact_points", "skip_elevation_adjust", "publish", "show_collisions"),
)
"""Tags that affect only rendering."""
MOST_HEIGHTS = 25_000_000
"""Most heights of an elevation map."""
_EDGES = ("x_min", "x_max", "y_min", "y_max")


def element(node: Node) -> Element | None:
    """Read the map, ground, wall or region of an `<element>`; None if it is not simulated."""
    kind = one_of(node, "class of element", node.needed("class"), [*READERS, *PICTURES])
    fields = Fields.of(node)
    fields.ignore(_SURFACE)
    node.expects("name")
    if kind in PICTURES:
        fields.ignore([*PICTURES[kind], *_EDGES])
        fields.finish()
        node.context.note(RENDERED, kind, node.source)
        return None
    spec = READERS[kind](fields, node)
    fields.finish()
    return spec


def _occupancy_grid(fields: Fields, node: Node) -> specs.OccupancyGrid:
    name, file = _file(fields, node)
    resolution = fields.number("resolution", 0.1, positive)
    # Pixels are counted from the lower left. Without a given pixel, -1 and not the centre is used,
    # as in upstream's library for years; worlds are drawn to fit.
    x, y = (-resolution * fields.number(f"centerpixel_{axis}", -1.0) for axis in "xy")
    name.regular(file)
    try:
        grid = _grid(file, resolution, (x, y, 0.0))
    except InvalidValue as error:
        raise name.error(error) from None
    return fields.record(specs.OccupancyGrid(grid, source=node.source))


def _grid(file: Path, resolution: float, origin: tuple[float, float, float]) -> Grid:
    from ...geometry.maps.occupancy import read_gridmap, read_image, read_occupancy

    if file.name.lower().endswith((".gridmap", ".gridmap.gz")):
        return read_gridmap(file)
    if file.suffix.lower() in (".yaml", ".yml"):
        return read_occupancy(file)
    # A cell is occupied where the picture is darker than the middle.
    rule: dict[str, Any] = {"occupied_thresh": 0.5, "free_thresh": 0.5, "mode": "scale"}
    return read_image(file, resolution=resolution, origin=origin, **rule)


def _file(fields: Fields, node: Node) -> tuple[Node, Path]:
    """The `<file>` of an element, and its path."""
    name = fields.find("file")
    if name is None:
        raise node.error("<file> is missing")
    return name, name.path(name.text())


def _elevation_map(fields: Fields, node: Node) -> ElevationMap:
    resolution = fields.number("resolution", 1.0, positive)
    scale = fields.number("elevation_data_matrix_scale", 1.0)
    low = fields.number("elevation_image_min_z", 0.0)
    high = fields.number("elevation_image_max_z", 5.0)
    offset = [fields.number(f"dem_offset_{axis}", 0.0) for axis in "xyz"]
    image, written = fields.find("elevation_image"), fields.find("elevation_data_matrix")
    points = fields.find("dem_xyzrgb_file")
    corner: tuple[float, float] | None = None
    if image is not None:
        heights = _picture_heights(image, low, high)
    elif written is not None:
        heights = scale * matrix(written)
    elif points is not None:
        heights, corner = _scattered(points, resolution, offset)
    else:
        known = "<elevation_image>, <elevation_data_matrix> or <dem_xyzrgb_file>"
        raise node.error(f"{known} is missing")
    rows, columns = heights.shape
    node.check(min(rows, columns) >= 2, f"heights on {rows} x {columns} points make no area")
    heights = _smoothed(fields, heights)
    heights.flags.writeable = False
    if corner is None:
        x, y = (-0.5 * (count - 1) * resolution for count in heights.shape)
        corner = fields.number("corner_min_x", x), fields.number("corner_min_y", y)
    fields.ignore(("corner_min_x", "corner_min_y"))
    return ElevationMap(heights, resolution, corner, node.source)


def _road(fields: Fields, node: Node) -> specs.RoadGround:
    """Road of an OpenCRG file, with a grip."""
    name, file = _file(fields, node)
    grip = fields.number("grip", 1.0, non_negative)
    name.regular(file)
    try:
        road = Road.load(file)
    except InvalidValue as error:
        raise name.error(error) from None
    return specs.RoadGround(road if grip == 1.0 else road.with_grip(grip), node.source)


def _picture_heights(node: Node, low: float, high: float) -> Array:
    """Heights from a grey picture, its darkest pixel lowest; rows run along x, columns along y."""
    Image = require("PIL.Image", purpose="Heights from a picture")
    file = node.regular(node.path(node.text()))
    try:
        with (
            reading(file, "cannot be read as an image"),
            open_file(file) as stream,
            Image.open(stream) as picture,
        ):
            if picture.width * picture.height > MOST_HEIGHTS:
                raise InvalidValue(
                    f"{file} has {picture.width} x {picture.height} pixels; at most "
                    f"{MOST_HEIGHTS} are allowed"
                )
            mode = "I" if picture.mode.startswith("I") else "L"
            shades = np.asarray(picture.convert(mode), dtype=np.float64)
    except InvalidValue as error:
        raise node.error(error) from None
    span = shades.max() - shades.min()
    node.check(span, f"{file} has one shade only, so that it says nothing about heights")
    return low + (high - low) * (shades - shades.min()) / span


def _scattered(
    node: Node, resolution: float, offset: list[float]
) -> tuple[Array, tuple[float, float]]:
    """Heights on a lattice from scattered points x y z, by nearest neighbour."""
    from scipy.spatial import KDTree

    points = table(node, node.path(node.text()), 3)[:, :3] + np.array(offset)
    lowest = points[:, :2].min(axis=0)
    sides = np.ceil((points[:, :2].max(axis=0) - lowest) / resolution)
    if not (sides.min() >= 2 and math.prod(sides.tolist()) <= MOST_HEIGHTS):
        raise node.error(
            f"resolution = {resolution:g} m makes {sides[0]:g} x {sides[1]:g} heights of the file; "
            f"allowed are 2 x 2 and more, and {MOST_HEIGHTS} in all"
        )
    counts = sides.astype(int)
    x, y = ((0.5 + np.arange(count)) * resolution for count in counts)
    nodes = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    nearest = KDTree(points[:, :2] - lowest).query(nodes)[1]
    heights = points[nearest, 2].reshape(counts[0], counts[1])
    # Upstream uses the heights at cell centres as heights at the lowest corners of the cells.
    corner = lowest if node.context.upstream else lowest + 0.5 * resolution
    return heights, (float(corner[0]), float(corner[1]))


def _smoothed(fields: Fields, heights: Array) -> Array:
    """Heights after the filter of `<apply_kernel>`, extended beyond the edge by the edge values.

    Upstream pads with 0, which pulls the edges of a map towards 0.
    """
    node = fields.find("apply_kernel")
    if node is None:
        return heights
    from scipy.ndimage import correlate

    kernel = matrix(node)
    odd = kernel.shape[0] == kernel.shape[1] and kernel.shape[0] % 2
    node.check(odd, f"the kernel must be square with an odd side, got {kernel.shape}")
    total = kernel.sum()
    fault = f"the numbers of the kernel must add up to 1, got {total:g}"
    node.check(abs(total - 1.0) <= 5e-3, fault)
    beyond = "constant" if node.context.upstream else "nearest"
    return np.asarray(correlate(heights, kernel, mode=beyond), dtype=np.float64)


def _horizontal_plane(fields: Fields, node: Node) -> specs.HorizontalPlane:
    plane = fields.record(specs.HorizontalPlane(source=node.source))
    ordered = plane.x_min < plane.x_max and plane.y_min < plane.y_max
    node.check(ordered, "x_min and y_min must lie below x_max and y_max")
    pose = fields.pose("init_pose", "init_pose3d")
    return replace(plane, pose=pose, animation=keyframes(fields))


def _vertical_plane(fields: Fields, node: Node) -> specs.VerticalPlane:
    plane = fields.record(specs.VerticalPlane(source=node.source))
    length = math.dist((plane.x0, plane.y0), (plane.x1, plane.y1))
    node.check(length, f"the wall begins and ends at {plane.x0:g} {plane.y0:g}")
    fields.pose("init_pose", "init_pose3d")
    openings = tuple(
        opening
        for child in fields.all("door", "window")
        if (opening := fields.attempt(lambda child=child: _opening(child), None)) is not None
    )
    return replace(plane, openings=openings)


def _opening(node: Node) -> specs.Opening:
    fields, kind = Fields.of(node), cast("Any", node.tag)
    # Upstream accepts these values as attributes and as children.
    opening = fields.record(specs.Opening(kind), attributes_of=node, children=True)
    name = node.attribute("name") or fields.string("name") or fields.string("n")
    fields.ignore(("name", "n"))
    fields.finish()
    low, high = opening.z_min, opening.z_max
    node.check(low < high, f"z_max = {high:g} must be above z_min = {low:g}")
    return replace(opening, name=name)


def _property_region(fields: Fields, node: Node) -> specs.PropertyRegion | None:
    name = fields.string("property_name")
    region = fields.record(specs.PropertyRegion(name, 0.0, source=node.source))
    for axis in "xyz":
        low, high = getattr(region, f"{axis}_min"), getattr(region, f"{axis}_max")
        node.check(low <= high, f"{axis}_min must not exceed {axis}_max")
    values = [fields.find(tag) for tag in ("value_double", "value_bool", "value_string")]
    if not name:
        # Upstream ignores a region without a name, and one of its worlds has such regions.
        what = "they have no <property_name>"
        node.context.note(f"regions left out, as {what}", "property_region", node.source)
        return None
    for value, read in zip(values, (as_number, as_switch, lambda *it: it[-1]), strict=True):
        if value is not None:
            return replace(region, value=read(value, value.tag, value.text()))
    raise node.error("<value_double>, <value_bool> or <value_string> is missing")


READERS: dict[str, Callable[[Fields, Node], Element | None]] = {
    "occupancy_grid": _occupancy_grid,
    "elevation_map": _elevation_map,
    "road": _road,
    "horizontal_plane": _horizontal_plane,
    "vertical_plane": _vertical_plane,
    "property_region": _property_region,
}

FLOW = ("include", "for", "if")
MOST_VARIABLES = 5_000
"""Most variables of a world."""
SHORTEST: s = 1e-6
"""Least length of a step."""
UNDONE = ("save_to_rawlog", "save_ground_truth_trajectory", "joystick_enabled")
"""Settings that are read but have no effect."""
SETTINGS = tuple(how.tags[0] for how in specs.written(Settings).values())
"""Tags of the settings of a world."""


OBJECTS: dict[str, tuple[str, Callable[[Node, Mapping[str, Node], Names], Any]]] = {
    "vehicle": ("veh{}", vehicle),
    "block": ("block{:03d}", block),
    "actor": ("actor{:03d}", actor),
}
"""Kinds of objects that can have classes: pattern of their default names, and reader."""


class Reader:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._classes: dict[str, dict[str, Node]] = {kind: {} for kind in OBJECTS}
        self._names = {kind: Names(context, kind, it) for kind, (it, _) in OBJECTS.items()}
        self._settings = Settings()
        lists = ("vehicles", "blocks", "walls", "elements", "actors", "sensors")
        self._lists: dict[str, list[Any]] = {name: [] for name in lists}
        """Parts of the scene, by field."""
        self._joints: list[tuple[Node, specs.JointSpec]] = []
        self._georeference: specs.Georeference | None = None
        self._gui: dict[str, str] = {}
        self._lights: dict[str, str] = {}
        self._tags: dict[str, Callable[[Node], None]] = {
            **dict.fromkeys(OBJECTS, self._object),
            **{f"{kind}:class": self._class for kind in OBJECTS},
            "element": self._element,
            "walls": self._wall,
            "joint": lambda node: self._joints.append((node, joint(node))),
            "sensor": self._sensor,
            "variable": self._variable,
            "georeference": self._place,
            "gui": lambda node: self._gui.update(node.texts()),
            "lights": lambda node: self._lights.update(node.texts()),
            "marker": self._marker,
            **dict.fromkeys(SETTINGS, self._setting),
        }

    def read(self, node: Node) -> None:
        try:
            if node.tag in self._tags:
                self._tags[node.tag](node)
            else:
                note_unknown(node, "mvsim_world", [*self._tags, *FLOW])
        except WorldError as error:
            self._context.report(error)
        except (MissingExtra, Warning):
            raise
        # Values that pass the parser but that the object rejects.
        except Exception as error:
            failure = node.error(f"cannot be used: {type(error).__name__}: {error}")
            failure.__cause__ = error
            self._context.report(failure)

    def scene(self, file: str) -> Scene:
        self._check_joints()
        self._tell_apart()
        if self._georeference is None:
            self._note_receivers()
        lists = {name: tuple(specs) for name, specs in self._lists.items()}
        lists["vehicles"] = tuple(map(self._with_gravity, self._lists["vehicles"]))
        return Scene(
            self._settings,
            **lists,
            joints=tuple(spec for _, spec in self._joints),
            georeference=self._georeference,
            gui=self._gui,
            lights=self._lights,
            variables=dict(self._context.values.world),
            warnings=summaries(self._context.notes),
            compat=self._context.compat,
            file=file,
        )

    def _note_receivers(self) -> None:
        """Warn of GNSS receivers that have no readings without a <georeference>."""
        kind = "no readings, as the world has no <georeference>"
        for spec in self._lists["vehicles"]:
            for one in spec.sensors:
                if isinstance(one, specs.Gnss):
                    self._context.note(kind, f"gnss {one.name} of", one.source, spec.name)

    def _with_gravity(self, spec: specs.VehicleSpec) -> specs.VehicleSpec:
        """Vehicle with the gravity of the world, which the file may set after the vehicle."""
        if isinstance(spec.dynamics, specs.OwnDynamics):
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

    def _object(self, node: Node) -> None:
        kind = node.tag
        spec = OBJECTS[kind][1](node, self._classes[kind], self._names[kind])
        self._lists[f"{kind}s"].append(spec)
        if spec.visuals:
            self._context.note(RENDERED, "3-D models", spec.source)

    def _element(self, node: Node) -> None:
        read = element(node)
        if read is not None:
            self._lists["elements"].append(read)

    def _wall(self, node: Node) -> None:
        self._lists["walls"] += walls(node, len(self._lists["walls"]))

    def _sensor(self, node: Node) -> None:
        known = self._lists["sensors"]
        known.append(sensor_of(node, "", {sensor.name for sensor in known}))

    def _variable(self, node: Node) -> None:
        name, value = node.needed("name"), node.needed("value")
        known = self._context.values.world
        full = name not in known and len(known) >= MOST_VARIABLES
        node.check(not full, f"more than {MOST_VARIABLES} variables in this world")
        known[name] = value

    def _place(self, node: Node) -> None:
        fields = Fields.of(node)
        self._georeference = fields.record(specs.Georeference())
        fields.finish()

    def _marker(self, node: Node) -> None:
        one_of(node, "type of marker", node.needed("type"), ("line_strip",))
        self._context.note(RENDERED, "marker", node.source)

    def _check_joints(self) -> None:
        # Checked at the end, so that joints may stand anywhere in a file. Objects that were refused
        # have names too, and must not cause a second error.
        bodies = [*self._names["vehicle"].taken, *self._names["block"].taken]
        unreal = {block.name for block in self._lists["blocks"] if block.intangible}
        for node, spec in self._joints:
            for name in (spec.body_a, spec.body_b):
                try:
                    one_of(node, "body", name, bodies)
                    fault = f"the block {name!r} is intangible: nothing can hold it"
                    node.check(name not in unreal, fault)
                except WorldError as error:
                    self._context.report(error)

    def _tell_apart(self) -> None:
        """Rename blocks, actors and walls with the name of a vehicle or of each other."""
        # At the end, so that the order of the elements does not matter.
        taken = {vehicle.name for vehicle in self._lists["vehicles"]}
        for kind in ("blocks", "actors", "walls"):
            for k, one in enumerate(self._lists[kind]):
                name = free_name(one.name, taken)
                taken.add(name)
                if name != one.name:
                    twice = f"{one.name}, here {name}"
                    self._context.note("names given twice", twice, one.source)
                    self._lists[kind][k] = replace(one, name=name)


Compat = Literal["upstream"] | None


@dataclass(frozen=True)
class Options:
    compat: Compat = None
    """"upstream": read as upstream does, including its errors."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Predefined world variables."""
    seed: int = 0
    """Seed of the random numbers in expressions."""
    limit: int = MOST_REPEATS
    """Most loop iterations in all."""
    allow_shell: bool = False
    """Whether `$(command)` may run commands."""
    allow_download: bool = False
    """Whether models at remote addresses may be downloaded."""
    models: str | os.PathLike[str] | None = None
    """Folder of cached remote models; None: upstream's cache."""

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
        variables = {name: str(value) for name, value in self.variables.items()}
        values = Values(variables, self.seed, self.allow_shell, self.compat == "upstream")
        folder = cache_folder() if self.models is None else Path(self.models)
        models = Models(folder, self.allow_download)
        return Context(values, models, self.compat, self.limit, collecting)


def load(path: str | os.PathLike[str], **options: Any) -> Scene:
    """Load a world file; options are the fields of `Options`.

    Raises `WorldError` for the first error. Parts that are not simulated, or not understood, are
    listed in `Scene.warnings`, and summarised in one `WorldWarning`.
    """
    file = path_of(path)
    context = _options(options).context(collecting=False)
    with _reading(file):
        scene = _read(_document(context, file), context)
    return _warned(scene)


def loads(text: str, *, folder: str | os.PathLike[str] = ".", **options: Any) -> Scene:
    """Scene from the text of a world file; relative paths in it start from `folder`."""
    if not isinstance(text, str):
        raise InvalidValue(f"text must be the text of a world, got a {type(text).__qualname__}")
    context = _options(options).context(collecting=False)
    document = parse(text, path_of(folder, "folder") / "(text)")
    return _warned(_read(document, context))


def problems(path: str | os.PathLike[str], **options: Any) -> list[WorldError]:
    """List of all errors in the readable parts of a world file."""
    return list(review(path, **options).errors)


class Review(NamedTuple):
    """The errors and warnings of a world file, and its scene."""

    errors: tuple[WorldError, ...]
    """Errors by file and position."""
    warnings: tuple[str, ...]
    """Parts that are not understood or not simulated; complete only without errors."""
    scene: Scene | None
    """Scene of the file; None if there are errors."""

    __repr__ = brief_repr


def review(path: str | os.PathLike[str], **options: Any) -> Review:
    """Collect all errors and warnings of a world file."""
    context = _options(options).context(collecting=True)
    scene: Scene | None = None
    try:
        with _reading(path):
            scene = _read(_document(context, path_of(path)), context)
    except WorldError as error:
        context.report(error)
    # Files are in the order of their first errors.
    files = list(dict.fromkeys(e.source.file for e in context.errors if e.source is not None))

    def place(error: WorldError) -> tuple[int, int, int]:
        source = error.source
        return (-1, 0, 0) if source is None else (files.index(source.file), *source[1:])

    errors = tuple(sorted(context.errors, key=place))
    return Review(errors, summaries(context.notes), None if errors else scene)


@contextmanager
def _reading(file: str | os.PathLike[str]) -> Generator[None]:
    """Context that converts all errors of reading a file to `WorldError`."""
    try:
        with reading(file, "cannot be used"):
            yield
    except WorldError:
        raise
    except InvalidValue as error:
        raise WorldError(str(error)) from error


def _options(options: dict[str, Any]) -> Options:
    known = [option.name for option in fields(Options)]
    for name in options:
        if name not in known:
            raise InvalidValue(f"{name} is not an option; allowed are {', '.join(known)}")
    return Options(**options)


def _document(context: Context, file: Path) -> Document:
    if file.is_dir():
        raise WorldError(f"{file} is a folder; a world is a file")
    try:
        regular_file(file)
    except MissingFile:
        raise specs.MissingWorld(f"the file {file} does not exist") from None
    except InvalidValue as error:
        raise WorldError(str(error)) from None
    document = context.document(file)
    context.open_files.append(file)
    return document


def _read(document: Document, context: Context) -> Scene:
    root = document.roots[0]
    if root.tag != "mvsim_world" or len(document.roots) > 1:
        other = root if root.tag != "mvsim_world" else document.roots[1]
        fault = f"a world is one element <mvsim_world>, not <{other.tag}>"
        raise WorldError(fault, other.source)
    top = Node(root, Scope(document.file.absolute().parent), context)
    version = top.attribute("version")
    if version is not None and version.split(".")[0] != "1":
        context.report(top.error(f"version={version!r} is unknown; 1.0 is known"))
    reader = Reader(context)
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
        warnings.warn(specs.WorldWarning(text), stacklevel=3)
    return scene
