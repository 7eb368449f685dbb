"""Numbers as people write them in files of parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from skidpad.errors import InvalidValue
from skidpad.ros2.arguments import parsed
from skidpad.ros2.parameters import Parameters
from skidpad.ros2.transport import Identity


def test_a_power_of_ten_without_a_point_is_a_number(tmp_path: Path) -> None:
    """As upstream's launch files have them; a word where a word is expected stays one."""
    file = tmp_path / "p.yaml"
    file.write_text("/**: {ros__parameters: {a: 1e-2, b: [1e-3, 2, 0.5], name: 1e5}}")
    words = ["--ros-args", "--params-file", str(file), "-p", "c:=-2E+3", "-p", "d:=1e"]
    parameters = Parameters(parsed(words).parameters_of(Identity("node")))
    assert parameters.declare("a", 0.0) == 0.01
    assert parameters.declare("b", [0.0]) == [0.001, 2.0, 0.5]
    assert parameters.declare("c", 0.0) == -2000.0
    assert parameters.declare("name", "") == "1e5"
    with pytest.raises(InvalidValue, match="d = '1e' is of type string"):
        parameters.declare("d", 0.0)
