"""Import statements as they must be after the fold."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from .naming import Layout, Names, relative
from .plan import Report
from .scopes import import_local
from .source import PACKAGE, Definition, External, Module, Package, Submodule

DONE = "\0"
"""Stands behind `skidpad` in text that is final, so that no later step rewrites it; removed when
the text is written."""


@dataclass(frozen=True)
class ImportLine:
    """`from source import name as local`, or `import name as local` without a source."""

    source: str | None
    name: str
    local: str
    reexported: bool = False
    """Whether `name as name` says that the name is imported for others."""

    @property
    def implied(self) -> str:
        """The local name without `as`."""
        return self.name if self.source is not None else self.name.partition(".")[0]

    @property
    def identity(self) -> tuple[str | None, str]:
        """What the local name stands for: `import a.b` and `import a.c` both bind `a`."""
        plain = self.source is None and self.local == self.implied
        return self.source, self.implied if plain else self.name

    def __str__(self) -> str:
        text = f"import {self.name}"
        if self.source is not None:
            text = f"from {self.source} {text}"
        plain = self.local == self.implied and not self.reexported
        return text if plain else f"{text} as {self.local}"

    def called(self, local: str) -> ImportLine:
        """The same import under another local name."""
        return replace(self, local=local, reexported=self.reexported and local == self.local)


def lines_of(node: ast.Import | ast.ImportFrom) -> list[ImportLine]:
    """An import statement, one line for each name."""
    source = None
    if isinstance(node, ast.ImportFrom):
        source = "." * node.level + (node.module or "")
    return [
        ImportLine(source, alias.name, import_local(node, alias), alias.asname == alias.name)
        for alias in node.names
    ]


@dataclass(frozen=True)
class NameUse:
    """What a local name becomes."""

    name: str
    definition: Definition | None = None
    """Set if the name is that of a definition in the same new module."""


@dataclass(frozen=True)
class ModuleUse:
    """A local name that stands for a module of the package."""

    module: str
    name: str | None
    """Its new local name; None if the module becomes part of the one that uses it."""


@dataclass(frozen=True)
class Imported:
    """What one imported name becomes."""

    line: ImportLine | None
    """None if nothing has to be imported: it stands in the same new module."""
    use: NameUse | ModuleUse


@dataclass
class Importer:
    """Rewrites imports of one file."""

    package: Package
    layout: Layout
    names: Names
    report: Report
    label: str
    """Names the file in the report."""
    old: Module | None = None
    """The module of the package; None for a file outside of it."""
    place: str | None = None
    """Its new module."""

    def source_of(self, module: str) -> str:
        """A new module as this file imports from it."""
        if self.place is None:
            return f"{PACKAGE}{DONE}.{module}" if module else PACKAGE + DONE
        return relative(self.place, self.place in self.layout.packages, module)

    def is_public(self, local: str, wanted: str) -> bool:
        """Whether this file has a name in `__all__`, and the plan does not change it to another."""
        public = None if self.old is None else self.names.public_name(self.old, local)
        return public is not None and public != wanted

    def rewrite(self, base: str, alias: ast.alias, avoided: set[str]) -> Imported | None:
        """What `from base import alias` becomes; None if `base` is not in the package.

        A name keeps its local name if its new one is among the `avoided`.
        """
        local = alias.asname or alias.name
        new_of = self.layout.new_of
        if base not in self.package.modules:
            self.report.add("UNKNOWN", f"{self.label}: no module {base} (for {alias.name})")
            return None
        target = self.package.resolve(base, alias.name)
        if target is None:  # such as `*` or what a module-level __getattr__ provides
            line = ImportLine(self.source_of(new_of[base]), alias.name, local)
            return Imported(line, NameUse(local))
        if isinstance(target, Submodule):
            place = new_of[target.module]
            if place == self.place:
                return Imported(None, ModuleUse(target.module, None))
            wanted = place.rpartition(".")[2] if alias.asname is None else local
            if wanted in avoided or self.is_public(local, wanted):
                wanted = local
            parent, _, name = place.rpartition(".")
            line = ImportLine(
                self.source_of(parent), name, wanted, alias.asname == alias.name == name
            )
            return Imported(line, ModuleUse(target.module, wanted))
        if isinstance(target, External):
            line = ImportLine(
                target.module, target.name, local, alias.asname == alias.name == target.name
            )
            if target.name is None:
                line = ImportLine(None, target.module, local)
            return Imported(line, NameUse(local))
        place, name = self.names.place(target)
        if self.old is None and target.module != base and place != new_of[base]:
            # What tests and pages import from where it is re-exported is still re-exported there.
            in_package = (
                self.package.modules[base].is_package and new_of[base] in self.layout.packages
            )
            if in_package or alias.name in self.package.modules[base].exported:
                place, name = new_of[base], alias.name
        if place == self.place:
            return Imported(None, NameUse(name, self.names.twins.get(target, target)))
        wanted = name if alias.asname is None else local
        if wanted != local and (wanted in avoided or self.is_public(local, wanted)):
            wanted = local
        line = ImportLine(self.source_of(place), name, wanted, alias.asname == alias.name == name)
        return Imported(line, NameUse(wanted))

    def rewrite_plain(self, node: ast.Import) -> list[ImportLine]:
        """What `import skidpad.module` becomes; imports of other libraries stay."""
        lines: list[ImportLine] = []
        for line in lines_of(node):
            head, _, module = line.name.partition(".")
            if head == PACKAGE and module in self.package.modules:
                local = line.local if line.local != line.implied else PACKAGE + DONE
                place = self.layout.new_of[module]
                name = f"{PACKAGE}{DONE}.{place}" if place else PACKAGE + DONE
                line = ImportLine(None, name, local)
            lines.append(line)
        return lines
