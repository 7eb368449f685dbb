"""Imports go one way, and `import skidpad` stays light."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import skidpad

SOURCE = Path(skidpad.__file__).parent
HEAVY = {"casadi", "jax", "jaxlib", "llvmlite", "matplotlib", "numba", "pandas", "pyarrow"}

BASE = {"errors", "extras", "units", "ops", "record", "atomic", "model", "cost", "policy"}
COMPILED = BASE | {"integrate", "compile"}
RECORDING = {"columns", "trajectory", "trajectory_table", "trajectory_points", "interpolation"}
RECORDING |= {"trajectory_commonroad", "goal", "record_io", "viewer"}
RUNNING = COMPILED | RECORDING | {"batch", "stepper", "scipy_stepper", "engines"}
RUNNING |= {"checks", "verdict", "gradient", "loop_arguments", "dead_time", "rollouts"}
RUNNING |= {"derivatives", "simulator", "fleet", "compiled_fleet"}
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "extras": {"errors"},
    "units": set(),
    "ops": {"errors"},
    "record": {"errors", "units"},
    # A vehicle offers `casadi` and `jax`, which come in when called; "integrate" only as a type.
    "model": {"errors", "units", "ops", "record", "integrate", "interop", "linearisation"}
    | {"viewer"},
    "by_name": {"errors"},
    "cost": {"by_name", "errors", "units", "ops", "record"},
    "policy": {"by_name", "errors", "units", "ops", "record"},
    "atomic": {"errors"},
    # The one Runge-Kutta step also serves inside an update.
    "components": BASE | {"integrate"},
    "vehicles": BASE | {"components", "controllers", "additive"},
    "controllers": BASE | {"components", "checks", "linearisation"},
    "integrate": BASE,
    "interop": BASE | {"integrate", "gradient", "trajectory_commonroad"},
    "additive": BASE,
    "differentiated": COMPILED | {"interop"},
    "linearisation": COMPILED | {"checks", "differentiated"},
    "compile": COMPILED,
    # A trajectory offers `to_parquet` and `plot`, which live beside it and take one.
    **dict.fromkeys(RECORDING, BASE | RECORDING | {"interop"}),
    # Recordings and pages are of stages.
    "record_io": BASE | RECORDING | {"stage", "world"},
    "viewer": BASE
    | RECORDING
    | {"compile", "components", "controllers", "linearisation", "maps", "monte_carlo"}
    | {"runs", "stage", "vehicles", "world"},
    "runs": RUNNING
    | {"maps", "sensors", "stage", "vehicles", "world", "controllers", "components"},
    # Vehicles, worlds and studies show themselves in notebooks by these, when they are asked.
    "plots": BASE | RECORDING | {"maps", "monte_carlo", "stage"},
    "batch": COMPILED,
    "stepper": COMPILED,
    "scipy_stepper": COMPILED | {"stepper"},
    "dead_time": COMPILED | {"batch"},
    "engines": COMPILED | {"batch", "dead_time", "stepper"},
    "gradient": COMPILED | {"engines"},
    "loop_arguments": COMPILED | {"batch"},
    "checks": COMPILED,
    "verdict": COMPILED | {"batch", "dead_time", "engines"},
    "rollouts": COMPILED | {"batch", "dead_time", "engines", "verdict"},
    "derivatives": COMPILED | {"batch", "checks", "dead_time", "gradient", "rollouts"},
    "compiled_fleet": RUNNING - {"simulator", "fleet"} - RECORDING,
    # "monte_carlo" comes in when it is called; "uncertainty" only as a type.
    "fleet": RUNNING - {"simulator", "trajectory"} | {"interop", "monte_carlo", "uncertainty"},
    "simulator": RUNNING,
    "conformance": RUNNING,
    "planning": RUNNING | {"vehicles", "components", "controllers", "sensors"},
    "identify": RUNNING | {"vehicles"},
    "loops": {"errors", "compile"},
    "uncertainty": BASE | {"by_name", "components", "loops", "sensors", "spread"},
    "monte_carlo": RUNNING | {"plots", "uncertainty"},
    "simulation": RUNNING | {"additive", "uncertainty", "monte_carlo"},
    "stage": RUNNING | {"vehicles", "sensors", "world"},
    "spread": {"errors"},
    "segment_index": BASE | {"loops"},
    "maps": BASE | RECORDING | {"segment_index"},
    "collision": BASE | {"loops", "maps", "segment_index", "spread"},
    "raycast": BASE | {"compile", "loops", "maps", "spread"},
    "engine": RUNNING | {"vehicles", "components", "maps", "collision", "raycast", "sensors"},
    "sensors": BASE | RECORDING | {"components", "maps", "raycast"},
    "world": RUNNING
    | {"vehicles", "components", "controllers", "maps", "collision", "raycast", "sensors"},
}
"""What each part of the package may import besides itself."""
SHELLS = {"__main__", "cli", "bench", "demo"}
"""May import everything; nothing may import them but each other."""

CONFINED = {
    # Where numba's loops need vectors of their own making.
    "llvmlite": {"compile", "raycast"},
    "numba": {"loops", "raycast", "collision", "bench"},
    "jax": {"compile", "ops", "bench", "conformance", "interop"},
    "typer": {"cli"},
    "rich": SHELLS,
    "plotly": {"viewer"},
    "starlette": {"viewer"},
    "uvicorn": {"viewer"},
}
"""Third-party packages and the only parts that may import them."""


def part(module: str) -> str:
    """The part of the package a dotted module name belongs to; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def module_name(file: Path) -> str:
    names = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported(file: Path) -> set[str]:
    """Every module that a file imports, at any depth of nesting, as absolute dotted names."""
    name = module_name(file)
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            found.add(".".join(base))
            found |= {".".join([*base, alias.name]) for alias in node.names}
    return found


