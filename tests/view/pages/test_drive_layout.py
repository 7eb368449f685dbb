"""Where things lie on a page that drives: on phones, in narrow frames, inside other pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Open = Callable[..., Any]

COVERED = """(back) => {
  document.getElementById("now").hidden = !back;
  const names = [".stick", ".handbrake", "#chooser", "#zooming", "#layers", "#scale", "#legend",
                 ".toast", ".now", "#figures", "#transport", "#top", "#live"];
  const boxes = names.map((name) => {
    const shown = [...document.querySelectorAll(name)].map((one) => one.getBoundingClientRect());
    return [name, shown.filter((box) => box.width > 0).at(-1)];
  });
  const missing = boxes.filter(([, box]) => !box).map(([name]) => name);
  const covered = [];
  boxes.forEach(([a, p], k) => boxes.slice(0, k).forEach(([b, q]) => {
    if (!p || !q) return;
    const apart = p.left >= q.right || q.left >= p.right || p.top >= q.bottom || q.top >= p.bottom;
    if (!apart) covered.push(`${a} and ${b}`);
  }));
  return { covered, missing };
}"""
"""Which of the things on the page share a place, and which are not to be seen; `back` offers the
way back to now."""


def test_nothing_covers_anything_on_phones(opened: Open, pages: Callable[[str], Path]) -> None:
    page = opened(pages("explicit"), touch=True)
    page.evaluate(
        """async () => {
        const { toast } = await import("skidpad/notice.js");
        skidpad.world.send({ type: "pause" });
        toast("Touched the border: reverse, or R to reset.");
        document.getElementById("legend").hidden = false;
        }"""
    )
    for width, height in ((360, 500), (416, 600), (390, 720), (450, 721), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for back, gone in ((False, ".now"), (True, "#legend")):
            found = page.evaluate(COVERED, back)
            assert found == {"covered": [], "missing": [gone]}, (width, height)


def test_a_framed_page_asks_for_a_click_before_keys_drive(
    opened: Open, pages: Callable[[str], Path], tmp_path: Path
) -> None:
    outer, inner = tmp_path / "outer.html", pages("explicit").as_uri()
    # The script tells `opened` that there is nothing to wait for.
    outer.write_text(
        f'<script>window.skidpad = {{}}</script><iframe src="{inner}" width="416" height="560">'
        "</iframe><p style='height: 3000px'>"
    )
    page = opened(outer)
    frame = page.frame_locator("iframe")
    hint = frame.get_by_text("Click to drive")
    hint.wait_for()
    box = frame.locator("#front").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    hint.wait_for(state="hidden")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("scrollY") == 0
