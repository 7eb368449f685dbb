"""The plan of a fold: which modules go where. `tools/fold_modules.py` explains its lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


class FoldError(Exception):
    """The plan does not fit the package; nothing was written."""


@dataclass
class Plan:
    """Lines of a plan by kind. Module paths are dotted and relative to the package."""

    packages: dict[str, str] = field(default_factory=dict)
    """Old package: its new path, for every module below it that no other line names."""
    modules: dict[str, list[str]] = field(default_factory=dict)
    """New module: the old modules it is merged from, the one that gives its docstring first."""
    renames: dict[tuple[str, str], str] = field(default_factory=dict)
    """Old module and name of a definition: its new name."""
    assets: list[tuple[str, str]] = field(default_factory=list)
    """Old and new folder of files that are not Python."""
    public: dict[str, str] = field(default_factory=dict)
    """Old attribute path below `sp.` or `skidpad.`: the new one."""
    docs: dict[str, str] = field(default_factory=dict)
    """New module: its docstring."""


def read_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        FoldError: A line has none of the known forms; the message names file and line.
    """
    plan = Plan()
    documented: str | None = None  # the module whose docstring goes on
    for number, raw in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if documented is not None and (raw.startswith("  ") or not raw.strip()):
            plan.docs[documented] += "\n" + raw[2:]
            continue
        documented = None
        if raw.startswith("doc "):
            head, _, text = raw.removeprefix("doc ").partition(":")
            documented = head.strip()
            plan.docs[documented] = text.strip()
            continue
        line = raw.partition("#")[0].strip()
        if line and not read_line(plan, line):
            forms = "NEW = OLD ..., or doc, pkg, rename, asset or public with OLD -> NEW"
            raise FoldError(f"{path}:{number}: {line!r} must be {forms}")
    plan.docs = {module: text.strip() for module, text in plan.docs.items()}
    return plan


def read_line(plan: Plan, line: str) -> bool:
    """Add a line to the plan; False if it has none of the known forms."""
    kind, _, rest = line.partition(" ")
    old, arrow, new = (part.strip() for part in rest.partition("->"))
    if kind == "rename" and arrow and ":" in old:
        module, _, name = old.partition(":")
        plan.renames[module, name] = new
    elif kind == "pkg" and arrow:
        plan.packages[old] = new
    elif kind == "asset" and arrow:
        plan.assets.append((old, new))
    elif kind == "public" and arrow:
        plan.public[old] = new
    elif "=" in line and not arrow:
        module, _, members = line.partition("=")
        plan.modules.setdefault(module.strip(), []).extend(members.split())
    else:
        return False
    return True


class Report:
    """What a fold did and what it leaves to do by hand: lines that begin with their kind."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, kind: str, text: str) -> None:
        """Add a line, once."""
        line = f"{kind} {text}"
        if line not in self.lines:
            self.lines.append(line)
