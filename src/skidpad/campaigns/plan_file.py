"""Campaigns written down in YAML: `campaign_of("corners.yaml").run("corners")`.

The text goes into the folder of the runs, so that they can be gone on with, replayed and reported
on by whoever has the folder. Modules and logs that the file names are looked for beside it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import InvalidValue
from ..files import parsed_yaml, path_of, yaml_text_of
from ..random.factors import factor_of
from .campaign import Campaign
from .designs import design_of
from .folder import Folder
from .keep import Keep
from .manifest import MANIFEST
from .plan_experiments import EXPERIMENTS, experiment_of
from .plan_node import Node
from .plan_text import PlanText

KEYS = ("name", *EXPERIMENTS, "factors", "design", "seed", "keep")
_KEEP = ("highest", "lowest", "random", "failed")


def campaign_of(file: str | os.PathLike[str]) -> Campaign:
    """The campaign that a YAML file describes; raises with the file, the place, the value and what
    is allowed.

    Code that the file names as `module:name` is imported, from beside it or from what is installed:
    read files of strangers before.
    """
    path = path_of(file, "file")
    return campaign_of_text(PlanText(path.name, str(path.resolve().parent), yaml_text_of(path)))


def campaign_of_folder(folder: Folder) -> Campaign:
    """The campaign that a folder was run from, if it was written in a file."""
    kept = PlanText.kept_in(folder)
    if kept is None and any(MANIFEST in reason for reason in folder.damaged()):
        raise InvalidValue(
            f"{folder.path}: {MANIFEST} is damaged, which had the file of the campaign; its runs "
            f"are not lost: skidpad campaign run FILE --out {folder.path} goes on with them, or "
            "Campaign.run in Python"
        )
    if kept is None:
        raise InvalidValue(
            f"{folder.path} does not hold the file of its campaign, which was made in Python: "
            "Study.open(folder, campaign)"
        )
    return campaign_of_text(kept)


def campaign_of_text(text: PlanText) -> Campaign:
    """The campaign of a text that stood, or stands, in a file."""
    name = text.name
    whole = Node(parsed_yaml(text.text, name, strict=True), "", name, Path(text.folder))
    entries = whole.entries(KEYS, ("design",))
    kinds = [kind for kind in EXPERIMENTS if kind in entries]
    if len(kinds) != 1:
        there = " and ".join(kinds) or "none"
        raise InvalidValue(
            f"{name}: it must have one of {', '.join(EXPERIMENTS)}, which says what a run is; it "
            f"has {there}"
        )
    experiment = experiment_of(kinds[0], entries[kinds[0]])
    with whole.reading():
        plain = entries["factors"].entries() if "factors" in entries else {}
        factors = {key: factor_of(key, one.value) for key, one in plain.items()}
        return Campaign(
            experiment=experiment,
            factors=factors,
            design=design_of(entries["design"].value, factors),
            seed=entries["seed"].whole() if "seed" in entries else 0,
            keep=_keep(entries["keep"]) if "keep" in entries else Keep(),
            name=entries["name"].text() if "name" in entries else Path(name).stem,
            text=text,
        )


def _keep(node: Node) -> Keep:
    settings: dict[str, Any] = {}
    for name, one in node.entries(_KEEP).items():
        if name in ("highest", "lowest"):
            settings[name] = {column: count.whole() for column, count in one.entries().items()}
        else:
            settings[name] = one.whole()
    return Keep(**settings)
