"""Scopes of Python source: which names functions, classes and comprehensions bind."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(eq=False)
class Scope:
    """A function, class or comprehension around a name."""

    node: ast.AST
    bound: set[str]
    """Names it binds."""
    uses: dict[str, Any] = field(default_factory=dict)
    """For names it imports: what they become. Filled by the rewriter."""


def assigned_names(node: ast.AST) -> Iterator[str]:
    """Names stored or deleted anywhere in a node."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            yield one.id


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at module level, with those of if, try, with and for blocks."""
    for statement in body:
        yield statement
        if isinstance(statement, DEFINITIONS):
            continue
        for block in ("body", "orelse", "finalbody"):
            yield from statements(getattr(statement, block, []))
        for handler in getattr(statement, "handlers", []):
            yield from statements(handler.body)


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """Every argument of a function."""
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return [one for one in every if one is not None]


def import_local(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """The name that an imported alias binds."""
    if isinstance(node, ast.Import):
        return alias.asname or alias.name.partition(".")[0]
    return alias.asname or alias.name


def bound_in(node: ast.AST) -> set[str]:
    """Names that a function or class body binds itself, without those declared global."""
    found: set[str] = set()
    free: set[str] = set()

    def visit(one: ast.AST) -> None:
        if isinstance(one, DEFINITIONS):
            found.add(one.name)
            return
        if isinstance(one, ast.Lambda):
            return
        if isinstance(one, COMPREHENSIONS):
            found.update(w.target.id for w in ast.walk(one) if isinstance(w, ast.NamedExpr))
            return
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            found.add(one.id)
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            found.update(import_local(one, alias) for alias in one.names)
        elif isinstance(one, (ast.Global, ast.Nonlocal)):
            free.update(one.names)
        elif isinstance(one, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and one.name:
            found.add(one.name)
        elif isinstance(one, ast.MatchMapping) and one.rest:
            found.add(one.rest)
        for child in ast.iter_child_nodes(one):
            visit(child)

    if isinstance(node, FUNCTIONS):
        found.update(one.arg for one in arguments(node))
    body = getattr(node, "body", [])
    for part in body if isinstance(body, list) else [body]:
        visit(part)
    return found - free


def bound_anywhere(tree: ast.Module) -> set[str]:
    """Names bound in any function, class or comprehension of a module."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found |= bound_in(node)
        elif isinstance(node, COMPREHENSIONS):
            for generator in node.generators:
                found.update(assigned_names(generator.target))
    return found


def loop_variables(tree: ast.Module) -> set[str]:
    """Targets of every for loop, in functions too: an import of the same name is ruff's F402."""
    loops = (node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.AsyncFor)))
    # Ruff counts what a comprehension in the iterable binds, too.
    parts = (part for loop in loops for part in (loop.target, loop.iter))
    return {name for part in parts for name in assigned_names(part)}


def holder(name: str, chain: list[Scope]) -> Scope | None:
    """The innermost scope that binds a name; None if the name is global or built in."""
    return next((scope for scope in reversed(chain) if name in scope.bound), None)


class NameWalker(ast.NodeVisitor):
    """Visits each name of a module with the scopes around it in `chain`, outermost first."""

    def __init__(self) -> None:
        self.chain: list[Scope] = []

    def on_name(self, node: ast.Name, attribute: ast.Attribute | None) -> None:
        """A name; `attribute` is the node around it in `name.attribute`."""

    def on_import(self, node: ast.Import | ast.ImportFrom) -> None:
        """An import inside of a function or class."""

    def on_global(self, node: ast.Global) -> None:
        """A global statement."""

    def on_scope(self, scope: Scope) -> None:
        """A function or class, before its body is visited."""

    @contextmanager
    def inside(self, scope: Scope) -> Iterator[None]:
        """Visit what a scope holds; functions do not see the names of classes around them."""
        around = self.chain
        seen = around
        if isinstance(scope.node, FUNCTIONS):
            seen = [one for one in around if not isinstance(one.node, ast.ClassDef)]
        self.chain = [*seen, scope]
        yield
        self.chain = around

    def visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        """Visit each node that is there."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Decorators, annotations and defaults belong to the scope around the function."""
        self.visit_all(node.decorator_list)
        self.visit_all(one.annotation for one in arguments(node))
        self.visit_all([*node.args.defaults, *node.args.kw_defaults, node.returns])
        scope = Scope(node, bound_in(node))
        with self.inside(scope):
            self.on_scope(scope)
            self.visit_all(node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Defaults belong to the scope around the lambda."""
        self.visit_all([*node.args.defaults, *node.args.kw_defaults])
        with self.inside(Scope(node, bound_in(node))):
            self.visit(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Decorators and bases belong to the scope around the class."""
        self.visit_all([*node.decorator_list, *node.bases, *node.keywords])
        scope = Scope(node, bound_in(node))
        with self.inside(scope):
            self.on_scope(scope)
            self.visit_all(node.body)

    def visit_comprehension_of(self, node: ast.AST) -> None:
        """The first iterable belongs to the scope around the comprehension."""
        assert isinstance(node, COMPREHENSIONS)
        first, *others = node.generators
        self.visit(first.iter)
        bound = {name for one in node.generators for name in assigned_names(one.target)}
        with self.inside(Scope(node, bound)):
            self.visit_all([first.target, *first.ifs])
            for one in others:
                self.visit_all([one.target, one.iter, *one.ifs])
            self.visit_all(getattr(node, part, None) for part in ("elt", "key", "value"))

    visit_ListComp = visit_SetComp = visit_comprehension_of
    visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def visit_Name(self, node: ast.Name) -> None:
        """Report a name."""
        self.on_name(node, None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Report `name.attribute` as one."""
        if isinstance(node.value, ast.Name):
            self.on_name(node.value, node)
        else:
            self.visit(node.value)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        """Report imports inside of functions and classes."""
        if self.chain:
            self.on_import(node)

    visit_ImportFrom = visit_Import

    def visit_Global(self, node: ast.Global) -> None:
        """Report a global statement."""
        self.on_global(node)