FILES = sorted(SOURCE.rglob("*.py"))
INNER = [file for file in FILES if file != SOURCE / "__init__.py"]


def file_id(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("file", INNER, ids=file_id)
def test_a_part_imports_only_what_lies_below_it(file: Path) -> None:
    own = part(module_name(file))
    if own in SHELLS:
        return
    assert own in ALLOWED, f"say in ALLOWED what {own} may import"
    parts = {part(name) for name in imported(file) if name.split(".")[0] == "skidpad"}
    known = {p for p in parts if (SOURCE / p).is_dir() or (SOURCE / f"{p}.py").is_file()} - {""}
    assert known <= ALLOWED[own] | {own}


@pytest.mark.parametrize("file", INNER, ids=file_id)
def test_libraries_stay_where_they_belong(file: Path) -> None:
    own = part(module_name(file))
    roots = {name.split(".")[0] for name in imported(file)}
    strayed = {root for root in roots & set(CONFINED) if own not in CONFINED[root]}
    assert not strayed


def loaded_after(statement: str) -> set[str]:
    """Root packages in `sys.modules` after a statement in a fresh interpreter."""
    path = os.pathsep.join(filter(None, [str(SOURCE.parent), os.environ.get("PYTHONPATH")]))
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(run.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_after("import skidpad") & HEAVY


def test_describing_vehicles_needs_neither_compiler_nor_plots() -> None:
    loaded = loaded_after("import skidpad\nskidpad.vehicles.names(), skidpad.Trajectory")
    assert not loaded & (HEAVY - {"casadi"})


def test_help_needs_no_numerics() -> None:
    loaded = loaded_after("import skidpad.cli")
    assert not loaded & (HEAVY | {"numpy", "scipy"})


def test_every_public_name_loads_and_is_listed() -> None:
    assert dir(skidpad) == sorted(skidpad.__all__)
    for name in skidpad.__all__:
        assert getattr(skidpad, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Simulater'"):
        skidpad.Simulater  # noqa: B018
