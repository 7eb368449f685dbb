"""New text of source files: imports, references to modules, and names of definitions."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from .imports import DONE, Importer, ImportLine, ModuleUse, NameUse, lines_of
from .naming import Layout, Names, builtins_used, definition_order
from .plan import Plan, Report
from .scopes import (
    DEFINITIONS,
    NameWalker,
    Scope,
    bound_anywhere,
    holder,
    import_local,
    loop_variables,
    statements,
)
from .source import (
    PACKAGE,
    Definition,
    External,
    Module,
    Package,
    Submodule,
    absolute_module,
    is_all,
)


@dataclass
class Fold:
    """What every rewritten file needs to know."""

    package: Package
    layout: Layout
    names: Names
    report: Report
    plan: Plan

    def importer(self, label: str, old: Module | None = None) -> Importer:
        """What rewrites the imports of a file; `old` is its module, None outside of the package."""
        place = None if old is None else self.layout.new_of[old.name]
        return Importer(
            self.package, self.layout, self.names, self.report, label, old=old, place=place
        )


class Piece(NameWalker):
    """One source file on its way to its new text: edits and statements to cut."""

    def __init__(self, text: str, importer: Importer) -> None:
        super().__init__()
        self.text, self.importer, self.old = text, importer, importer.old
        self.label, self.report = importer.label, importer.report
        self.tree = ast.parse(text) if self.old is None else self.old.tree
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.edits: list[tuple[int, int, str]] = []
        self.cut: list[ast.stmt] = []
        self.uses: dict[str, NameUse | ModuleUse] = {}
        self.planned: dict[int, list[ImportLine]] = {}
        self.hiding: list[Scope] = []
        """Scopes around the name at hand that would hide what it becomes."""
        self.captured: dict[Definition, str] = {}
        """Definitions whose name a local variable hides where it is used: line of the use."""
        self.bound = bound_anywhere(self.tree)
        self.claimed = self.top_level_names()

    def top_level_names(self) -> dict[str, ImportLine | None]:
        """Names at module level; with their import if they name the same module afterwards."""
        found: dict[str, ImportLine | None] = {}
        for statement in statements(self.tree.body):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                found.update((import_local(statement, one), None) for one in statement.names)
            elif isinstance(statement, DEFINITIONS):
                found[statement.name] = None
            elif not isinstance(statement, (ast.If, ast.Try, ast.While)):
                names = (one for one in ast.walk(statement) if isinstance(one, ast.Name))
                found.update((one.id, None) for one in names if isinstance(one.ctx, ast.Store))
        return found

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where the text of a node begins and ends."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self.offset(node.lineno, node.col_offset)
        return begin, self.offset(node.end_lineno, node.end_col_offset)

    def offset(self, line: int, column: int) -> int:
        """A place in the text from a line and a column counted in bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def edit(self, node: ast.expr | ast.stmt, text: str) -> None:
        """Replace the text of a node."""
        self.edits.append((*self.span(node), text))

    def rewrite(self) -> str:
        """The new text of the file."""
        self.name_definitions()
        for node in self.tree.body:
            self.top_level(node)
        self.visit(self.tree)
        return self.edited()

    def name_definitions(self) -> None:
        """Give definitions of the module their new names."""
        if self.old is None:
            return
        for name in sorted(self.old.definitions):
            definition = Definition(self.old.name, name)
            new = self.importer.names.name(definition)
            if new != name:
                twin = self.importer.names.twins.get(definition, definition)
                self.uses[name] = NameUse(new, twin)
        for node in statements(self.tree.body):
            if isinstance(node, DEFINITIONS) and node.name in self.uses:
                begin, end = self.span(node)
                found = re.compile(rf"(?:def|class)\s+({node.name})\b").search(
                    self.text, begin, end
                )
                assert found is not None
                self.edits.append((*found.span(1), self.new_name(node.name)))

    def new_name(self, name: str) -> str:
        """What a name at module level is called in the new text."""
        use = self.uses.get(name)
        return use.name or name if use is not None else name

    # Imports.

    def top_level(self, node: ast.stmt) -> None:
        """Rewrite the imports of a statement at module level, and `__all__`."""
        for one in statements([node]):
            if isinstance(one, (ast.Import, ast.ImportFrom)):
                self.replace_import(one, self.plan_import(one, None))
        if self.old is not None and is_all(node) and isinstance(node.value, ast.List):
            for element in node.value.elts:
                if isinstance(element, ast.Constant):
                    new = self.exported_name(element.value)
                    if new != element.value:
                        self.edit(element, f'"{new}"')

    def exported_name(self, name: str) -> str:
        """A name of `__all__` in the new text."""
        assert self.old is not None
        target = self.importer.package.resolve(self.old.name, name)
        if isinstance(target, Definition):
            place, new = self.importer.names.place(target)
            if target.module == self.old.name or place == self.importer.place:
                return new
        return self.importer.names.public_name(self.old, name) or name

    def imported_module(self, node: ast.ImportFrom) -> str | None:
        """The module of the package that an import names; None if it is another's."""
        return absolute_module(node) if self.old is None else self.old.imported_module(node)

    def plan_import(
        self, node: ast.Import | ast.ImportFrom, scope: Scope | None
    ) -> list[ImportLine]:
        """What an import becomes, noting what its local names become in `scope`."""
        base = self.imported_module(node) if isinstance(node, ast.ImportFrom) else None
        if base is None:
            plain = isinstance(node, ast.Import)
            lines = self.importer.rewrite_plain(node) if plain else lines_of(node)
            return lines if scope else [self.plan_external(line) for line in lines]
        lines: list[ImportLine] = []
        for alias in node.names:
            local = alias.asname or alias.name
            imported = self.importer.rewrite(base, alias, self.bound)
            if imported is None:
                continue
            line, use = imported.line, imported.use
            if line is not None:
                line = self.settle_local(line, local, scope)
                use = replace(use, name=line.local)
                lines.append(line)
            if scope is not None:
                if line is None:
                    scope.bound.discard(local)
                else:
                    scope.bound.add(line.local)
            if use.name != local or isinstance(use, ModuleUse) or line is None:
                uses = self.uses if scope is None else scope.uses
                uses[local] = use
        return lines

    def plan_external(self, line: ImportLine) -> ImportLine:
        """Import from another library at module level."""
        return line

    def settle_local(self, line: ImportLine, local: str, scope: Scope | None) -> ImportLine:
        """Keep the old local name if something else at module level has the new one."""
        held = self.claimed.get(line.local, line)
        if line.local != local and (held is None or held.identity != line.identity):
            line = line.called(local)
        if scope is None:
            self.claimed[line.local] = line
        return line

    def replace_import(self, node: ast.Import | ast.ImportFrom, lines: list[ImportLine]) -> None:
        """Put lines in place of an import; one that stays as it is keeps its text."""
        begin, end = self.span(node)
        now = {str(line).replace(DONE, "") for line in lines}
        if now == {str(line) for line in lines_of(node)}:
            if any(DONE in str(line) for line in lines):
                self.edits.append((begin, end, mark_done(self.text[begin:end])))
            return
        if not lines and not self.is_alone(node):
            self.cut_import(node)
            return
        self.note_comment(self.text[begin:end], node)
        indent = "\n" + " " * node.col_offset
        self.edits.append((begin, end, indent.join(str(line) for line in lines) or "pass"))

    def note_comment(self, text: str, node: ast.stmt) -> None:
        """Report the comments in the text of an import that goes."""
        for comment in re.findall("#.*", text):
            self.report.add("COMMENT", f"{self.label}:{node.lineno}: {comment} is lost")

    def note_line_comments(self, node: ast.Import | ast.ImportFrom) -> None:
        """Report the comments in the lines of an import that goes."""
        end = self.starts[node.end_lineno or node.lineno]
        self.note_comment(self.text[self.span(node)[0] : end], node)

    def cut_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Take an import with its lines out of the text."""
        self.note_line_comments(node)
        self.cut.append(node)

    def is_alone(self, node: ast.stmt) -> bool:
        """Whether a node is all that a block has, which cannot be empty."""
        for one in ast.walk(self.tree):
            for block in ("body", "orelse", "finalbody"):
                if getattr(one, block, None) == [node]:
                    return not isinstance(one, ast.Module)
        return False

    # Names.

    def on_scope(self, scope: Scope) -> None:
        """Plan the imports of a function or class: what they rename holds in all of it."""

        def look(node: ast.AST) -> None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, (ast.Import, ast.ImportFrom)):
                    self.planned[id(child)] = self.plan_import(child, scope)
                elif not isinstance(child, (*DEFINITIONS, ast.Lambda)):
                    look(child)

        look(scope.node)

    def on_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Replace an import inside of a function or class."""
        self.replace_import(node, self.planned[id(node)])

    def on_global(self, node: ast.Global) -> None:
        """Rename what a global statement names."""
        new = [self.new_name(name) for name in node.names]
        if new != node.names:
            self.edit(node, f"global {', '.join(new)}")

    def on_name(self, node: ast.Name, attribute: ast.Attribute | None) -> None:
        """Rewrite a name by what the innermost scope that binds it says."""
        for depth, scope in reversed(list(enumerate(self.chain))):
            if node.id in scope.uses:
                use = scope.uses[node.id]
                self.hiding = self.chain
                if use.name in scope.bound:  # the scope imports it
                    self.hiding = self.chain[depth + 1 :]
                self.apply_use(node, attribute, use)
                return
            if node.id in scope.bound:
                return
        if node.id in self.uses:
            self.hiding = self.chain
            self.apply_use(node, attribute, self.uses[node.id])

    def apply_use(
        self, node: ast.Name, attribute: ast.Attribute | None, use: NameUse | ModuleUse
    ) -> None:
        """Rewrite a name, or a reference to something in a module."""
        if isinstance(use, NameUse):
            if use.name != node.id and self.is_visible(node, use.name, use.definition):
                self.edit(node, use.name)
        elif attribute is not None:
            self.use_module(node, attribute, use)
        elif use.name is None:
            self.report.add("MODULE AS VALUE", f"{self.label}:{node.lineno}: {node.id}")
        elif use.name != node.id and self.is_visible(node, use.name, None):
            self.edit(node, use.name)

    def is_visible(self, node: ast.expr, name: str, definition: Definition | None) -> bool:
        """Whether no scope around a node hides what a name stands for; notes it otherwise."""
        if holder(name, self.hiding) is None:
            return True
        if definition is not None:
            self.captured.setdefault(definition, f"{self.label}:{node.lineno}")
        else:
            text = f"{self.label}:{node.lineno}: {ast.unparse(node)} is left: {name} is local there"
            self.report.add("CAPTURE", text)
        return False

    def use_module(self, node: ast.Name, attribute: ast.Attribute, use: ModuleUse) -> None:
        """Rewrite `module.name`."""
        package, names = self.importer.package, self.importer.names
        target, name = package.resolve(use.module, attribute.attr), attribute.attr
        where = f"{self.label}:{node.lineno}: {node.id}.{name}"
        definition: Definition | None = None
        if isinstance(target, Definition):
            place, new = names.place(target)
            if target.module == use.module or place == self.importer.layout.new_of[use.module]:
                name, definition = new, names.twins.get(target, target)
            elif new != name and name not in package.modules[use.module].exported:
                self.report.add("ELSEWHERE", f"{where} is {new} in {place}")
            if use.name is None and place != self.importer.place:
                self.report.add("ELSEWHERE", f"{where} is in {place}")
        elif use.name is None and isinstance(target, Submodule):
            self.report.add("SUBMODULE", where)
        elif use.name is None and isinstance(target, External):
            self.report.add("ELSEWHERE", f"{where} is in {target.module}")
        if use.name is None:
            if self.is_visible(attribute, name, definition):
                self.edit(attribute, name)
            return
        if use.name != node.id and self.is_visible(node, use.name, None):
            self.edit(node, use.name)
        if name != attribute.attr:
            _, end = self.span(attribute)
            self.edits.append((end - len(attribute.attr), end, name))

    # Text.

    def edited(self) -> str:
        """The text with the edits made and without the cut statements."""
        cuts: list[tuple[int, int]] = []
        for node in self.cut:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
            end = self.starts[node.end_lineno or node.lineno]
            cuts.append((self.starts[first - 1], min(end, len(self.text))))
        kept = {e for e in self.edits if not any(b <= e[0] and e[1] <= end for b, end in cuts)}
        parts: list[str] = []
        at = 0
        every = sorted([*kept, *((*cut, "") for cut in set(cuts))], key=lambda e: (e[0], -e[1]))
        for begin, end, new in every:
            if begin < at:
                self.report.add("OVERLAP", f"{self.label}: {self.text[begin:end]!r} -> {new!r}")
                continue
            parts += [self.text[at:begin], new]
            at = end
        return "".join([*parts, self.text[at:]])


