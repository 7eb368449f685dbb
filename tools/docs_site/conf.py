"""Settings of Sphinx for the documentation site; `tools/build_site.py` calls it with the pages."""

from __future__ import annotations

import os
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx

import skidpad

HERE = Path(__file__).parent
project = "skidpad"
author = "skidpad contributors"
copyright = author
release = skidpad.__version__
version = os.environ.get("SKIDPAD_DOCS_VERSION", "dev")

extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["extra"]

# Anchors are those that hosting sites make, so that links are right in both places.
myst_heading_anchors = 6
nitpicky = True
# A quote may be the mark of a derivative, and two hyphens an option.
smartquotes = False

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
maximum_signature_line_length = 88

html_theme = "pydata_sphinx_theme"
html_title = "skidpad"
html_static_path = [str(HERE / "static")]
templates_path = [str(HERE / "templates")]
html_favicon = str(HERE / "static" / "icon.svg")
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "skidpad",
        "image_light": "_static/icon.svg",
        "image_dark": "_static/icon.svg",
    },
    "navbar_end": ["versions", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "navigation_depth": 3,
    "show_toc_level": 1,
    "search_as_you_type": True,
    "search_bar_text": "Search the documentation",
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}


def drop_foreign_types(app: Sphinx, doctree: nodes.document) -> None:
    """Leave the text of types that are not described on the site.

    Sphinx would look for anything that ends in their names, and lead to a wrong one.
    """
    for link in list(doctree.findall(addnodes.pending_xref)):
        if link["refdomain"] == "py" and not link["reftarget"].startswith("skidpad."):
            written = [part for part in link.children if part.get("condition", "*") == "*"]
            link.replace_self([text for part in written for text in part.children])


def setup(app: Sphinx) -> None:
    """Tell Sphinx of a block that only tests read, and of the types in signatures."""
    app.add_lexer("rings", TextLexer)
    app.connect("doctree-read", drop_foreign_types)
