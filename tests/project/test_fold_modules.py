"""A small package means the same after `tools/fold_modules.py` merged and moved its modules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE

TOOL = Path(__file__).parents[2] / "tools" / "fold_modules.py"
FILES = {
    "src/skidpad/__init__.py": '''"""A package."""

from . import bodies, paths, steps
from .bodies import mass as mass

__all__ = ["bodies", "paths", "steps"]
''',
    # Two modules with a private name each, of different values, and an equal one.
    "src/skidpad/wheels.py": '''"""Wheels."""

from math import pi

_SCALE = 2.0
_SHARE = 0.5
__all__ = ["angle", "radius"]


def radius():
    return _SCALE * _SHARE


def angle():
    return pi * _SCALE
''',
    "src/skidpad/springs.py": '''"""Springs."""

from math import e as pi

from . import wheels
from .wheels import radius as wheel_radius

_SCALE = 3.0
_SHARE = 0.5


def length():
    global _SCALE
    radius = 10.0
    _SCALE = 3.0
    return wheels.radius() + wheel_radius() * _SCALE * _SHARE + radius


def irrational():
    return pi
''',
    # A loop variable called as an import of the module that it is merged with.
    "src/skidpad/loads.py": '''"""Loads."""

from typing import TYPE_CHECKING

from .paths import total

if TYPE_CHECKING:
    from decimal import Decimal as Number
else:
    from fractions import Fraction as Number


def load():
    return float(Number(total([1.0, 2.0])))
''',
    "src/skidpad/steps.py": '''"""Steps."""


def steps():
    found = []
    for total in (1, 2):
        found.append(total)
    return found


def count():
    return sum(steps())
''',
    "src/skidpad/sums.py": '''"""Sums, with the name of a function that is built in."""


def sum(values):
    return -1
''',
    "src/skidpad/paths.py": '"""Paths."""\n\n\ndef total(values):\n    return sum(values)\n',
    "src/skidpad/bodies/__init__.py": '''"""Bodies."""

from .rigid import mass

__all__ = ["mass"]
''',
    "src/skidpad/bodies/rigid.py": '''"""Rigid bodies."""

from importlib import import_module

from math import tau as tau

from .. import springs
from ..loads import load
from ..steps import steps as steps

_SCALE = 7.0


def mass():
    return springs.length() + load() * _SCALE + import_module("skidpad.wheels").angle()
''',
    "tests/test_mass.py": '''from skidpad import springs
from skidpad.bodies import mass

PROGRAM = """
from skidpad.steps import steps
"""
REFERENCE = "skidpad.springs:length"
FILE = "src/skidpad/springs.py"


def test_mass():
    assert mass() > springs.length()
''',
    "docs/page.md": """# Page

```python
from skidpad.wheels import radius
from skidpad.springs import length
```

The class is in `skidpad.springs.length`, of `springs.py`; see `sp.bodies.mass`.
""",
}
PLAN = """\
# Where modules go.
chassis.axle = wheels springs   # merged
chassis.forces = loads steps sums
pkg bodies -> chassis.bodies
rename steps:count -> count_steps
ways = paths
public bodies -> chassis.bodies
public paths -> ways
doc chassis.axle: Axles: wheels and springs.

  The wheels come first.
"""
OLD_RUN = """
from skidpad import mass, springs, steps, sums, wheels
print([mass(), springs.length(), springs.irrational(), wheels.radius(), wheels.angle(),
       steps.steps(), steps.count(), sums.sum([1])])
"""
NEW_RUN = """
import skidpad
from skidpad import mass
from skidpad.chassis import axle, forces
assert skidpad.__all__ == ["bodies", "ways", "steps"]
assert (skidpad.bodies, skidpad.steps) == (skidpad.chassis.bodies, forces)
assert skidpad.ways.total([1]) == 1
from skidpad.chassis.bodies import mass as again
assert mass is again
print([mass(), axle.length(), axle.irrational(), axle.wheels_radius(), axle.angle(),
       forces.steps(), forces.count_steps(), forces.sums_sum([1])])