def mark_done(text: str) -> str:
    """Text of an import that no later step may rewrite."""
    return re.sub(rf"\b{PACKAGE}\b", PACKAGE + DONE, text)


BUILTIN = "a built-in name"
DEFINED = "a definition"


class Member(Piece):
    """A source file that becomes part of a merged module.

    `held` says what names at module level stand for in the merged module, over all its members;
    `loops` are the loop variables of all of them.
    """

    def __init__(
        self, text: str, importer: Importer, held: dict[str, object], loops: set[str]
    ) -> None:
        super().__init__(text, importer)
        self.held, self.loops = held, loops
        self.given: dict[str, str] = {}
        """Imported names settled already: a second import of one, as in `else:`, has to agree."""
        self.docstring = ""
        self.header: list[ImportLine] = []
        self.checking: list[ImportLine] = []
        self.exports: list[str] = []

    def top_level(self, node: ast.stmt) -> None:
        """Take imports, `__all__` and the docstring out of the body."""
        assert self.old is not None
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.cut_import(node)
            if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                self.header += self.plan_import(node, None)
            return
        elif is_type_checking(node) and not node.orelse:
            imports = [one for one in node.body if isinstance(one, (ast.Import, ast.ImportFrom))]
            if imports != node.body:
                super().top_level(node)
                return
            for one in imports:
                self.note_line_comments(one)
                self.checking += self.plan_import(one, None)
        elif is_all(node):
            self.exports = [self.exported_name(name) for name in ast.literal_eval(node.value)]
        elif node is self.tree.body[0] and is_text(node):
            self.docstring = node.value.value
        elif any(node is dropped for dropped in self.dropped()):
            pass
        else:
            super().top_level(node)
            return
        self.cut.append(node)

    def dropped(self) -> list[ast.stmt]:
        """Definitions that another member has too, with the texts below them."""
        assert self.old is not None
        body, found = self.tree.body, []
        for twin in self.importer.names.twins:
            node = self.old.definition(twin.name) if twin.module == self.old.name else None
            if node is None:
                continue
            found.append(node)
            after = body[body.index(node) + 1 : body.index(node) + 2]
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and after and is_text(after[0]):
                found += after
        return found

    def plan_external(self, line: ImportLine) -> ImportLine:
        """Import from another library at module level, under an alias where names meet."""
        if line.local in self.uses and isinstance(self.uses[line.local], NameUse):
            return line.called(self.new_name(line.local))
        local, line = line.local, self.claim(line)
        if line.local != local:
            self.uses[local] = NameUse(line.local)
        return line

    def settle_local(self, line: ImportLine, local: str, scope: Scope | None) -> ImportLine:
        """Give an import an alias where another member has its name."""
        line = super().settle_local(line, local, scope)
        return self.claim(line) if scope is None else line

    def claim(self, line: ImportLine) -> ImportLine:
        """The import under a name that stands for nothing else in the merged module."""
        if line.local not in self.given:
            self.given[line.local] = self.free_name(line)
        return line.called(self.given[line.local])

    def free_name(self, line: ImportLine) -> str:
        """A name for an import: its own, or an alias if that is taken."""
        assert self.old is not None
        held = self.held.setdefault(line.local, line.identity)
        if held == line.identity and line.local not in self.loops:
            return line.local
        if line.local in self.loops:
            reason = "a loop variable"
        else:
            reason = held if isinstance(held, str) else str(ImportLine(*held, held[-1]))
        stem, local = self.old.stem, line.local
        stems = [stem, "_".join(self.old.name.split("."))]
        others = [name for name, what in self.held.items() if what == line.identity]
        new = [f"{stems[0]}_{local}", f"{local}_of_{stem}", f"{stems[1]}_{local}"]
        for alias in [*(name for name in others if name != local), *new]:
            free = self.held.get(alias, line.identity) == line.identity
            if free and alias not in self.bound and alias not in self.loops:
                self.held[alias] = line.identity
                text = f"{self.label}: {local} ({line}) -> {alias}: {local} is {reason}"
                self.report.add("alias", text)
                return alias
        self.report.add("CONFLICT", f"{self.label}: {line}: {local} is {reason}")
        return local


