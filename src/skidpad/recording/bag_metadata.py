"""The metadata.yaml of bags, in the form that rosbag2 of Humble, Iron, Jazzy and later reads.

What decides is `offered_qos_profiles`. Up to version 8 it is a string that holds YAML with the
numbers of rmw's enumerations; version 9 (Jazzy) has a sequence with names in its place. Humble and
Iron expect the string whatever the version says; Jazzy goes by the version. So bags are written as
version 8, with everything that Jazzy expects of it. Source: ros2/rosbag2, branches humble, iron
and jazzy: `rosbag2_storage/src/rosbag2_storage/metadata_io.cpp` and
`rosbag2_storage/include/rosbag2_storage/yaml.hpp`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from ..files import replacing

NAME = "metadata.yaml"
ROOT = "rosbag2_bagfile_information"
VERSION = 8
_POLICIES = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown", "best_available"),
    "durability": ("system_default", "transient_local", "volatile", "unknown", "best_available"),
    "liveliness": (
        "system_default",
        "automatic",
        "manual_by_node",
        "manual_by_topic",
        "unknown",
        "best_available",
    ),
}
"""Names of policies in the order of rmw's enumerations (rmw/types.h)."""


class FileSpan(NamedTuple):
    """A file of a bag."""

    name: str
    start: int
    """Earliest time of a message in ns; 0 if there is none, as `end`."""
    end: int
    messages: int


class TopicAndCount(NamedTuple):
    """A topic as `topic_text` has it, and how many messages it has."""

    text: str
    messages: int


class _Quoted(str):
    """A text that is written between double quotes on one line, as yaml-cpp writes it."""


class _Dumper(yaml.SafeDumper):
    pass


def _represent_quoted(dumper: yaml.SafeDumper, text: _Quoted) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')


_Dumper.add_representer(_Quoted, _represent_quoted)


def qos_text(profiles: Sequence[Mapping[str, Any]]) -> str:
    """Quality-of-service profiles as YAML with the numbers of rmw; empty if there are none."""
    numbered: list[dict[str, Any]] = []
    for profile in profiles:
        policies = dict(profile)
        for name, words in _POLICIES.items():
            value = policies.get(name)
            if isinstance(value, str):
                policies[name] = words.index(value if value in words else "unknown")
        numbered.append(policies)
    return yaml_text(numbered) if numbered else ""


def qos_profiles(text: str) -> list[dict[str, Any]]:
    """The profiles in a text with numbers or names; none if it is no list of profiles."""
    try:
        listed = yaml.safe_load(text) or []
        return [dict(cast("Mapping[str, Any]", profile)) for profile in listed]
    except (yaml.YAMLError, TypeError, ValueError):
        return []


def topic_text(name: str, type_name: str, form: str, qos: str, type_hash: str) -> str:
    """A topic in metadata.yaml, up to the count of its messages: the slow part, done once.

    `qos` is what `qos_text` returns.
    """
    about = {
        "name": name,
        "type": type_name,
        "serialization_format": form,
        "offered_qos_profiles": _Quoted(qos),
        "type_description_hash": type_hash,
    }
    return yaml_text([{"topic_metadata": about}])


def metadata_text(
    storage: str,
    files: Sequence[FileSpan],
    topics: Sequence[TopicAndCount],
    *,
    ros_distro: str = "skidpad",
    custom_data: Any = None,
) -> str:
    """What is in a bag, without the line above it in metadata.yaml."""
    filled = [file for file in files if file.messages]
    start = min((file.start for file in filled), default=0)
    end = max((file.end for file in filled), default=0)
    about = {
        "version": VERSION,
        "storage_identifier": storage,
        "relative_file_paths": [file.name for file in files],
        **_span(start, end, sum(file.messages for file in files)),
        "compression_format": "",
        "compression_mode": "",
        "files": [{"path": f.name, **_span(f.start, f.end, f.messages)} for f in files],
        "custom_data": custom_data,
        "ros_distro": ros_distro,
    }
    listed = "".join(f"{topic.text}  message_count: {topic.messages}\n" for topic in topics)
    return yaml_text(about) + "topics_with_message_count:" + (f"\n{listed}" if listed else " []\n")


def write_metadata(folder: Path, text: str) -> None:
    """Put it into metadata.yaml, which is the old one or the new one at any time."""
    with replacing(folder / NAME) as path:
        path.write_text(f"{ROOT}:\n{textwrap.indent(text, '  ')}", "utf-8")


def yaml_text(value: Any) -> str:
    """YAML in the order in which it is given."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=float("inf"))


def _span(start: int, end: int, messages: int) -> dict[str, Any]:
    return {
        "starting_time": {"nanoseconds_since_epoch": start},
        "duration": {"nanoseconds": end - start},
        "message_count": messages,
    }
