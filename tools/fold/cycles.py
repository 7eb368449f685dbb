"""Modules of the package that import each other at the top."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from .rewrite import is_type_checking
from .source import Module, Package


def imports_at_the_top(body: Iterable[ast.stmt]) -> Iterator[ast.ImportFrom]:
    """From-imports that run when a module is imported."""
    for node in body:
        if isinstance(node, ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and is_type_checking(node):
            yield from imports_at_the_top(node.orelse)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from imports_at_the_top(node.body)


def imported_names(package: Package, module: Module) -> dict[str, list[str]]:
    """Modules of the package that a module imports at the top: the names it takes from each."""
    found: dict[str, list[str]] = {}
    for node in imports_at_the_top(module.tree.body):
        base = module.imported_module(node)
        for alias in node.names if base is not None else ():
            below = f"{base}.{alias.name}".strip(".")
            other = below if below in package.modules else base
            if other in package.modules and other != module.name:
                found.setdefault(other, []).append(alias.name)
    return found


def reachable(graph: dict[str, dict[str, list[str]]], start: str) -> set[str]:
    """Modules that importing one imports, itself included if they import it again."""
    found: set[str] = set()
    left = list(graph[start])
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += graph[name]
    return found


def cycles(package: Package) -> Iterator[str]:
    """Each set of modules that import each other at the top, with the imports that tie it."""
    graph = {name: imported_names(package, one) for name, one in package.modules.items()}
    below = {name: reachable(graph, name) for name in graph}
    done: set[str] = set()
    for name in sorted(graph):
        if name in done or name not in below[name]:
            continue
        ring = sorted(other for other in below[name] if name in below[other])
        done.update(ring)
        yield f"CYCLE of {len(ring)} modules"
        for one in ring:
            for other in ring:
                if other in graph[one]:
                    yield f"    {one} -> {other}: {', '.join(graph[one][other])}"
