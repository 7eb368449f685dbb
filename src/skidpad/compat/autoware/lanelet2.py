"""Roads from Lanelet2 maps: OpenStreetMap XML with lanelets as relations of two bounds.

As in Autoware's map loader, a lanelet without a centre line of its own gets one between its bounds:
both are divided into equally many equal parts, at most 5 m long, and the middles are joined.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import bytes_of, path_of, reading
from ...errors import InvalidValue, require
from ...geometry.geodesy import MilitaryGrid
from ...geometry.line import divided, lengths
from ...geometry.polygon import signed_area
from ...units import m
from .road import Lane, Road, without_repeats

SPACING: m = 5.0
"""Largest distance of the points of a centre line, as in Autoware's map loader."""
FARTHEST: m = 1e8
"""Largest coordinate of a node; no two places on Earth are half as far apart."""
MOST_PARTS = 1_000_000
"""Parts of the centre line of a lanelet."""
_BOUNDS = ("left", "right")


class _Source(NamedTuple):
    """The parts of a map file by their ids."""

    file: Path
    nodes: Mapping[str, Element]
    ways: Mapping[str, Element]
    relations: Mapping[str, Element]


def read_lanelets(
    path: str | os.PathLike[str], *, subtypes: Collection[str] = ("road",), spacing: m = SPACING
) -> Road:
    """The road made of the lanelets of a map file whose subtype is one of `subtypes`.

    Positions are the tags `local_x` and `local_y` of the nodes; without them latitude and longitude
    are projected as in `plane.geodesy`, in the square of the first node that is used. Heights are
    the tags `ele`; if no node has one, the road is flat at 0. The bounds of a lanelet may run
    either way: it is driven with the left one on the left.
    """
    positive("spacing", spacing, "m")
    source = _parsed(path_of(path))
    lanelets = _lanelets(source, subtypes)
    lines = {
        way: _nodes_of(source, way, owner)
        for owner, members in lanelets.items()
        for way in members.values()
    }
    places = _places(source, dict.fromkeys(node for line in lines.values() for node in line))
    shapes = {
        way: without_repeats(np.array([places[node] for node in line]))
        for way, line in lines.items()
    }
    return Road(
        _lane(source, owner, {role: shapes[way] for role, way in members.items()}, spacing)
        for owner, members in lanelets.items()
    )


def _parsed(file: Path) -> _Source:
    defused = require("defusedxml", purpose=f"Reading {file}")
    parse = require("defusedxml.ElementTree", purpose=f"Reading {file}").fromstring
    with reading(file, "is not XML"):
        try:
            root = parse(bytes_of(file))
        except defused.DefusedXmlException as error:
            raise InvalidValue(f"{file} holds XML entities, which no map needs: {error}") from error
    if root is None or root.tag != "osm":
        raise InvalidValue(
            f"{file} is not an OpenStreetMap file: its first element is "
            f"<{'' if root is None else root.tag}>, not <osm>"
        )
    kept = [part for part in root if part.get("action") != "delete"]  # JOSM's marks

    def by_id(kind: str) -> dict[str, Element]:
        return {part.get("id", ""): part for part in kept if part.tag == kind}

    return _Source(file, by_id("node"), by_id("way"), by_id("relation"))


def _tags(part: Element) -> dict[str, str]:
    return {tag.get("k", ""): tag.get("v", "") for tag in part.iter("tag")}


def _lanelets(source: _Source, subtypes: Collection[str]) -> dict[str, dict[str, str]]:
    """Ids of the ways of the lanelets, by role, by the lanelets' ids."""
    if isinstance(subtypes, str):
        subtypes = (subtypes,)
    lanelets: dict[str, dict[str, str]] = {}
    others: set[str] = set()
    for number, relation in source.relations.items():
        tags = _tags(relation)
        if tags.get("type") != "lanelet":
            continue
        if tags.get("subtype", "") in subtypes:
            lanelets[number] = _members(source, number, relation)
        else:
            others.add(tags.get("subtype", "none"))
    if not lanelets:
        seen = f"; there are lanelets of subtype {', '.join(sorted(others))}" if others else ""
        raise InvalidValue(f"{source.file} has no lanelet of subtype {', '.join(subtypes)}{seen}")
    return lanelets


def _members(source: _Source, number: str, relation: Element) -> dict[str, str]:
    ways: dict[str, str] = {}
    for member in relation.iter("member"):
        role = member.get("role", "")
        if role not in (*_BOUNDS, "centerline"):
            continue
        if role in ways:
            raise InvalidValue(f"{source.file}: lanelet {number} has more than one {role} bound")
        ways[role] = member.get("ref", "")
    missing = [role for role in _BOUNDS if role not in ways]
    if missing:
        raise InvalidValue(
            f"{source.file}: lanelet {number} has no {' and no '.join(missing)} bound"
        )
    return ways


