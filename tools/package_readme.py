"""README.md as the package's page on an index shows it: with absolute links.

In the repository links are relative, so that they lead to the files of the same commit. An index
has no files beside the page; there they lead to those of the tag of the version. Hatchling calls
this while it builds (`tool.hatch.metadata.hooks` of pyproject.toml).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_CODE_OR_LINK = re.compile(
    r"(?P<code>```.*?```|`[^`\n]*`)"
    r"|(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!\w+:|#)(?P<path>[^)\s]+)\)",
    re.S,
)


class PackageReadme(MetadataHookInterface):
    """Sets the readme of the project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the page into the metadata that Hatchling writes."""
        root = Path(self.root)
        page = (root / "README.md").read_text("utf-8")
        source = (root / "src" / "skidpad" / "__init__.py").read_text("utf-8")
        version = re.search(r'^__version__ = "(.+?)"', source, re.M)
        if version is None:
            raise ValueError("src/skidpad/__init__.py must have a line __version__ = ...")
        text = absolute_links(page, metadata["urls"]["Source"], f"v{version[1]}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute_links(page: str, source: str, tag: str) -> str:
    """The page with links into the repository at `source`, as it is at a tag."""

    def absolute(link: re.Match[str]) -> str:
        if link["code"]:
            return link["code"]
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}[{link['text']}]({source}/{kind}/{tag}/{link['path']})"

    return _CODE_OR_LINK.sub(absolute, page)
