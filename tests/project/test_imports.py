"""Imports go one way, and `import skidpad` stays light."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import skidpad

SOURCE = Path(skidpad.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
"""Lists the rings; the imports of the package are held against the list."""
HEAVY = {"casadi", "jax", "jaxlib", "llvmlite", "matplotlib", "numba", "pandas", "pyarrow"}

CONFINED = {
    # Where numba's loops need vectors of their own making.
    "llvmlite": {"compile", "geometry"},
    "numba": {"compile", "geometry", "bench"},
    "jax": {"compile", "core", "bench", "testing", "run"},
    "typer": {"cli"},
    "rich": {"__main__", "cli", "bench", "demo"},
    "starlette": {"view"},
    "uvicorn": {"view"},
    "zenoh": {"ros2"},
}
"""Third-party packages and the only packages that may import them."""


DOORS = {
    ("skidpad.study.identify.comparison", "skidpad.view.pages.identification_report"),
    ("skidpad.study.identify.fitting", "skidpad.view.pages.identification_report"),
    ("skidpad.study.results", "skidpad.study.plan_file"),
    ("skidpad.study.results", "skidpad.view.pages.campaign_report"),
    ("skidpad.study.results", "skidpad.view.pages.campaign_report"),
    ("skidpad.study.worlds", "skidpad.view.recording.recorder"),
    ("skidpad.compile.pipeline", "skidpad.vehicles.registry"),
    ("skidpad.study.logs.reading", "skidpad.view.recording.reading"),
    ("skidpad.learn.environments", "skidpad.learn.cuda_environments"),
    ("skidpad.learn.gymnasium_envs", "skidpad.view.live.server"),
    ("skidpad.study.manoeuvres.evaluation", "skidpad.view.pages.report"),
    ("skidpad.core.model", "skidpad.compile.portable"),
    ("skidpad.core.model", "skidpad.compile.portable"),
    ("skidpad.core.model", "skidpad.run.interop"),
    ("skidpad.core.model", "skidpad.view.plots.notebook"),
    ("skidpad.core.model", "skidpad.run.linearisation"),
    ("skidpad.core.model", "skidpad.vehicles.registry"),
    ("skidpad.geometry.maps.map", "skidpad.geometry.maps.files"),
    ("skidpad.geometry.maps.map", "skidpad.view.plots.runs"),
    ("skidpad.geometry.maps.track", "skidpad.random.race_track"),
    ("skidpad.geometry.raycast.scene", "skidpad.geometry.raycast.cuda"),
    ("skidpad.core.record", "skidpad.compile.portable"),
    ("skidpad.run.monte_carlo", "skidpad.view.plots.comparison"),
    ("skidpad.run.monte_carlo", "skidpad.view.plots.notebook"),
    ("skidpad.view.film", "skidpad.view.pages.page"),
    ("skidpad.view.film", "skidpad.view.pages.page"),
    ("skidpad.run.trajectory", "skidpad.view.plots.runs"),
    ("skidpad.run.trajectory", "skidpad.view.plots.notebook"),
    ("skidpad.run.trajectory", "skidpad.view.pages.page"),
    ("skidpad.tyres.tyre", "skidpad.view.plots.notebook"),
    ("skidpad.tyres.tyre", "skidpad.view.plots.tyres"),
    ("skidpad.world.world", "skidpad.view.plots.notebook"),
}
"""Imports inside methods by which an object offers what lies further out, such as
`vehicle.casadi()` and `trajectory.plot()`; only these may go outwards."""


LOOSE = {"errors", "units", "ops"}
"""Modules outside of all packages, which belong to `core`."""


def package(module: str) -> str:
    """The folder a dotted module name belongs to; empty for skidpad itself."""
    name = module.split(".")[1] if "." in module else ""
    return "core" if name in LOOSE else name


@cache
def part(module: str) -> str:
    """The innermost listed part a dotted module name belongs to; its folder if none is listed."""
    inner = module.partition(".")[2]
    within = [one for one in listed() if f"{inner}.".startswith(f"{one}.")]
    return max(within, key=len, default=package(module))


def module_name(file: Path) -> str:
    names = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@cache
def is_module(name: str) -> bool:
    """Whether a dotted name is a module or a package of skidpad."""
    place = SOURCE.parent.joinpath(*name.split("."))
    return place.is_relative_to(SOURCE) and (place.is_dir() or place.with_suffix(".py").is_file())


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements in a tree, at any depth, without what they compute."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            yield node
            yield from statements(node)


def imported(file: Path) -> set[str]:
    """Every module that a file imports, at any depth of nesting, but for its doors."""
    return {one for one in all_imported(file) if (module_name(file), one) not in DOORS}


@cache
def all_imported(file: Path) -> set[str]:
    """The same with its doors, as absolute dotted names.

    `from .a import b` is an import of the module `a.b` if there is one, and else of `a`.
    """
    name = module_name(file)
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    modules: set[str] = set()
    for node in statements(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *(node.module.split(".") if node.module else [])])
            inside = (f"{base}.{alias.name}" for alias in node.names)
            modules |= {inner if is_module(inner) else base for inner in inside}
    return modules


FILES = sorted(SOURCE.rglob("*.py"))
INNER = [file for file in FILES if file != SOURCE / "__init__.py"]


def part_graph() -> dict[str, set[str]]:
    """The parts of the package that each part imports, for types and inside functions too."""
    graph: dict[str, set[str]] = {}
    for file in INNER:
        own = part(module_name(file))
        parts = {part(name) for name in imported(file) if is_module(name)}
        if file.name == "__init__.py":
            # A package may offer names of the parts inside of it.
            parts = {one for one in parts if not one.startswith(f"{own}.")}
        graph.setdefault(own, set()).update(parts - {own, ""})
    return graph


def module_graph() -> dict[str, set[str]]:
    """The modules that each module imports; the package's own `__init__` lies outside of all."""
    return {
        module_name(file): {name for name in imported(file) if is_module(name)} - {"skidpad"}
        for file in INNER
    }


