"""The documentation site without building it: order, links, live pages, the reference."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import pytest

import skidpad
from pages import ROOT
from skidpad import units as si

sys.path.insert(0, str(ROOT / "tools"))

from docs_site import described, live_pages, navigation, reference, staging
from docs_site.docstrings import as_markdown
from docs_site.places import Places
from make_api_page import Declared

DOCS = ROOT / "docs"
INDEX = (DOCS / "index.md").read_text("utf-8")
ORDER = navigation.read(INDEX)
PLACED = [page for section in ORDER.sections for page in section.pages]


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {page for kind in ("md", "ipynb") for page in DOCS.rglob(f"*.{kind}")}
    named = {page.relative_to(DOCS).as_posix() for page in pages} - {"index.md"}
    assert sorted(PLACED) == sorted({*named, "../CHANGELOG.md", "../CONTRIBUTING.md"})


def test_sections_are_those_of_the_site_and_hide_no_page() -> None:
    assert [section.title for section in ORDER.sections] == list(navigation.SECTIONS)
    assert not {f"{section.name}.md" for section in ORDER.sections} & set(PLACED)
    assert "pip install" in ORDER.front


def test_a_page_stands_where_it_is_linked_first() -> None:
    order = navigation.read(
        "# t\n\n[front](a.md)\n\n## How-to\n\n[b](b.md), [c](c.md#there)\n\n### More\n\n"
        "[b again](b.md) [a](a.md)\n\n## Reference\n\n"
        "![p](p.png) [web](https://x.org/w.md) [c](c.md)"
    )
    assert order.front == "# t\n\n[front](a.md)\n\n"
    how_to, facts = order.sections
    assert [(group.title, group.pages) for group in how_to.groups] == [
        ("", ("b.md",)),
        ("More", ("a.md",)),
    ]
    assert facts.pages == ("c.md",)
    page = navigation.section_page(how_to)
    assert page.startswith("# How-to\n")
    assert "## More\n\n[b again]" in page
    assert "```{toctree}\n:hidden:\n:caption: More\n\na\n```" in page


@pytest.mark.parametrize(
    ("home", "text", "moved"),
    [
        (DOCS, "[a](fleet.md#b)", "[a](fleet.md#b)"),
        (DOCS, "[a](../CONTRIBUTING.md#style)", "[a](contributing.md#style)"),
        (ROOT, "[a](docs/fleet.md) ![p](docs/pictures/lap.png)",
         "[a](fleet.md) ![p](pictures/lap.png)"),
        (DOCS / "notebooks", "[a](../fleet.md)", "[a](../fleet.md)"),
        (DOCS / "notebooks", "[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        (DOCS, "[the folder](../benchmarks/results)", "the folder"),
        (DOCS, "[a](#here) [b](https://x.org/docs/a.md)", "[a](#here) [b](https://x.org/docs/a.md)"),
        (ROOT, "```\n[a](docs/fleet.md)\n```\n```` ```python ````\n[a](docs/fleet.md)",
         "```\n[a](docs/fleet.md)\n```\n```` ```python ````\n[a](fleet.md)"),
    ],
)  # fmt: skip
def test_links_follow_the_pages(home: Path, text: str, moved: str, tmp_path: Path) -> None:
    assert staging.moved_links(text, home, tmp_path) == moved


def test_files_that_are_no_pages_come_along(tmp_path: Path) -> None:
    assert staging.moved_links("[l](../LICENSE)", DOCS, tmp_path) == "[l](LICENSE)"
    assert (tmp_path / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_pages_ask_for_live_pages_that_there_are() -> None:
    texts = [page.read_text("utf-8") for page in DOCS.rglob("*.md")]
    names = [name for text in texts for name in live_pages.asked(text)]
    assert set(names) == set(live_pages.PAGES)
    # A mark that is written in another way would be shown as nothing.
    assert len(names) == sum(text.count("<!-- live") for text in texts)
    assert live_pages.asked(ORDER.front)


def test_a_frame_comes_in_place_of_the_picture() -> None:
    page = "a\n\n<!-- live: lap -->\n![p](p.png)\n\n![q](q.png)\n"
    framed = live_pages.framed(page, "../live")
    assert 'src="../live/lap.html"' in framed
    assert "p.png" not in framed
    assert "![q](q.png)" in framed
    assert framed.startswith("a\n\n<div")


class Kart(NamedTuple):
    """A kart."""

    m: Annotated[si.kg, si.positive] = 230.0
    """Mass with driver, | included."""
    demand: skidpad.Demand = skidpad.Demand()


class Holder:
    """Holds."""

    def __init__(self, kart: Kart, /, scale: float = 1.0, *, deep: bool = False) -> None: ...

    @property
    def kart(self) -> Kart:
        """The kart."""
        return Kart()

    @classmethod
    def of(cls, *karts: Kart, **more: skidpad.Demand) -> Holder:
        """From several."""
        return cls(*karts)

    def undocumented(self) -> None: ...


def test_records_are_described_with_units_and_ranges() -> None:
    text = described.field_table(Kart)
    mass = [row for row in text.splitlines() if row.startswith("| `m`")]
    assert mass == ["| `m` | kg, greater than 0 | `230.0` | Mass with driver, \\| included. |"]
    assert "| `demand` | `Demand` |" in text


def test_classes_are_described_with_signatures_that_link_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = Places()
    monkeypatch.setattr(Kart, "__module__", "skidpad.karts")
    places.take("skidpad.Kart", Kart)
    places.take("skidpad.Demand", skidpad.Demand)
    places.take("skidpad.Whatever", Any)
    assert places.linked("dict[str, Any]", __name__) == "dict[str, Any]"
    one = Declared("skidpad.karts", sys.modules[__name__])
    text = described.entry(one, "Holder", Holder, places)
    assert (
        "{py:class} Holder(kart: skidpad.Kart, /, scale: float = 1.0, *, deep: bool = False)"
        in text
    )
    # Members count where they are written in the package itself.
    member = described.member("of", vars(Holder)["of"], places)
    assert "{py:classmethod} of(*karts: skidpad.Kart, **more: skidpad.Demand) -> Holder" in member
    kart = described.member("kart", vars(Holder)["kart"], places)
    assert "{py:property} kart" in kart
    assert "kart\n:type: skidpad.Kart\n" in kart
    assert not described.member("undocumented", Holder.undocumented, places)


def test_lists_of_arguments_become_lists() -> None:
    text = "Steps.\n\nArgs:\n    dt: step\n        in s.\n    **options: others.\n\nAfter."
    assert as_markdown(text) == (
        "Steps.\n\n\n**Arguments**\n\n- `dt`: step\n  in s.\n- `**options`: others.\n\nAfter.\n"
    )


def test_indented_code_leaves_the_list_before_it() -> None:
    text = "Rules:\n\n1. One.\n   More.\n\n    def f(x):\n\n        return x\n\nAfter."
    assert as_markdown(text) == (
        "Rules:\n\n1. One.\n   More.\n\n```python\ndef f(x):\n\n    return x\n```\n\nAfter.\n"
    )


def test_a_vehicle_is_described_with_the_fields_of_its_records() -> None:
    factory = skidpad.vehicles.kinematic_bicycle
    one = Declared("skidpad.vehicles", skidpad.vehicles)
    text = described.entry(one, "kinematic_bicycle", factory, Places())
    model = factory.model
    for kind in (model.State, model.Input, model.Params):
        for leaf in skidpad.core.record.fields(kind):
            assert f"| `{leaf.name}` | {leaf.unit}" in text


def test_a_thing_is_described_once() -> None:
    places = Places()
    assert places.take("skidpad.Demand", skidpad.Demand) == "skidpad.Demand"
    assert places.take("skidpad.core.body.Demand", skidpad.Demand) == "skidpad.Demand"
    module = ModuleType("skidpad.core.body", "A module that offers a name of another one.")
    vars(module).update(__all__=["Demand", "box"], Demand=skidpad.Demand, box=skidpad.core.body.box)
    page = reference.Page("skidpad.core.body", (Declared("skidpad.core.body", module),))
    text = reference.page_text(page, places, ())
    assert "{py:obj}`Demand <skidpad.Demand>`" in text
    assert "{py:function} box" in text
    assert "{py:class} Demand" not in text


def test_versions_have_folders_and_names() -> None:
    versions = json.loads((DOCS / "versions.json").read_text("utf-8"))
    assert all(set(one) == {"folder", "name"} for one in versions)
    folders = [one["folder"] for one in versions]
    assert len(set(folders)) == len(folders)
    assert "dev" in folders