def is_type_checking(node: ast.stmt) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def is_text(node: ast.stmt) -> bool:
    """Whether a statement is a docstring or the text below an attribute."""
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


def members_of(fold: Fold, place: str) -> list[Member]:
    """The members of a merged module in the order of its text, not yet rewritten."""
    modules = [fold.package.modules[name] for name in fold.layout.members[place]]
    held: dict[str, object] = {}
    for module in modules:
        held.update(dict.fromkeys(builtins_used(fold.package, module), BUILTIN))
    for definition in fold.names.definitions([one.name for one in modules]):
        held[fold.names.name(definition)] = DEFINED
    loops: set[str] = set().union(*(loop_variables(one.tree) for one in modules))
    ordered = definition_order(fold.package, [one.name for one in modules], fold.report)
    return [
        Member(module.text, fold.importer(name or PACKAGE, module), held, loops)
        for name in ordered
        for module in [fold.package.modules[name]]
    ]


def merge(fold: Fold, place: str) -> str:
    """The text of a merged module."""
    members = members_of(fold, place)
    bodies = [member.rewrite().strip("\n") for member in members]
    header = list(dict.fromkeys(str(line) for member in members for line in member.header))
    checking = dict.fromkeys(str(line) for member in members for line in member.checking)
    typed = [line for line in checking if line not in header]
    exports = {name for member in members for name in member.exports}
    text = fold.plan.docs.get(place)
    if text is None:
        first = fold.layout.members[place][0]
        members.sort(key=lambda one: one.importer.old is not fold.package.modules[first])
        text = "\n\n".join(dict.fromkeys(m.docstring.strip() for m in members if m.docstring))
    parts = [f'"""{text}\n"""' if "\n" in text else f'"""{text}"""']
    parts += ["from __future__ import annotations", "\n".join(header)]
    if typed:
        if not any("import TYPE_CHECKING" in line for line in header):
            parts.append("from typing import TYPE_CHECKING")
        parts.append("if TYPE_CHECKING:\n" + "\n".join(f"    {line}" for line in typed))
    if exports:
        parts.append("__all__ = [\n" + "".join(f'    "{e}",\n' for e in sorted(exports)) + "]")
    return "\n\n".join([*parts, *bodies]) + "\n"


def settle_captures(fold: Fold) -> None:
    """Rename definitions of merged modules that a local variable would hide where they are used.

    Renaming one changes the text of every module that uses it, so this goes before any rewriting.
    """
    scratch = replace(fold, report=Report())
    places = [place for place, members in fold.layout.members.items() if len(members) > 1]
    while places:
        captured: dict[Definition, str] = {}
        for place in places:
            for member in members_of(scratch, place):
                member.rewrite()
                captured |= member.captured
        for definition, where in captured.items():
            text = f"{where}: {fold.names.name(definition)} of {definition.module} is local there"
            fold.report.add("CAPTURE", f"{text}; the definition is renamed")
            fold.names.add_prefix(definition)
        places = list({fold.layout.new_of[one.module]: None for one in captured})
