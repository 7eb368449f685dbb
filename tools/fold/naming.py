"""Where each module goes, and what its definitions are called there."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from dataclasses import dataclass, field

from .plan import FoldError, Plan, Report
from .scopes import DEFINITIONS, bound_anywhere
from .source import Definition, Module, Package, global_names

SPECIAL = {"__all__", "__getattr__", "__dir__"}
"""Names of a module that Python looks up: they are not renamed."""


@dataclass
class Layout:
    """Where each old module goes."""

    new_of: dict[str, str] = field(default_factory=dict)
    """Old module: new module."""
    members: dict[str, list[str]] = field(default_factory=dict)
    """New module: the old modules it is made of."""
    packages: set[str] = field(default_factory=set)
    """New modules that are the `__init__` of a package."""


def relative(importer: str, is_package: bool, module: str) -> str:
    """A module as a relative import in another module names it: `..geometry.pose`."""
    parts = importer.split(".") if importer else []
    package = parts if is_package else parts[:-1]
    target = module.split(".") if module else []
    common = 0
    while common < min(len(package), len(target)) and package[common] == target[common]:
        common += 1
    return "." * (len(package) - common + 1) + ".".join(target[common:])


def lay_out(package: Package, plan: Plan, report: Report) -> Layout:
    """Find the new place of every module.

    Raises:
        FoldError: The plan names a module that is not there or twice, or two modules meet.
    """
    layout, modules = Layout(), package.modules
    spelled: set[str] = set()  # packages whose __init__ the plan names
    for new, olds in plan.modules.items():
        place = new.removesuffix("__init__").removesuffix(".")
        layout.members[place] = [planned_module(package, old) for old in olds]
        if place != new:
            layout.packages.add(place)
        for old, name in zip(olds, layout.members[place], strict=True):
            if name in layout.new_of:
                raise FoldError(f"the plan names {old} twice")
            layout.new_of[name] = place
            if modules[name].is_package:
                spelled.add(name)
    for name, module in modules.items():
        if name in layout.new_of:
            continue
        above = [one for one in plan.packages if name == one or name.startswith(one + ".")]
        best = max(above, key=len, default=None)
        place = name if best is None else plan.packages[best] + name[len(best) :]
        layout.new_of[name] = place
        if place not in layout.members:
            layout.members[place] = [name]
            if module.is_package:
                layout.packages.add(place)
        elif module.is_package and place in layout.packages:
            layout.members[place].append(name)
        else:
            raise FoldError(f"{name} would become {place}, which the plan gives to other modules")
    drop_empty_packages(package, plan, layout, spelled, report)
    return layout


def planned_module(package: Package, text: str) -> str:
    """The module that the right side of a plan line names."""
    name = text.removesuffix("__init__").removesuffix(".")
    if name not in package.modules:
        raise FoldError(f"the plan names {text}, which is not in {package.source}")
    if package.modules[name].is_package != (name != text):
        kind = "is no package" if name != text else f"is a package: {name}.__init__ names it"
        raise FoldError(f"the plan names {text}, but {name} {kind}")
    return name


def drop_empty_packages(
    package: Package, plan: Plan, layout: Layout, spelled: set[str], report: Report
) -> None:
    """Let the `__init__` of packages go that hold no module or data file any more."""
    moved_assets = {old.replace("/", ".") for old, _ in plan.assets}
    gone: list[str] = []
    for name, module in package.modules.items():
        place = layout.new_of[name]
        alone = layout.members.get(place) == [name]
        if not (module.is_package and name and alone) or name in spelled:
            continue
        if any(other.startswith(place + ".") for other in layout.members):
            continue
        data = (f for f in module.path.parent.iterdir() if f.is_file() and f.suffix != ".py")
        if name not in moved_assets and any(data):
            continue
        if any(isinstance(one, DEFINITIONS) for one in module.tree.body):
            report.add("KEPT", f"__init__ of {name}: it defines functions or classes")
            continue
        gone.append(name)
    for name in gone:
        del layout.members[layout.new_of[name]]
        layout.new_of[name] = layout.new_of[name].rpartition(".")[0]


def prefixed(stem: str, name: str) -> str:
    """A name with the name of its module before it: `_PATH_LIMIT`, `_PathFollower`, `_path_of`."""
    private = "_" if name.startswith("_") else ""
    stem, bare = stem.lstrip("_"), name.lstrip("_")
    if bare.isupper():
        return f"{private}{stem.upper()}_{bare}"
    if bare[:1].isupper():
        return private + "".join(word.capitalize() for word in stem.split("_")) + bare
    return f"{private}{stem}_{bare}"


class Names:
    """Names of definitions in the new modules.

    Where two modules that are merged define the same name, the definition that more modules import
    keeps it; equal definitions become one, others get the name of their module as a prefix.
    """

    def __init__(self, package: Package, layout: Layout, plan: Plan, report: Report) -> None:
        self.package, self.layout, self.report = package, layout, report
        self.renamed: dict[Definition, str] = {}
        self.twins: dict[Definition, Definition] = {}
        """Definitions that are dropped, since another one of their new module is the same."""
        self.bound: dict[str, set[str]] = {}
        self.public = plan.public
        self.uses = package.import_counts()
        for (module, name), new in plan.renames.items():
            if module not in package.modules or name not in package.modules[module].definitions:
                raise FoldError(f"the plan renames {module}:{name}, which is not defined")
            self.renamed[Definition(module, name)] = new
        for new, members in layout.members.items():
            if len(members) > 1:
                self.settle(new, members)

    def name(self, definition: Definition) -> str:
        """What a definition is called in its new module."""
        definition = self.twins.get(definition, definition)
        return self.renamed.get(definition, definition.name)

    def place(self, definition: Definition) -> tuple[str, str]:
        """The new module of a definition, and its name there."""
        return self.layout.new_of[definition.module], self.name(definition)

    def public_name(self, module: Module, name: str) -> str | None:
        """What a name in `__all__` of a module is called afterwards; None if it is not there."""
        if name not in module.exported:
            return None
        new = self.public.get(f"{module.name}.{name}".strip("."), name)
        return new if "." not in new else name

    def definitions(self, members: list[str]) -> list[Definition]:
        """Definitions of old modules, in a fixed order."""
        modules = (self.package.modules[name] for name in members)
        return [Definition(m.name, d) for m in modules for d in sorted(m.definitions - SPECIAL)]

    def settle(self, new: str, members: list[str]) -> None:
        """Decide the names of a merged module."""
        claims: dict[str, list[Definition]] = defaultdict(list)
        for definition in self.definitions(members):
            claims[self.name(definition)].append(definition)
        modules = self.package.modules
        used = set().union(*(builtins_used(self.package, modules[name]) for name in members))
        for name in sorted(claims.keys() & used):
            for one in claims.pop(name):
                text = f"{new}: {one.module} defines {name}, which other members use as built in"
                self.report.add("BUILTIN", text)
                self.add_prefix(one)
        for name, claimants in sorted(claims.items()):
            claimants.sort(key=lambda one: (-self.uses[one], members.index(one.module)))
            first, *others = claimants
            for one in others:
                pair = modules[first.module], modules[one.module]
                if first.name == one.name and self.package.same_definition(
                    one.name, *pair, set(self.twins)
                ):
                    self.twins[one] = first
                    text = f"{new}: {name} of {one.module} is that of {first.module}"
                    self.report.add("same", text)
                else:
                    self.add_prefix(one)

    def add_prefix(self, definition: Definition) -> None:
        """Rename a definition after its module, to a name that nothing in the new module has."""
        new, old = self.layout.new_of[definition.module], self.name(definition)
        members = self.layout.members[new]
        if new not in self.bound:
            trees = (self.package.modules[name].tree for name in members)
            self.bound[new] = set().union(*(bound_anywhere(tree) for tree in trees))
        taken = {self.name(one) for one in self.definitions(members)} | self.bound[new]
        parts = definition.module.split(".")
        stems = [self.package.modules[definition.module].stem]
        stems += ["_".join(parts[-k:]) for k in range(2, len(parts) + 1)]
        free = (name for s in stems if (name := prefixed(s, definition.name)) not in taken)
        name = next(free, None)
        if name is None:
            raise FoldError(
                f"{new} has every name made of {definition.module} and {definition.name}; "
                f"give it one with `rename {definition.module}:{definition.name} -> ...`"
            )
        self.renamed[definition] = name
        self.report.add("renamed", f"{new}: {definition.module}:{old} -> {name}")


def builtins_used(package: Package, module: Module) -> set[str]:
    """Built-in names that a module uses as such."""
    used = global_names(module.tree) - package.tables[module.name].keys()
    return {name for name in used if hasattr(builtins, name)}


def definition_order(package: Package, members: list[str], report: Report) -> list[str]:
    """Old modules of a new one so that each stands after those it imports."""
    needs: dict[str, set[str]] = {name: set() for name in members}
    for name in members:
        for node in package.modules[name].tree.body:
            base = package.modules[name].imported_module(node) if is_from(node) else None
            if base is None:
                continue
            found = {base}
            for alias in node.names:
                target = package.resolve(base, alias.name)
                found.add(getattr(target, "module", base))
            needs[name] |= (found & needs.keys()) - {name}
    ordered: list[str] = []
    left = list(members)
    while left:
        ready = [name for name in left if needs[name] <= set(ordered)]
        if not ready:
            report.add("CYCLE", f"among {', '.join(left)}, which are merged")
        ordered.append((ready or left)[0])
        left.remove(ordered[-1])
    return ordered


def is_from(node: ast.stmt) -> bool:
    """Whether a statement is `from ... import ...`."""
    return isinstance(node, ast.ImportFrom)
