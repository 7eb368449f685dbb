"""The modules of the package as they are, and what the names in them stand for."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .scopes import DEFINITIONS, NameWalker, assigned_names, holder, import_local, statements

PACKAGE = "skidpad"
"""The package that is folded; modules are named without it, itself as the empty text."""


@dataclass(frozen=True)
class Definition:
    """A name that a module defines."""

    module: str
    name: str


@dataclass(frozen=True)
class Submodule:
    """A module of the package."""

    module: str


@dataclass(frozen=True)
class Reexport:
    """A name that a module imports from another module of the package."""

    module: str
    name: str


@dataclass(frozen=True)
class External:
    """What other libraries provide: `from module import name` or, without name, `import module`."""

    module: str
    name: str | None = None


Target = Definition | Submodule | External
"""What a name finally stands for."""


@dataclass(eq=False)
class Module:
    """A source file of the package."""

    name: str
    path: Path
    text: str
    is_package: bool

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @property
    def package(self) -> list[str]:
        """Parts of the package that its relative imports start from."""
        parts = self.name.split(".") if self.name else []
        return parts if self.is_package else parts[:-1]

    @property
    def stem(self) -> str:
        """Its last name, from which prefixes and aliases are made."""
        return self.path.parent.name if self.is_package else self.path.stem

    @cached_property
    def definitions(self) -> set[str]:
        """Names it defines at module level, not those it imports."""
        found: set[str] = set()
        for statement in statements(self.tree.body):
            if isinstance(statement, DEFINITIONS):
                found.add(statement.name)
            elif isinstance(statement, ast.Assign):
                found.update(name for one in statement.targets for name in assigned_names(one))
            elif isinstance(statement, (ast.AnnAssign, ast.For)):
                found.update(assigned_names(statement.target))
            elif isinstance(statement, ast.With):
                items = (one.optional_vars for one in statement.items)
                found.update(name for one in items if one for name in assigned_names(one))
        return found

    @cached_property
    def exported(self) -> set[str]:
        """Names in its `__all__`."""
        for statement in self.tree.body:
            if is_all(statement):
                try:
                    return set(ast.literal_eval(statement.value))
                except ValueError:
                    return set()
        return set()

    def definition(self, name: str) -> ast.stmt | None:
        """The one statement at module level that defines a name; None if there are several."""
        nodes = [
            one
            for one in self.tree.body
            if (isinstance(one, DEFINITIONS) and one.name == name)
            or (isinstance(one, (ast.Assign, ast.AnnAssign)) and name in assigned_names(one))
        ]
        return nodes[0] if len(nodes) == 1 else None

    def imported_module(self, node: ast.ImportFrom) -> str | None:
        """The module of the package that `from ... import` names; None if it is another's."""
        if node.level:
            base = self.package[: len(self.package) - node.level + 1]
            return ".".join([*base, node.module] if node.module else base)
        return absolute_module(node)


def is_all(statement: ast.stmt) -> bool:
    """Whether a statement assigns `__all__`."""
    return isinstance(statement, ast.Assign) and any(
        isinstance(one, ast.Name) and one.id == "__all__" for one in statement.targets
    )


def absolute_module(node: ast.ImportFrom) -> str | None:
    """The module of the package in `from skidpad.module import ...`; None in other imports."""
    head, _, rest = (node.module or "").partition(".")
    return rest if head == PACKAGE and not node.level else None


class Package:
    """Every module below `root/src/skidpad`, by dotted name."""

    def __init__(self, root: Path) -> None:
        self.source = root / "src" / PACKAGE
        self.modules: dict[str, Module] = {}
        for path in sorted(self.source.rglob("*.py")):
            parts = path.relative_to(self.source).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if is_package else parts)
            self.modules[name] = Module(name, path, path.read_text("utf-8"), is_package)
        self.tables = {name: self.bindings(module) for name, module in self.modules.items()}
        """Of each module: what its names at module level stand for."""

    def bindings(self, module: Module) -> dict[str, Target | Reexport]:
        """What each name at module level of a module stands for."""
        table: dict[str, Target | Reexport] = {}
        for node in statements(module.tree.body):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    table.setdefault(import_local(node, alias), External(alias.name))
            elif isinstance(node, ast.ImportFrom):
                base = module.imported_module(node)
                for alias in node.names:
                    local = import_local(node, alias)
                    if base is None:
                        where = "." * node.level + (node.module or "")
                        table.setdefault(local, External(where, alias.name))
                    else:
                        table[local] = self.imported(base, alias.name)
        table.update((name, Definition(module.name, name)) for name in module.definitions)
        return table

    def imported(self, base: str, name: str) -> Submodule | Reexport:
        """What `from base import name` imports, one step far."""
        below = f"{base}.{name}".strip(".")
        defined = base in self.modules and name in self.modules[base].definitions
        return Submodule(below) if below in self.modules and not defined else Reexport(base, name)

    def resolve(self, module: str, name: str) -> Target | None:
        """What a name of a module finally stands for; None if the module does not have it."""
        seen: set[tuple[str, str]] = set()
        while module in self.modules and (module, name) not in seen:
            seen.add((module, name))
            target = self.tables[module].get(name)
            if target is None:
                below = f"{module}.{name}".strip(".")
                return Submodule(below) if below in self.modules else None
            if not isinstance(target, Reexport):
                return target
            module, name = target.module, target.name
        return None

    def import_counts(self) -> Counter[Definition]:
        """How many modules import each definition from the module that defines it."""
        count: Counter[Definition] = Counter()
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                if isinstance(node, ast.ImportFrom):
                    base = module.imported_module(node)
                    if base is not None:
                        count.update(Definition(base, alias.name) for alias in node.names)
        return count

    def free_names(self, module: Module, node: ast.stmt) -> dict[str, Target | None]:
        """What the global names of a statement stand for; None for those that are built in."""
        return {
            name: self.resolve(module.name, name) if name in self.tables[module.name] else None
            for name in global_names(ast.Module([node], []))
        }

    def same_definition(
        self, name: str, one: Module, other: Module, twins: set[Definition]
    ) -> bool:
        """Whether two modules define a name in the same way, from names of the same meaning.

        `twins` are definitions already known to repeat those of another module.
        """
        first, second = one.definition(name), other.definition(name)
        if first is None or second is None:
            return False
        if ast.dump(without_docstring(first)) != ast.dump(without_docstring(second)):
            return False
        mine, theirs = self.free_names(one, first), self.free_names(other, second)
        for used, target in mine.items():
            against = theirs.get(used)
            if target == against:
                continue
            both = isinstance(target, Definition) and isinstance(against, Definition)
            if not (both and target.name == against.name == used):
                return False
            repeated = {Definition(one.name, used), Definition(other.name, used)} & twins
            if used != name and not repeated:
                return False
        return True


def global_names(tree: ast.Module) -> set[str]:
    """Names that a piece of code uses and no scope inside of it binds."""
    found: set[str] = set()

    class Collector(NameWalker):
        def on_name(self, node: ast.Name, attribute: ast.Attribute | None) -> None:
            if holder(node.id, self.chain) is None:
                found.add(node.id)

    Collector().visit(tree)
    return found


def without_docstring(node: ast.stmt) -> ast.stmt:
    """A copy of a definition without its docstring."""
    if isinstance(node, DEFINITIONS) and ast.get_docstring(node) is not None:
        node = copy.copy(node)
        node.body = node.body[1:] or [ast.Pass()]
    return node
