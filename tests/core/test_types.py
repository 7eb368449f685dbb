"""What an editor knows of simulators and vehicles: the records of the vehicle at hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import skidpad

SOURCE = """
from typing import Any, NamedTuple

import skidpad as sp


class State(NamedTuple):
    x: float = 0.0


class Input(NamedTuple):
    v: float = 0.0


class Params(NamedTuple):
    k: float = 1.0


def derivative(x: State, u: Input, w: Any, p: Params) -> State:
    return State(p.k * u.v)


own = sp.VehicleFactory(sp.Model("own", State, Input, Params, derivative=derivative))
sim = sp.Simulator(own(k=2.0))
reveal_type(sim)
reveal_type(sim.step(Input(1.0)))
reveal_type(sim.reset(x=1.0))
reveal_type(sim.input)
reveal_type(own().params.k)
reveal_type(own().with_params(k=3.0))
car = sp.vehicles.four_wheel()
reveal_type(sp.Simulator(car).step(steer=0.1).v_x)
reveal_type(sp.Simulator(car).outputs())
reveal_type(sp.Simulator(car).disturbance)
reveal_type(sp.Fleet(car, 0.01).vehicle)
reveal_type(sp.Fleet(car, 0.01).monte_carlo({}, runs=3))


def partly(some: sp.Simulator[State, Input], any_: sp.Simulator) -> None:
    reveal_type(some.state)
    reveal_type(any_.state)


partly(sim, sim)
sim.run(lambda t, x: Input(x.x), steps=3)
sim.step("left")
sim.state.y
"""
WANTED = [
    "Simulator[State, Input, Params, Any, Any]",
    "State",
    "State",
    "Input",
    "float",
    "Vehicle[State, Input, Params, Any, Any]",
    "float",
    "Outputs",
    "External",
    "Vehicle[State, Input, Params, Outputs, External]",
    "MonteCarlo",
    "State",
    "Any",
]


def test_records_have_their_types(tmp_path: Path) -> None:
    (tmp_path / "probe.py").write_text(SOURCE, "utf-8")
    source = str(Path(skidpad.__file__).parents[1])
    settings = {"include": ["probe.py"], "extraPaths": [source], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    options = ["--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    command = [sys.executable, "-m", "basedpyright", *options]
    report = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    remarks = json.loads(report.stdout)["generalDiagnostics"]
    revealed = [r["message"] for r in remarks if r["severity"] == "information"]
    assert [re.findall(r'is "(.*)"$', message)[0] for message in revealed] == WANTED
    errors = [r["message"] for r in remarks if r["severity"] == "error"]
    assert [message.split("\n")[0] for message in errors] == [
        'Argument of type "Literal[\'left\']" cannot be assigned to parameter "inputs" of type '
        '"Input | Mapping[str, Any] | Sequence[float] | AnyArray | None" in function "step"',
        'Cannot access attribute "y" for class "State"',
    ]
