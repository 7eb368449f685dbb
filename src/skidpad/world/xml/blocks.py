"""Reading `<block>` and `<block:class>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...body import Outline
from ...plane.outline import rectangle
from ...units import m
from ..scene.scene import BlockSpec
from ..scene.shapes import Geometry, Shape, Visual
from .common import (
    Names,
    class_of,
    initial_pose,
    initial_velocity,
    keyframes,
    note_lights,
    presence,
    publish,
)
from .fields import Fields, as_number
from .mesh import NoMesh
from .nodes import Node
from .shapes import (
    Models,
    note_stand_in,
    outline_of_solid,
    polygon,
    shape,
    shape_of_model,
    solid,
    stand_in,
    visuals,
)

_DEFAULT: Outline = rectangle(-0.5, 0.5, -0.5, 0.5)
_HEIGHTS = (0.0, 1.0)


def block(node: Node, classes: Mapping[str, Node], names: Names, models: Models) -> BlockSpec:
    """The block that an element describes, with what its class says."""
    name = names.of(node)
    kind = class_of(node, classes, "block")
    own, included = node.own_and_included()
    groups = [*included, own, *([] if kind is None else [kind.children()])]
    fields = Fields(groups, node.context, node)
    pictures = visuals(fields.all("visual"))
    geometry = _geometry(fields)
    spec = BlockSpec(
        name,
        initial_pose(fields),
        _shape(fields, name, geometry, pictures, models),
        velocity=initial_velocity(fields),
        geometry=geometry,
        visuals=pictures,
        animation=keyframes(fields),
        publish=publish(fields, name),
        skip_elevation_adjust=presence(fields, "skip_elevation_adjust"),
        class_name=node.attribute("class") or "",
        source=node.source,
    )
    # Upstream reads the class after the block, so that it wins where both say something.
    settings = Fields(groups[::-1], node.context, node) if node.context.upstream else fields
    spec = settings.record(spec)
    fields.record(spec)
    fields.ignore(("visual_scale",))
    note_lights(fields)
    fields.finish()
    return spec


def _geometry(fields: Fields) -> Geometry | None:
    node = fields.find("geometry")
    return None if node is None else fields.kept(lambda: solid(node), None)


def _shape(
    fields: Fields,
    name: str,
    geometry: Geometry | None,
    pictures: Sequence[Visual],
    models: Models,
) -> Shape:
    upstream = fields.owner.context.upstream
    span = (_height(fields, "zmin"), _height(fields, "zmax"))
    from_visual = fields.find("shape_from_visual") is not None
    drawn = fields.find("shape")
    declared: Shape | None = None
    if drawn is not None:
        outline = fields.kept(lambda: polygon(drawn), _DEFAULT)
        declared = shape(outline, _filled(span, _HEIGHTS, fields), "shape", upstream)
    # To upstream a solid is only a picture, unless the shape is taken from it.
    if geometry is not None and (from_visual or (declared is None and not upstream)):
        outline, low, high = outline_of_solid(geometry)
        return shape(outline, _filled(span, (low, high), fields), "geometry", upstream)
    if from_visual:
        try:
            return shape_of_model(pictures, span, models)
        except NoMesh as error:
            kind = "a box of 1 m" if declared is None else "its <shape>"
            note_stand_in(fields.owner, name, error, kind)
            return stand_in(declared, None, _filled(span, _HEIGHTS, fields))
    return declared or shape(_DEFAULT, _filled(span, _HEIGHTS, fields), "default", upstream)


def _height(fields: Fields, tag: str) -> m | None:
    return fields.get(tag, lambda node, name, text: as_number(node, name, text), None)


def _filled(span: tuple[m | None, m | None], default: tuple[m, m], fields: Fields) -> tuple[m, m]:
    low = default[0] if span[0] is None else span[0]
    high = default[1] if span[1] is None else span[1]
    if high <= low:
        owner = fields.owner
        owner.context.report(owner.error(f"zmax = {high:g} must be above zmin = {low:g}"))
        return low, low + 1.0
    return low, high
