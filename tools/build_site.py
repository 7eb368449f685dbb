"""Builds the documentation site, strictly: a warning fails.

python tools/build_site.py --version dev --out build/site

The pages of a version go to a folder of its name, so that a host can keep several; beside them
are the list of versions and an address that leads to the newest.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from docs_site import staging

CONFIGURATION = Path(staging.__file__).parent
VERSIONS = staging.DOCS / "versions.json"
LEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>skidpad</title>
<meta http-equiv="refresh" content="0; url={folder}/"><link rel="canonical" href="{folder}/">
</head><body><p>The documentation is in <a href="{folder}/">{folder}</a>.</p></body></html>
"""


def versions() -> list[dict[str, str]]:
    """The versions that a host keeps, the one to lead to first."""
    return json.loads(VERSIONS.read_text("utf-8"))


def build(out: Path, version: str, *, sources: Path, jobs: int, draft: bool) -> int:
    """Build one version; the return code of Sphinx."""
    staging.stage(sources, live=not draft)
    target = out / version
    shutil.rmtree(target, ignore_errors=True)
    path = os.pathsep.join(filter(None, [str(CONFIGURATION.parent), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-n", "-q"]
    command += [
        "-j",
        str(jobs),
        "-c",
        str(CONFIGURATION),
        "-d",
        str(sources.parent / f"{sources.name}-read"),
    ]
    command += ["-D", f"html_extra_path={sources / 'extra'}"]
    command += ["-D", "nb_execution_mode=off"] if draft else []
    run = subprocess.run(
        [*command, str(sources), str(target)],
        env={**os.environ, "SKIDPAD_DOCS_VERSION": version, "PYTHONPATH": path},
    )
    return run.returncode


def finish(out: Path, version: str) -> None:
    """Leave beside the versions what belongs there."""
    # MyST-NB leaves its copies of the notebooks there, which no page needs.
    shutil.rmtree(out / "jupyter_execute", ignore_errors=True)
    shutil.copyfile(VERSIONS, out / "versions.json")
    there = [one["folder"] for one in versions() if (out / one["folder"]).is_dir()]
    (out / "index.html").write_text(LEAD.format(folder=[*there, version][0]), "utf-8")
    # Hosts that would leave out folders with an underscore are told not to.
    (out / ".nojekyll").touch()


def main() -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--version", default="dev", help="the folder of this version")
    parser.add_argument("--out", type=Path, default=staging.ROOT / "build" / "site")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--draft", action="store_true", help="run no notebooks and record nothing")
    options = parser.parse_args()
    out, version = options.out.resolve(), options.version
    sources = out.parent / f"{out.name}-sources"
    code = build(out, version, sources=sources, jobs=options.jobs, draft=options.draft)
    if code == 0:
        finish(out, version)
        print(f"the site is in {options.out}/{options.version}")
    return code


if __name__ == "__main__":
    sys.exit(main())
