"""The metadata.yaml of bags, as rosbag2 of Jazzy and later writes it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..files import replacing

NAME = "metadata.yaml"
ROOT = "rosbag2_bagfile_information"
VERSION = 9


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


def topic_text(
    name: str, type_name: str, form: str, profiles: Sequence[Mapping[str, Any]], type_hash: str
) -> str:
    """A topic in metadata.yaml, up to the count of its messages: the slow part, done once."""
    about = {
        "name": name,
        "type": type_name,
        "serialization_format": form,
        "offered_qos_profiles": [dict(profile) for profile in profiles],
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
    return yaml.safe_dump(value, sort_keys=False)


def _span(start: int, end: int, messages: int) -> dict[str, Any]:
    return {
        "starting_time": {"nanoseconds_since_epoch": start},
        "duration": {"nanoseconds": end - start},
        "message_count": messages,
    }
