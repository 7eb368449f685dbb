"""What rosbag2 of Humble, Iron and Jazzy takes from metadata.yaml, and what it refuses.

Written after the conversions of ros2/rosbag2, branches humble, iron and jazzy
(`rosbag2_storage/src/rosbag2_storage/metadata_io.cpp`, `rosbag2_storage/include/rosbag2_storage/
yaml.hpp`, `rosbag2_transport/src/rosbag2_transport/qos.cpp`, `rosbag2_storage/src/rosbag2_storage/
qos.cpp`). yaml-cpp converts by the text of a scalar: a number is not taken where there is a
sequence or a word, nor a text where there is a sequence, which is its "bad conversion".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import yaml

RELEASES = {"humble": 5, "iron": 7, "jazzy": 9}
"""The version of metadata.yaml that each release writes; each reads all older ones."""
POLICIES = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown", "best_available"),
    "durability": ("system_default", "transient_local", "volatile", "unknown", "best_available"),
    "liveliness": ("system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown"),
}
DURATIONS: tuple[str, ...] = ("deadline", "lifespan", "liveliness_lease_duration")


class BadConversion(Exception):
    """What yaml-cpp throws."""


class Offered(NamedTuple):
    """What `ros2 bag play` offers."""

    depth: int
    policies: Mapping[str, str]
    durations: Mapping[str, int]
    """In ns."""


class Node:
    """A node of YAML, converted only as yaml-cpp converts."""

    def __init__(self, node: yaml.Node | None) -> None:
        self.node = node

    def __getitem__(self, key: str) -> Node:
        if not isinstance(self.node, yaml.MappingNode):
            raise BadConversion(f"{key} of what is no map")
        return Node(next((value for name, value in self.node.value if name.value == key), None))

    @property
    def text(self) -> str:
        if not isinstance(self.node, yaml.ScalarNode):
            raise BadConversion("no scalar")
        return self.node.value

    def integer(self, bits: int = 32) -> int:
        if (
            not re.fullmatch(r"-?\d+", self.text)
            or not -1 << bits - 1 <= int(self.text) < 1 << bits
        ):
            raise BadConversion(f"{self.text!r} is no integer")
        return int(self.text)

    @property
    def items(self) -> list[Node]:
        if not isinstance(self.node, yaml.SequenceNode):
            raise BadConversion("no sequence")
        return [Node(value) for value in self.node.value]

    @property
    def texts(self) -> dict[str, str]:
        """A map of texts; nothing of what is null."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag.endswith(":null"):
            return {}
        if not isinstance(self.node, yaml.MappingNode):
            raise BadConversion("no map")
        return {Node(key).text: Node(value).text for key, value in self.node.value}


def read_qos(text: str, release: str) -> list[Offered]:
    """The profiles in a string, of metadata.yaml or of a channel of MCAP."""
    return [_offered(item, release) for item in Node(yaml.compose(text)).items] if text else []


def read_metadata(text: str, release: str) -> dict[str, tuple[str, int, list[Offered]]]:
    """Topics with type, count and quality of service; raises BadConversion as the release does."""
    about = Node(yaml.compose(text))["rosbag2_bagfile_information"]
    version = about["version"].integer()
    assert version <= RELEASES["jazzy"]
    assert about["storage_identifier"].text in ("mcap", "sqlite3")
    assert [path.text for path in about["relative_file_paths"].items]
    _span(about)
    assert (about["compression_format"].text, about["compression_mode"].text) == ("", "")
    for file in about["files"].items:
        assert file["path"].text
        _span(file)
    if release != "humble" and version >= 6:
        _ = about["custom_data"].texts
    if release == "jazzy" and version >= 8:
        assert about["ros_distro"].text
    topics: dict[str, tuple[str, int, list[Offered]]] = {}
    for item in about["topics_with_message_count"].items:
        topic = item["topic_metadata"]
        assert topic["serialization_format"].text == "cdr"
        if release != "humble" and version >= 7:
            _ = topic["type_description_hash"].text
        offered = topic["offered_qos_profiles"]
        if release == "jazzy" and version >= 9:
            profiles = [_offered(one, release) for one in offered.items]
        else:
            profiles = read_qos(offered.text, release)
        topics[topic["name"].text] = topic["type"].text, item["message_count"].integer(64), profiles
    return topics


def _span(node: Node) -> None:
    for value in (
        node["starting_time"]["nanoseconds_since_epoch"],
        node["duration"]["nanoseconds"],
        node["message_count"],
    ):
        assert value.integer(64) >= 0


def _offered(node: Node, release: str) -> Offered:
    policies: dict[str, str] = {}
    # Jazzy looks at the history to tell which form it is; those before know numbers only.
    numbers = release != "jazzy" or node["history"].text.isdigit()
    for name, words in POLICIES.items():
        policies[name] = words[node[name].integer()] if numbers else node[name].text
        assert policies[name] in words
    durations = {
        name: node[name]["sec"].integer(64) * 10**9 + node[name]["nsec"].integer(64)
        for name in DURATIONS
    }
    assert node["avoid_ros_namespace_conventions"].text in ("true", "false")
    return Offered(node["depth"].integer(), policies, durations)
