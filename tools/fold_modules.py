"""Merges and moves modules of src/skidpad by a plan, and rewrites whatever imports them.

python tools/fold_modules.py tools/house.plan                     # folds this checkout
python tools/fold_modules.py house.plan --root ../other           # another one
python tools/fold_modules.py house.plan --only 'plane|sensing'    # rewrites only files that match
python tools/fold_modules.py --cycles                             # only prints import cycles
python tools/fold_modules.py house.plan --cycles                  # folds, then prints them

Start from a committed tree: files are moved, merged and overwritten. A plan that does not fit the
package ends in an error before anything is written.

# The plan

One line each, `#` begins a comment; paths are dotted and relative to the package:

    NEW = OLD OLD ...         merge modules into one; the first gives the docstring. One OLD moves
                              a module. `geometry.__init__` is the module of a package, `__init__`
                              that of skidpad itself.
    pkg OLD -> NEW            move a package with all modules below it that have no line of their
                              own; the longest OLD that fits counts. A module without any stays.
    rename OLD:name -> name   rename a definition; OLD is the module that defines it now
    asset OLD/DIR -> NEW/DIR  move the files of a folder that are not Python
    public OLD -> NEW         `sp.OLD` and `skidpad.OLD` become `sp.NEW` in tests, tools, examples,
                              benchmarks and pages; and OLD becomes NEW in `__all__` of skidpad
    doc NEW: text             docstring of a merged module; goes on over lines that begin with two
                              spaces, and over empty ones

# What it does, in this order

1. Resolve. Every module gets its new place, and every name in it what it stands for: a definition,
   a module, or something of another library. The `__init__` of a package that no longer holds
   anything goes.
2. Name conflicts. Of definitions with the same name in one new module, equal ones become one; of
   others, the one that most modules import keeps its name and the rest get the name of their module
   as a prefix. So does a definition that a local variable would hide where it is used, and one
   that another member of its module uses as a built-in name.
3. Rewrite. Imports, `module.name` and names in src, then in tests, tools, examples and benchmarks.
   In a merged module imports come first; one whose name is taken, by a loop variable too, gets an
   alias. `module.name` of a module that is merged into the one that uses it becomes `name`. Names
   in `__all__` of other modules stay, unless a line `public` changes them.
4. Text. `skidpad.module.name`, `skidpad.module:name`, `src/skidpad/module.py` and imports inside of
   strings, docstrings, pages, notebooks and configuration files.

# What it reports

    renamed          a definition has another name now
    same             two definitions were equal; one is left
    alias            an import of a merged module has another local name; says why
    CAPTURE          a local variable would have hidden a definition, which is renamed; or, where
                     the line says "is left", a name that must be put right by hand
    BUILTIN          a definition hid a built-in name from other members, and is renamed
    CONFLICT         an import for which no alias was free
    CYCLE            members of a merged module that import each other: check their order
    MODULE AS VALUE  a merged module is used as an object; there is no such object any more
    ELSEWHERE        `module.name` of a merged module that only imported the name: check it
    SUBMODULE        the same where the name is a module
    UNKNOWN          an import from a module that is not there; it is dropped from code
    COMMENT          a comment of an import that is lost, such as `# noqa`
    KEPT             `__init__` of an empty package that stays, since it defines something
    NO INIT          a new package without `__init__`; an empty one was written
    BY HAND          a line of a moved module that may depend on the place of its file
    OVERLAP          an error of this tool: two edits of the same text

Lines in small letters tell what was done; lines in capitals are to be looked at.

# By hand afterwards

- `ruff check --fix --select I,F401 .` (unused and unsorted imports), then `ruff format .`, then
  `ruff check .` and basedpyright. They find names in quoted annotations, which are not rewritten.
- The docstring of each `__init__` under NO INIT, and of merged modules without a `doc` line: they
  have the docstrings of all members one after the other.
- Module names that strings build at run time, and paths relative to `__file__`: the lines BY HAND
  are what `grep -n "__file__\\|import_module\\|resources.files"` finds in merged and moved modules.
- Lists of modules and packages that are not dotted names: the rings of docs/architecture.md,
  tests/project/test_imports.py; and generated pages such as docs/api.md.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from fold.cycles import cycles
from fold.naming import Names, lay_out
from fold.plan import FoldError, Plan, Report, read_plan
from fold.rewrite import Fold, Piece, merge, settle_captures
from fold.source import PACKAGE, Package
from fold.text import DONE, file_of, in_page, in_program, in_source

CODE = ("tests", "tools", "examples", "benchmarks", "docs")
"""Folders whose Python files import the package."""
PAGES = (
    *("*.md", "pyproject.toml", "Makefile", ".github/**/*.yml"),
    *("docs/**/*.md", "docs/**/*.ipynb", "benchmarks/**/*.md", "tests/**/*.md", "tests/**/*.txt"),
    *("examples/**/*.md", "examples/**/*.yaml", "examples/**/*.yml"),
)
"""Other files that name modules."""
BY_PLACE = re.compile(r"__file__|import_module|resources\.files")
"""Code whose meaning may depend on where its module is."""
EMPTY = '"""."""\n'
"""The text of a new `__init__`, which somebody must write."""


def fold_sources(fold: Fold, only: re.Pattern[str] | None) -> dict[Path, str]:
    """New files of the package."""
    texts: dict[Path, str] = {}
    for place, members in fold.layout.members.items():
        path = fold.package.source / f"{file_of(fold, place)}.py"
        module = fold.package.modules[members[0]]
        if len(members) > 1:
            text = merge(fold, place)
        elif only and members == [place] and not only.search(module.text):
            texts[path] = module.text
            continue
        else:
            text = Piece(module.text, fold.importer(module.name or PACKAGE, module)).rewrite()
        texts[path] = in_source(fold, text).replace(DONE, "")
        if members != [place]:
            for number, line in enumerate(texts[path].splitlines(), start=1):
                if BY_PLACE.search(line):
                    fold.report.add("BY HAND", f"{place}:{number}: {line.strip()}")
    return texts


def fold_outside(fold: Fold, root: Path, only: re.Pattern[str] | None) -> dict[Path, str]:
    """New text of files outside of the package that change."""
    texts: dict[Path, str] = {}
    code = [path for folder in CODE for path in (root / folder).rglob("*.py")]
    pages = [path for pattern in PAGES for path in root.glob(pattern)]
    for path in dict.fromkeys([*code, *pages]):
        if "node_modules" in path.parts or path == Path(__file__).resolve():
            continue
        text = path.read_text("utf-8")
        if only and not only.search(text):
            continue
        label = str(path.relative_to(root))
        if path.suffix != ".py":
            new = in_page(fold, text, label)
        elif PACKAGE in text:
            new = in_program(fold, Piece(text, fold.importer(label)).rewrite(), label)
        else:
            continue
        if new.replace(DONE, "") != text:
            texts[path] = new.replace(DONE, "")
    return texts


def write(fold: Fold, texts: dict[Path, str]) -> None:
    """Write new texts in place of the old modules, move assets, remove empty folders."""
    source = fold.package.source
    for module in fold.package.modules.values():
        module.path.unlink()
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for old, new in fold.plan.assets:
        (source / new).mkdir(parents=True, exist_ok=True)
        for path in sorted((source / old).iterdir()):
            if path.is_file() and path.suffix != ".py":
                path.rename(source / new / path.name)
    remove_empty_folders(source)
    for folder in sorted(packages_without_init(source)):
        (folder / "__init__.py").write_text(EMPTY, "utf-8")
        fold.report.add("NO INIT", str(folder.relative_to(source)))


def remove_empty_folders(source: Path) -> None:
    """Remove folders that hold nothing but compiled files."""
    for folder in sorted((d for d in source.rglob("*") if d.is_dir()), reverse=True):
        if folder.name != "__pycache__" and all(f.name == "__pycache__" for f in folder.iterdir()):
            for compiled in folder.glob("__pycache__/*"):
                compiled.unlink()
            for cache in folder.glob("__pycache__"):
                cache.rmdir()
            folder.rmdir()


def packages_without_init(source: Path) -> Iterator[Path]:
    """Folders with modules somewhere below them, but without `__init__`."""
    folders = {above for path in source.rglob("*.py") for above in path.parents}
    for folder in folders:
        if folder.is_relative_to(source) and not (folder / "__init__.py").exists():
            yield folder


def fold_modules(root: Path, plan: Plan, only: re.Pattern[str] | None) -> tuple[int, Report]:
    """Fold the package below `root`; returns the number of modules and the report.

    Raises:
        FoldError: The plan does not fit the package; nothing was written.
    """
    package, report = Package(root), Report()
    if not package.modules:
        raise FoldError(f"{package.source} has no modules")
    for old, _ in plan.assets:
        if not (package.source / old).is_dir():
            raise FoldError(f"the plan moves the assets of {old}, which is no folder")
    layout = lay_out(package, plan, report)
    fold = Fold(package, layout, Names(package, layout, plan, report), report, plan)
    settle_captures(fold)
    sources = fold_sources(fold, only)
    write(fold, sources | fold_outside(fold, root, only))
    return len(sources), report


def arguments(given: Iterable[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("plan", metavar="PLAN", nargs="?", type=Path, help="file with the plan")
    here = Path(__file__).parents[1]
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=here, help="checkout to fold; default: this one"
    )
    parser.add_argument(
        "--only",
        metavar="REGEX",
        type=re.compile,
        help="leave files as they are that neither move nor match",
    )
    parser.add_argument(
        "--cycles", action="store_true", help="print modules that import each other at the top"
    )
    options = parser.parse_args(None if given is None else list(given))
    if options.plan is None and not options.cycles:
        parser.error("name a PLAN, or ask for --cycles")
    return options


def main() -> None:
    """Fold, and print the report."""
    options = arguments()
    root = options.root.resolve()
    if options.plan is not None:
        try:
            count, report = fold_modules(root, read_plan(options.plan), options.only)
        except (FoldError, OSError) as error:
            sys.exit(f"fold_modules: {error}")
        print("\n".join([*report.lines, f"{count} modules"]))
    if options.cycles:
        print("\n".join(cycles(Package(root))) or "no cycles")


if __name__ == "__main__":
    main()
