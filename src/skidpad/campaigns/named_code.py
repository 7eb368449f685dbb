"""Code that a plan file names as `module:name`: beside the file, or installed. It is run."""

from __future__ import annotations

from typing import Any

from ..by_text import code_by_text
from .plan_node import Node


def code_of(node: Node) -> Any:
    """What a text such as `my_module:policy` or `package.module:Class.method` names."""
    return code_by_text(node.text(), node.folder, node.fault)