def _nodes_of(source: _Source, way: str, owner: str) -> list[str]:
    if way not in source.ways:
        raise InvalidValue(f"{source.file}: way {way} of lanelet {owner} is missing")
    nodes = [node.get("ref", "") for node in source.ways[way].iter("nd")]
    if len(nodes) < 2:
        raise InvalidValue(f"{source.file}: way {way} of lanelet {owner} has less than 2 nodes")
    for node in nodes:
        if node not in source.nodes:
            raise InvalidValue(f"{source.file}: node {node} of way {way} is missing")
    return nodes


def _places(source: _Source, nodes: Iterable[str]) -> dict[str, tuple[m, m, m]]:
    """x, y, z of the nodes, all found in the same way."""
    tags = {node: _tags(source.nodes[node]) for node in nodes}
    local = _all_or_none(source, tags, "local_x", "local_y")
    high = _all_or_none(source, tags, "ele")
    grid: MilitaryGrid | None = None
    places: dict[str, tuple[m, m, m]] = {}
    for node, have in tags.items():
        z = _number(source, node, have, "ele") if high else 0.0
        if local:
            x, y = (_number(source, node, have, name) for name in ("local_x", "local_y"))
        else:
            attributes = source.nodes[node].attrib
            degrees = [_number(source, node, attributes, name) for name in ("lat", "lon")]
            try:
                grid = grid or MilitaryGrid(*degrees)
                x, y = grid.project(*degrees)
            except InvalidValue as error:
                raise InvalidValue(f"{source.file}: node {node}: {error}") from error
        far = max(abs(x), abs(y), abs(z))
        if far > FARTHEST:
            raise InvalidValue(
                f"{source.file}: node {node} is {far:g} m from the origin; allowed are "
                f"{FARTHEST:g} m"
            )
        places[node] = (x, y, z)
    return places


def _all_or_none(source: _Source, tags: Mapping[str, Mapping[str, str]], *names: str) -> bool:
    """Whether the nodes have these tags; a part of them would put the map in pieces."""
    having = [node for node, have in tags.items() if any(name in have for name in names)]
    lacking = [node for node, have in tags.items() if any(name not in have for name in names)]
    if having and lacking:
        raise InvalidValue(
            f"{source.file}: node {lacking[0]} has no {' and '.join(names)}, but other nodes have"
        )
    return bool(having)


def _number(source: _Source, node: str, values: Mapping[str, Any], name: str) -> float:
    text = values.get(name)
    try:
        value = float(text if text is not None else "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        has = "is missing" if text is None else f"= {text!r} must be a finite number"
        raise InvalidValue(f"{source.file}: node {node}: {name} {has}")
    return value


def _lane(source: _Source, number: str, lines: Mapping[str, Array], spacing: m) -> Lane:
    name = f"{source.file}: lanelet {number}"
    for role, line in lines.items():
        if len(line) < 2:
            raise InvalidValue(f"{name}: all nodes of its {role} line are at one place")
    left, right = _forward(lines["left"], lines["right"])
    outline = np.concatenate([left, right[::-1]])[:, :2]
    centre = lines.get("centerline")
    if centre is None:
        longer = max(lengths(left).sum(), lengths(right).sum())
        if longer / spacing > MOST_PARTS:
            raise InvalidValue(
                f"{name} is {longer:g} m long, more than {MOST_PARTS} parts of {spacing:g} m"
            )
        parts = max(math.ceil(longer / spacing), 1)
        centre = without_repeats((divided(left, parts) + divided(right, parts)) / 2.0)
    elif np.sum((centre[-1] - centre[0]) * (left[-1] + right[-1] - left[0] - right[0])) < 0.0:
        centre = centre[::-1]
    return Lane(centre, None, outline, name)


def _forward(left: Array, right: Array) -> tuple[Array, Array]:
    """Both bounds in the direction of travel, in which the left one is on the left."""
    along = _gap(left[0], right[0]) + _gap(left[-1], right[-1])
    crosswise = _gap(left[0], right[-1]) + _gap(left[-1], right[0])
    if crosswise < along:
        right = right[::-1]
    # Out along the left bound and back along the right one goes round clockwise.
    if signed_area(np.concatenate([left, right[::-1]])[:, :2]) > 0.0:
        left, right = left[::-1], right[::-1]
    return left, right


def _gap(first: Array, second: Array) -> float:
    return float(np.hypot(*(second - first)[:2]))