@pytest.mark.parametrize("graph", [part_graph, module_graph])
def test_imports_go_one_way(graph: Callable[[], dict[str, set[str]]]) -> None:
    # Raises CycleError, which names the cycle.
    assert list(TopologicalSorter(graph()).static_order())


@cache
def listed() -> list[str]:
    """The parts of the package from the innermost to the outermost, as the page has them."""
    block = re.search(r"```rings\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert block is not None
    return [part for line in block.group(1).splitlines() for part in line.split(":", 1)[1].split()]


def test_every_part_is_listed_once() -> None:
    assert sorted(listed()) == sorted(part_graph())


def test_imports_go_inwards() -> None:
    rank = {part: k for k, part in enumerate(listed())}
    outwards = [
        f"{part} imports {other}"
        for part, others in part_graph().items()
        for other in others
        if rank[other] >= rank[part]
    ]
    assert outwards == []


def at_the_top(file: Path) -> set[str]:
    """What a file imports while it is loaded, or for types."""
    tree = ast.parse(file.read_text("utf-8"))
    inner = {
        id(one)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for one in ast.walk(node)
    }
    package = file.relative_to(SOURCE.parent).parent.parts
    return {
        ".".join([*package[: len(package) - node.level + 1], node.module or ""])
        for node in statements(tree)
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in inner
    }


def test_doors_are_used_and_lie_inside_of_functions() -> None:
    names = {module_name(file): file for file in FILES}
    assert {door for door in DOORS if door[1] not in all_imported(names[door[0]])} == set()
    assert {door for door in DOORS if door[1] in at_the_top(names[door[0]])} == set()


def test_libraries_stay_where_they_belong() -> None:
    strayed = [
        f"{file.relative_to(SOURCE)} imports {root}"
        for file in INNER
        for root in sorted({name.split(".")[0] for name in imported(file)} & set(CONFINED))
        if package(module_name(file)) not in CONFINED[root]
    ]
    assert not strayed


def loaded_after(statement: str, depth: int | None = 1) -> set[str]:
    """Names in `sys.modules`, to a depth, after a statement in a fresh interpreter."""
    path = os.pathsep.join(filter(None, [str(SOURCE.parent), os.environ.get("PYTHONPATH")]))
    names = f"{{'.'.join(name.split('.')[:{depth}]) for name in sys.modules}}"
    code = f"{statement}\nimport sys\nprint(*{names})"
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


def test_describing_a_car_loads_few_modules() -> None:
    modules = loaded_after("import skidpad\nskidpad.vehicles.four_wheel()", depth=None)
    assert len([name for name in modules if name.partition(".")[0] == "skidpad"]) <= 110


def test_an_implicit_step_sensors_and_reading_worlds_do_without_scipy() -> None:
    """Its parts take a quarter of a second to import, as long as all the rest."""
    car = "sp.vehicles.kinematic_bicycle()"
    loaded = loaded_after(
        "import skidpad as sp, skidpad.sensors, skidpad.world, skidpad.ros2.nodes.vehicle\n"
        "import skidpad.study.manoeuvres\n"
        f"sp.Simulator({car}, dt=0.01, integrator='radau').step()"
    )
    assert "scipy" not in loaded


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
