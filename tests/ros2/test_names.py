"""Names of topics and services, remaps, and what stands behind --ros-args."""

from __future__ import annotations

from pathlib import Path

import pytest

from skidpad.errors import InvalidValue
from skidpad.ros2.dds import Identity
from skidpad.ros2.node import Remap, RosArguments, full_name, parse_arguments, remapped

ME = Identity("sim", "/robots/one")


# The table of design.ros2.org, "Topic and Service name mapping": a node `my_node` in `/ns`.
@pytest.mark.parametrize(
    ("name", "who", "full"),
    [
        ("ping", Identity("my_node"), "/ping"),
        ("ping", Identity("my_node", "/my_ns"), "/my_ns/ping"),
        ("/ping", Identity("my_node", "/my_ns"), "/ping"),
        ("~/ping", Identity("my_node", "/my_ns"), "/my_ns/my_node/ping"),
        ("~", Identity("my_node", "/my_ns"), "/my_ns/my_node"),
        ("a/b", Identity("my_node", "/x/y"), "/x/y/a/b"),
    ],
)
def test_names_become_full(name: str, who: Identity, full: str) -> None:
    assert full_name(name, who) == full


@pytest.mark.parametrize("name", ["", "/", "a//b", "1a", "a/1b", "a b", "~a", "a/", "/a/~", "ä"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="not a name of a topic"):
        full_name(name, ME)


def test_the_first_rule_that_fits_wins() -> None:
    rules = (
        Remap("other", "/never"),
        Remap("odom", "/elsewhere", "another"),
        Remap("odom", "truth"),
        Remap("/robots/one/odom", "/late"),
        Remap("~/state", "/state"),
    )
    assert remapped("odom", ME, rules) == "/robots/one/truth"
    assert remapped("/robots/one/odom", ME, rules) == "/robots/one/truth"
    assert remapped("~/state", ME, rules) == "/state"
    assert remapped("scan", ME, rules) == "/robots/one/scan"


def test_ros_args_as_users_type_them() -> None:
    words = (
        "--ros-args -r __ns:=/a -r __node:=b -r x:=/y --remap c:d:=e -p k:=1 --log-level warn --"
    )
    arguments = parse_arguments(
        [*words.split(), "--ros-args", "-p", "b:list:=[1, 2.5]", "-p", "other:k:=9"]
    )
    who = arguments.identity("sim")
    assert who == Identity("b", "/a")
    assert arguments.names() == (Remap("x", "/y"), Remap("d", "e", "c"))
    assert arguments.parameters_of(who) == {"k": 1, "list": [1, 2.5]}
    assert arguments.log_level == "warn"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stray"], "unexpected argument 'stray'"),
        (["--ros-args", "--wrong"], "'--wrong' after --ros-args is unknown"),
        (["--ros-args", "-r"], "-r needs a value"),
        (["--ros-args", "-r", "ab"], "remap 'ab' must be FROM:=TO"),
        (["--ros-args", "-p", "ab"], "parameter 'ab' must be NAME:=VALUE"),
        (["--ros-args", "-p", "a:=[1"], "is not YAML"),
        (["--ros-args", "--log-level", "loud"], "log level 'loud' must be one of debug, info"),
        (["--ros-args", "--params-file", "/nowhere.yaml"], "/nowhere.yaml"),
    ],
)
def test_mistyped_arguments_are_named(words: list[str], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        parse_arguments(words)


def test_a_bad_name_of_a_node_or_namespace_is_refused() -> None:
    for rule, message in (("__node:=a-b", "node name 'a-b'"), ("__ns:=/a//b", "namespace '/a//b'")):
        with pytest.raises(InvalidValue, match=message):
            parse_arguments(["--ros-args", "-r", rule]).identity("sim")


PARAMETERS = """
/**:
  ros__parameters:
    rate: 10
    mechanical_params: {kp: 1.5, ki: 2.0}
    map_path: $(find-pkg-share my_maps)/data/a.csv
    twice: 1
    twice: 2
sim:
  ros__parameters:
    rate: 1.0
robots:
  one:
    sim:
      ros__parameters:
        name: inner
/robots/*/sim:
  ros__parameters:
    starred: true
/other:
  ros__parameters:
    rate: 99
"""


def test_files_of_parameters_have_the_layout_of_ros(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(PARAMETERS)
    words = ["--ros-args", "--params-file", str(file), "-p", "late:=yes"]
    arguments = parse_arguments(words, {"my_maps": Path("/share/my_maps")})
    common = {
        "rate": 10,
        "mechanical_params.kp": 1.5,
        "mechanical_params.ki": 2.0,
        "map_path": "/share/my_maps/data/a.csv",
        "twice": 2,
        "late": True,
    }
    assert arguments.parameters_of(Identity("any")) == common
    assert arguments.parameters_of(Identity("sim")) == {**common, "rate": 1.0}
    assert arguments.parameters_of(ME) == {**common, "name": "inner", "starred": True}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- 1", "must hold a mapping of nodes"),
        ("sim: 3", "'sim' must hold ros__parameters, got 3"),
        ("sim: {ros__parameters: [1]}", "ros__parameters of sim must be a mapping"),
        ("sim: {ros__parameters: {a: $(find-pkg-share none)}}", "--package none=FOLDER"),
        ("sim: {ros__parameters: {a: $(var b)}}", "cannot be resolved outside of a launch file"),
        ("a: [", "line 1"),
    ],
)
def test_bad_files_of_parameters_are_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(InvalidValue, match=message) as caught:
        parse_arguments(["--ros-args", "--params-file", str(file)]).parameters_of(Identity("sim"))
    assert str(file) in str(caught.value)


def test_without_arguments_nothing_changes() -> None:
    assert RosArguments().identity("sim") == Identity("sim", "/")
    assert parse_arguments([]).parameters_of(ME) == {}


def test_numbers_with_an_exponent_are_numbers_as_in_ros(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("/**: {ros__parameters: {a: 1e-4, b: [1E3, .5e+1], c: 1e-4x, d: '1e-4'}}")
    words = ["--ros-args", "--params-file", str(file), "-p", "e:=-2e-3"]
    assert parse_arguments(words).parameters_of(ME) == {
        "a": 1e-4, "b": [1000.0, 5.0], "c": "1e-4x", "d": "1e-4", "e": -0.002,
    }  # fmt: skip
