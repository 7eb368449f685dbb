"""Variables that ROS 2 users set, and the settings of Cyclone DDS that come of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ros2.dds import DOMAIN, ENVIRONMENT, transport
from skidpad.errors import InvalidValue
from skidpad.ros2.cyclone import CycloneTransport
from skidpad.ros2.dds import Identity, settings_of

pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ROS_DOMAIN_ID", "x"),
        ("ROS_DOMAIN_ID", "-1"),
        ("ROS_DOMAIN_ID", "233"),
        ("ROS_DOMAIN_ID", "1.5"),
        ("ROS_DOMAIN_ID", "٣"),
        ("ROS_LOCALHOST_ONLY", "yes"),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "localhost"),
        ("CYCLONEDDS_URI", "<Nonsense/>"),
        ("CYCLONEDDS_URI", "file:///nowhere/at/all.xml"),
        ("CYCLONEDDS_URI", "<ä/>"),
    ],
)
def test_variables_that_cannot_be_used_are_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidValue, match=f"{variable} is {re.escape(repr(value))}"):
        CycloneTransport(Identity("car"), {**ENVIRONMENT, variable: value})
    with transport() as here:
        assert here.domain == DOMAIN


def test_variables_that_are_empty_are_not_set() -> None:
    names = ("ROS_DOMAIN_ID", "ROS_LOCALHOST_ONLY", "ROS_AUTOMATIC_DISCOVERY_RANGE")
    assert settings_of(dict.fromkeys((*names, "CYCLONEDDS_URI"), "")) == settings_of({})
    assert settings_of({}).domain == 0


def test_both_variables_for_this_machine_alone_mean_the_same() -> None:
    humble = settings_of({"ROS_LOCALHOST_ONLY": "1"})
    assert settings_of({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}) == humble
    assert settings_of({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}) == settings_of({}) != humble


def test_the_users_settings_come_behind_ours(tmp_path: Path) -> None:
    """Cyclone writes the settings that it took into its trace, if asked to."""
    trace = tmp_path / "trace.log"
    users = (
        "<CycloneDDS><Domain><Tracing><Verbosity>config</Verbosity>"
        f"<OutputFile>{trace}</OutputFile></Tracing>"
        "<Discovery><SPDPInterval>7s</SPDPInterval></Discovery></Domain></CycloneDDS>"
    )
    with transport(CYCLONEDDS_URI=users):
        pass
    taken = trace.read_text()
    for setting in (
        "Compatibility/IgnoreTypeInformation/#text: 1.15",
        "Discovery/SPDPInterval/#text: 7 s",
        "NetworkInterface[@address]: 127.0.0.1",
        "Discovery/MaxAutoParticipantIndex/#text: 32",
    ):
        assert setting in taken


def test_a_domain_has_one_set_of_settings_in_a_process() -> None:
    with transport(), pytest.raises(InvalidValue, match="other settings"):
        CycloneTransport(Identity("b"), {**ENVIRONMENT, "ROS_LOCALHOST_ONLY": "0"})
    # And another one when nobody is left in it.
    wide = {**ENVIRONMENT, "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF", "ROS_LOCALHOST_ONLY": "0"}
    CycloneTransport(Identity("b"), wide).close()
