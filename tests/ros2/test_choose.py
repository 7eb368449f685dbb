"""Which middleware is taken: what is asked for, what the peers speak, what is there."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from skidpad.errors import InvalidValue, MissingExtra
from skidpad.ros2 import loop
from skidpad.ros2.dds import Identity

WHO = Identity("sim", "/robot")
CLASSES = {"cyclone": "CycloneTransport", "zenoh": "ZenohTransport", "rclpy": "RclpyTransport"}
ALL = {"cyclonedds", "zenoh", "rclpy"}


@pytest.fixture(autouse=True)
def noted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transports that are only noted; no variable is set."""
    monkeypatch.delenv("RMW_IMPLEMENTATION", raising=False)
    for module, name in CLASSES.items():
        stand_in = ModuleType(module)
        setattr(stand_in, name, lambda identity, module=module: (module, identity))
        monkeypatch.setitem(sys.modules, f"skidpad.ros2.{module}", stand_in)


def install(monkeypatch: pytest.MonkeyPatch, packages: set[str]) -> None:
    """Let these be installed, and no others."""
    monkeypatch.setattr(loop, "_is_installed", lambda package: package in packages)


def taken(kind: str = "auto") -> Any:
    """The module of the transport that is taken."""
    module, identity = loop.transport(kind, WHO)  # pyright: ignore[reportGeneralTypeIssues]
    assert identity == WHO
    return module


@pytest.mark.parametrize(
    ("kind", "module"), [("cyclonedds", "cyclone"), ("zenoh", "zenoh"), ("rclpy", "rclpy")]
)
def test_what_is_asked_for_is_taken_whatever_else_is_said(
    kind: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_connextdds")
    assert taken(kind) == module


@pytest.mark.parametrize(
    ("implementation", "module"),
    [
        ("rmw_zenoh_cpp", "zenoh"),
        ("rmw_cyclonedds_cpp", "cyclone"),
        ("rmw_fastrtps_cpp", "rclpy"),
        ("rmw_fastrtps_dynamic_cpp", "rclpy"),
        ("rmw_connextdds", "rclpy"),
    ],
)
def test_the_variable_of_ros_decides(
    implementation: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, ALL)
    monkeypatch.setenv("RMW_IMPLEMENTATION", implementation)
    assert taken() == module


@pytest.mark.parametrize(
    ("packages", "module"),
    [
        (ALL, "rclpy"),  # A sourced ROS 2, whose default is Fast DDS.
        ({"cyclonedds", "zenoh"}, "cyclone"),
        ({"zenoh"}, "zenoh"),
        ({"rclpy"}, "rclpy"),
    ],
)
def test_else_what_is_installed(
    packages: set[str], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, packages)
    assert taken() == module


def test_peers_on_fast_dds_are_reached_by_cyclone_where_ros_is_not_sourced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, {"cyclonedds", "zenoh"})
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    assert taken() == "cyclone"


def test_an_rclpy_of_another_python_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sourced ROS 2 is on the path of every Python; its library loads in one version only."""
    (tmp_path / "rclpy").mkdir()
    (tmp_path / "rclpy/__init__.py").write_text("from rclpy import _rclpy_pybind11\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert taken() == "cyclone"


def test_what_nobody_here_speaks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"cyclonedds", "zenoh"})
    monkeypatch.setenv("RMW_IMPLEMENTATION", "rmw_connextdds")
    with pytest.raises(InvalidValue, match=r"RMW_IMPLEMENTATION=rmw_connextdds.*rmw_zenoh_cpp"):
        taken()


def test_nothing_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, set())
    with pytest.raises(MissingExtra, match=r'pip install "skidpad\[ros2\]"'):
        taken()


def test_other_names_are_refused() -> None:
    with pytest.raises(InvalidValue, match="'dds': must be one of auto, cyclonedds, zenoh, rclpy"):
        taken("dds")


def test_packages_are_found_without_being_imported() -> None:
    assert loop._is_installed("zenoh")
    assert not loop._is_installed("no_such_package")