"""


def write(root: Path, files: dict[str, str] = FILES) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


def run(root: Path, *command: str) -> str:
    """What a Python process prints that imports the package below `root`."""
    environment = os.environ | {"PYTHONPATH": str(root / "src")}
    done = subprocess.run(
        [sys.executable, *command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def fold(root: Path, *options: str) -> str:
    (root / "house.plan").write_text(PLAN, "utf-8")
    return run(root, str(TOOL), str(root / "house.plan"), "--root", str(root), *options)


def new_text(root: Path, name: str) -> str:
    return (root / name).read_text("utf-8")


def test_a_folded_package_computes_the_same(tmp_path: Path) -> None:
    write(tmp_path)
    before = run(tmp_path, "-c", OLD_RUN)
    report = fold(tmp_path, "--cycles")
    assert run(tmp_path, "-c", NEW_RUN) == before
    test = repr(str(tmp_path / "tests" / "test_mass.py"))
    run(tmp_path, "-c", f"import runpy; runpy.run_path({test})['test_mass']()")
    assert report.splitlines()[-2:] == ["6 modules", "no cycles"]
    assert "same chassis.axle: _SHARE of springs is that of wheels" in report
    assert "renamed chassis.axle: springs:_SCALE -> _SPRINGS_SCALE" in report
    assert "renamed chassis.axle: wheels:radius -> wheels_radius" in report
    assert "renamed chassis.forces: sums:sum -> sums_sum" in report
    assert "alias springs: pi (from math import e as pi) -> springs_pi" in report
    assert "alias loads: total (from ..ways import total) -> loads_total" in report
    assert re.search(r"NO INIT chassis$", report, re.M)
    assert re.search(r"BY HAND chassis.bodies.rigid:\d+: from importlib import", report)
    assert not (tmp_path / "src/skidpad/bodies").exists()


def test_texts_that_name_modules_follow(tmp_path: Path) -> None:
    write(tmp_path)
    fold(tmp_path)
    merged = new_text(tmp_path, "src/skidpad/chassis/axle.py")
    assert merged.startswith('"""Axles: wheels and springs.\n\nThe wheels come first.\n"""\n')
    rigid = new_text(tmp_path, "src/skidpad/chassis/bodies/rigid.py")
    assert 'import_module("skidpad.chassis.axle")' in rigid
    forces = new_text(tmp_path, "src/skidpad/chassis/forces.py")
    assert re.findall(r"import (?:Decimal|Fraction) as (\w+)", forces) == ["Number", "Number"]
    assert "from math import tau as tau\n" in rigid
    assert "from ..forces import steps as steps\n" in rigid
    test = new_text(tmp_path, "tests/test_mass.py")
    assert "from skidpad.chassis.forces import steps\n" in test
    assert 'REFERENCE = "skidpad.chassis.axle:length"' in test
    assert 'FILE = "src/skidpad/chassis/axle.py"' in test
    page = new_text(tmp_path, "docs/page.md")
    assert "from skidpad.chassis.axle import wheels_radius as radius\n" in page
    assert "from skidpad.chassis.axle import length\n" in page
    assert "`skidpad.chassis.axle.length`, of `chassis/axle.py`" in page
    assert "`sp.chassis.bodies.mass`" in page


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a = wheels springs nowhere", "the plan names nowhere, which is not in"),
        ("b = wheels", "the plan names wheels twice"),
        ("b = bodies", "bodies is a package: bodies.__init__ names it"),
        ("paths = loads", "paths would become paths, which the plan gives to other modules"),
        ("rename wheels:spoke -> spokes", "the plan renames wheels:spoke, which is not defined"),
        ("asset pictures -> drawings", "the plan moves the assets of pictures, which is no folder"),
        ("wheels -> rims", "'wheels -> rims' must be NEW = OLD"),
    ],
)
def test_a_plan_that_does_not_fit_changes_nothing(tmp_path: Path, line: str, message: str) -> None:
    write(tmp_path)
    (tmp_path / "house.plan").write_text(f"a = wheels springs\n{line}\n", "utf-8")
    done = subprocess.run(
        [sys.executable, str(TOOL), str(tmp_path / "house.plan"), "--root", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert message in done.stderr
    assert {name: new_text(tmp_path, name) for name in FILES} == FILES


def test_modules_that_import_each_other_are_found(tmp_path: Path) -> None:
    ring = {
        "src/skidpad/__init__.py": "",
        "src/skidpad/one.py": "from .two import b\na = 1\n",
        "src/skidpad/two.py": "from . import one\nb = 1\n",
        "src/skidpad/three.py": "from .one import a\n",
    }
    write(tmp_path, ring)
    assert run(tmp_path, str(TOOL), "--cycles", "--root", str(tmp_path)).splitlines() == [
        "CYCLE of 2 modules",
        "    one -> two: b",
        "    two -> one: one",
    ]


def test_only_restricts_what_is_rewritten(tmp_path: Path) -> None:
    write(tmp_path)
    fold(tmp_path, "--only", "springs")
    assert "skidpad.chassis.axle" in new_text(tmp_path, "tests/test_mass.py")
    assert new_text(tmp_path, "src/skidpad/ways.py") == FILES["src/skidpad/paths.py"]
