"""Build wheel and sdist and meet them as a stranger would: `make release-check`.

In this order, each step a line on the screen and the first fault the end:

1. sdist and wheel are built in environments of their own, the wheel from the sdist.
2. The sdist has the files that git tracks and no others; the wheel those of the package.
3. The wheel that is built from the tree has the same bytes.
4. The metadata have what an index shows; `twine check --strict` finds nothing.
5. Installed into an empty environment, with the base dependencies alone, the quick start of
   README.md prints what the page shows, and the command line answers.

With `--tag v1.2.3` the version must be that of the tag, and the changelog must have its date;
`--notes FILE` writes what the changelog says about it.
"""

from __future__ import annotations

import argparse
import email
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Sequence
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/skidpad/"
OF_THE_BUILD = {"PKG-INFO"}
"""What the sdist has beside the tree."""
DIST_INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
COMMANDS = (["--version"], [], ["--help"], ["models"], ["models", "four_wheel", "--json"])
"""What the command line must answer where only the base is installed."""


class Fault(Exception):
    """Something that must not be released, in a sentence."""


def tracked_files() -> set[str]:
    """Paths of all files that git tracks, from the root."""
    command = ["git", "ls-files", "-z"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(filter(None, run.stdout.split("\0")))


def built(out: Path, *kinds: str) -> list[Path]:
    """Distributions of these kinds; of none in particular the sdist, and the wheel from it."""
    command = [sys.executable, "-m", "build", "--outdir", str(out), *kinds, str(ROOT)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise Fault(f"the build failed:\n{run.stdout}{run.stderr}")
    return sorted(path for path in out.iterdir() if path.name.startswith("skidpad-"))


def check_sdist(names: Iterable[str], tracked: Iterable[str]) -> None:
    """Raise unless the sdist, by paths below its folder, is the tree."""
    _must_equal("the sdist", set(names) - OF_THE_BUILD, set(tracked))


def check_wheel(names: Iterable[str], tracked: Iterable[str]) -> None:
    """Raise unless the wheel has all files of the package, of whatever kind, and nothing else."""
    own = {name.removeprefix("src/") for name in tracked if name.startswith(PACKAGE)}
    described = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    _must_equal("the wheel", set(names) - described, own)
    _must_equal("its description", {name.split("/", 1)[1] for name in described}, DIST_INFO)


def _must_equal(what: str, found: set[str], wanted: set[str]) -> None:
    if missing := sorted(wanted - found):
        raise Fault(f"{what} lacks {', '.join(missing[:5])} ({len(missing)} files)")
    if foreign := sorted(found - wanted):
        raise Fault(f"{what} has {', '.join(foreign[:5])} ({len(foreign)} files), which is foreign")


def sdist_names(path: Path) -> list[str]:
    """Files of an sdist, without the folder that all lie in."""
    with tarfile.open(path) as archive:
        return [one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()]


def metadata_of(wheel: Path) -> Message:
    """What the wheel says about itself."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def check_metadata(metadata: Message, version: str) -> None:
    """Raise unless an index can show name, version, licence, addresses, and a page with links."""
    expected = {
        "Name": "skidpad",
        "Version": version,
        "License-Expression": "Apache-2.0",
        "Requires-Python": ">=3.11",
        "Description-Content-Type": "text/markdown",
    }
    for key, value in expected.items():
        if metadata[key] != value:
            raise Fault(f"{key} of the wheel is {metadata[key]!r} and must be {value!r}")
    relative = re.findall(r"\]\((?!\w+:|#)[^)]*\)", str(metadata.get_payload()))
    if relative:
        raise Fault(f"links of the page on an index lead nowhere: {', '.join(relative[:5])}")
    kinds = {url.partition(",")[0] for url in metadata.get_all("Project-URL", [])}
    if missing := {"Documentation", "Source", "Issues", "Changelog"} - kinds:
        raise Fault(f"the metadata have no address of {', '.join(sorted(missing))}")


def optional_packages(metadata: Message) -> set[str]:
    """Packages that only extras ask for, by their names on an index."""
    asked = [text.partition(";") for text in metadata.get_all("Requires-Dist", [])]
    names = [(re.split(r"[^\w.-]", text)[0].lower(), "extra ==" in rest) for text, _, rest in asked]
    return {name for name, extra in names if extra} - {name for name, extra in names if not extra}


def section(version: str) -> tuple[str, str]:
    """Date and text of a version in the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## \[{re.escape(version)}\] - (\S+)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if found is None:
        raise Fault(f"CHANGELOG.md has no section [{version}]")
    return found[1], found[2].strip()


def check_tag(tag: str, version: str) -> None:
    """Raise unless the tag is that of the version, whose section has a date."""
    if tag != f"v{version}":
        raise Fault(f"the tag is {tag}, the version of the package {version}")
    date, _ = section(version)
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise Fault(f"CHANGELOG.md calls {version} {date!r}; a release has a date, as 2026-11-30")


def quick_start() -> tuple[str, str]:
    """The program of README.md, block by block, and what the page shows as printed by it."""
    page = (ROOT / "README.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```\n+```text\n(.*?)^```", page, re.M | re.S)
    if not blocks:
        raise Fault("README.md has no Python block with what it prints below it")
    return "\n".join(code for code, _ in blocks), "".join(printed for _, printed in blocks)


def check_installed(python: Path, folder: Path) -> None:
    """Raise unless the package of that interpreter runs the quick start and the command line."""
    program, printed = quick_start()
    (folder / "quick_start.py").write_text(program, "utf-8")
    answer = _said([str(python), "quick_start.py"], folder)
    if answer != printed:
        raise Fault(f"the quick start printed\n{answer}and the page shows\n{printed}")
    for arguments in COMMANDS:
        if not _said([str(python), "-m", "skidpad", *arguments], folder).strip():
            raise Fault(f"skidpad {' '.join(arguments)} says nothing")


def _said(command: Sequence[str], folder: Path) -> str:
    """What a program prints that sees nothing of this tree."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean |= {"SKIDPAD_CACHE": str(folder / "cache"), "PYTHONUTF8": "1"}
    run = subprocess.run(
        command, cwd=folder, env=clean, capture_output=True, text=True, encoding="utf-8"
    )
    if run.returncode or run.stderr:
        raise Fault(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}{run.stderr}")
    return run.stdout


def check_in_empty_environment(wheel: Path, folder: Path) -> None:
    """Install the wheel with its base dependencies alone and try it."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    run = subprocess.run([*pip, "install", "-q", str(wheel)], capture_output=True, text=True)
    if run.returncode:
        raise Fault(f"the wheel cannot be installed:\n{run.stdout}{run.stderr}")
    _said([*pip, "check"], folder)
    lines = _said([*pip, "list", "--format=freeze"], folder).lower().splitlines()
    installed = {line.partition("==")[0] for line in lines}
    if extra := sorted(installed & optional_packages(metadata_of(wheel))):
        raise Fault(f"the base brings {', '.join(extra)}, which extras are for")
    check_installed(python, folder)


def check_release(out: Path, tag: str | None, notes: Path | None) -> None:
    """All steps; leaves the two files in `out`."""
    version = _version()
    if tag is not None:
        check_tag(tag, version)
    tracked = tracked_files()
    for earlier in out.glob("skidpad-*"):
        earlier.unlink()
    wheel, sdist = built(out)
    _tell(f"built {wheel.name} ({_size(wheel)}) and {sdist.name} ({_size(sdist)})")
    check_sdist(sdist_names(sdist), tracked)
    check_wheel(zipfile.ZipFile(wheel).namelist(), tracked)
    _tell("they have the files that git tracks, and no others")
    with tempfile.TemporaryDirectory() as folder:
        (again,) = built(Path(folder), "--wheel")
        if _digest(again) != _digest(wheel):
            raise Fault("the wheel of the sdist and that of the tree have different bytes")
    _tell("built again from the tree, the wheel has the same bytes")
    check_metadata(metadata_of(wheel), version)
    subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)], check=True
    )
    with tempfile.TemporaryDirectory() as folder:
        check_in_empty_environment(wheel, Path(folder))
    _tell("installed alone, the quick start and the command line work")
    if notes is not None:
        notes.write_text(section(version)[1] + "\n", "utf-8")


def _version() -> str:
    source = (ROOT / PACKAGE / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(.+?)"', source, re.M)
    if found is None:
        raise Fault(f"{PACKAGE}__init__.py has no line __version__ = ...")
    return found[1]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f} MB"


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build and check what is released.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where to put the files")
    parser.add_argument("--tag", help="the tag that is released, as v0.1.0")
    parser.add_argument("--notes", type=Path, help="write the changelog's section to this file")
    options = parser.parse_args()
    try:
        check_release(options.out, options.tag, options.notes)
    except Fault as fault:
        sys.exit(f"not fit for release: {fault}")
