"""What a reading warns of: short, with names and places, and everything that means nothing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from skidpad.world.scene import Source, WorldWarning
from skidpad.world.xml import load, loads
from skidpad.world.xml.markup import LONGEST_LINE, MOST_LINES, Note, in_brief, summaries
from waiting import PATIENCE
from world.worlds import BOT, world

POSE = "<init_pose>0 0 0</init_pose>"


def notes(count: int, whom: bool) -> list[Note]:
    return [Note(Source("w.xml", k, 1), f"b{k}" if whom else "") for k in range(1, count + 1)]


def test_sentences() -> None:
    found = summaries(
        {
            ("slips", "a slip"): notes(1, False),
            ("slips", "another"): notes(5, False),
            ("boxes", "a box for"): notes(2, True),
        }
    )
    assert found == (
        "slips: a slip (w.xml:1); 5 times another (w.xml:1, w.xml:2, w.xml:3 and 2 more)",
        "boxes: a box for b1, b2 (w.xml:1, w.xml:2)",
    )


def test_many_names_are_cut() -> None:
    (line,) = summaries({("boxes", "a box for"): notes(30, True)})
    assert line.startswith("boxes: a box for b1, b2, ")
    assert "b12 and 18 more (" in line
    assert "b13" not in line


def test_objects_with_one_model_share_a_note(tmp_path: Path) -> None:
    uri = "https://models.example/rock.zip/rock/rock.dae"
    inside = (
        f"<block:class name='rock'><shape_from_visual/><visual><model_uri>{uri}</model_uri>"
        "</visual></block:class><for var='i' from='1' to='3'><block name='rock_${i}' class='rock'>"
        f"{POSE}</block></for><block name='drawn' class='rock'>{POSE}<shape><pt>0 0</pt>"
        "<pt>1 0</pt><pt>0 1</pt></shape></block>"
    )
    scene = world(inside, models=tmp_path)
    (line,) = [line for line in scene.warnings if line.startswith("stand-in shapes")]
    assert line.count(uri) == 2
    assert line.count("downloads are not allowed") == 1
    assert str(tmp_path) in line
    assert "a box of 1 m for rock_1, rock_2, rock_3 (" in line
    assert "its <shape> for drawn (" in line


def test_sensors_of_many_vehicles_share_a_note() -> None:
    cars = "".join(
        f"<vehicle name='{name}'>{POSE}{BOT}<sensor class='camera' name='cam'/></vehicle>"
        for name in ("a", "b")
    )
    (line,) = world(cars).warnings
    assert line.startswith("not simulated, as they need a renderer: camera cam of a, b (")


def test_attributes_that_mean_nothing_are_said() -> None:
    inside = (
        "<vehicle name='v' clas='bot'><init_pose>0 0 0</init_pose><dynamics class='differential'>"
        "<l_wheel pos='0 0.5' diamter='0.3' color='#ff0000'/></dynamics></vehicle>"
    )
    (line,) = world(inside).warnings
    assert line == (
        "unknown attributes: clas of <vehicle>, did you mean class? ((text):1); "
        "diamter of <l_wheel>, did you mean diameter? ((text):1)"
    )


def test_attributes_that_belong_to_xml_or_to_an_include_are_not(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(f"<block>{POSE}<mass>${{m}}</mass></block>")
    inside = "<include file='part.xml' m='3' unused='1'/>"
    assert world(inside, folder=tmp_path).warnings == ()
    assert world(f"<block xml:id='a'>{POSE}</block>").warnings == ()


def test_what_is_skipped_is_not_looked_at() -> None:
    assert world(f"<if condition='0'><block nam='a'>{POSE}</block></if>").warnings == ()


def test_poses_with_too_many_numbers_are_slips() -> None:
    scene = world("<block><init_pose>1 2 90 4 5 6</init_pose></block>")
    pose = scene.blocks[0].pose
    assert (pose.x, pose.y, pose.z) == (1.0, 2.0, 0.0)
    (line,) = scene.warnings
    assert line.startswith("slips: init_pose = '1 2 90 4 5 6' has 6 numbers: the first 3 are taken")
    solid = world("<block><init_pose3d>1 2 3 4 5 6 7</init_pose3d></block>")
    assert solid.blocks[0].pose.z == 3.0
    assert "the first 6 are taken" in solid.warnings[0]


def test_a_region_without_a_name_is_left_out() -> None:
    scene = world("<element class='property_region'><value_double>1</value_double></element>")
    assert scene.elements == ()
    (line,) = scene.warnings
    assert line.startswith("regions left out, as they have no <property_name>: property_region (")


def test_paths_in_messages_are_short(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    inside = f"<block>{POSE}<shape_from_visual/><visual><model_uri>a/../b/m.stl</model_uri>"
    (line,) = [
        line
        for line in world(f"{inside}</visual></block>", folder=tmp_path).warnings
        if "stand-in" in line
    ]
    assert str(tmp_path / "b" / "m.stl") in line


def test_conditions_that_are_no_truth_are_said() -> None:
    inside = "<if condition='{}'><block><init_pose>0 0 0</init_pose></block></if>"
    for text in ("no", "off", "false", "n", "0", "0.0"):
        scene = world(inside.format(text))
        assert (scene.blocks, scene.warnings) == ((), ())
    scene = world(inside.format("ture"))
    assert scene.blocks == ()
    assert scene.warnings[0].startswith("conditions taken for false: 'ture' (")


def test_lamps_need_a_renderer() -> None:
    lamps = "<light_group name='head'><spot_light><range>3</range></spot_light></light_group>"
    scene = world(f"<vehicle>{POSE}{BOT}{lamps}</vehicle><block>{POSE}{lamps}</block>")
    (line,) = scene.warnings
    assert line.startswith("not simulated, as they need a renderer: 2 times light_group (")


def test_a_world_full_of_notes_warns_in_a_few_lines_and_says_where_all_are(tmp_path: Path) -> None:
    tags = "".join(f"<unheard_of_{k}>1</unheard_of_{k}>" for k in range(60))
    file = tmp_path / "many.world.xml"
    file.write_text(f"<mvsim_world>{tags}</mvsim_world>")
    with pytest.warns(WorldWarning) as caught:
        scene = load(file)
    text = str(caught[0].message)
    (line,) = scene.warnings
    assert line.count("unheard_of_") == 60
    assert len(line) > 2000
    assert len(text) < len(str(file)) + 2 * LONGEST_LINE
    assert "`skidpad check many.world.xml` and Scene.warnings list them in full" in text
    shown = text.count("unheard_of_")
    assert f"; {60 - shown} more" in text


def test_a_brief_note_counts_what_it_leaves_out() -> None:
    assert in_brief(["slips: a; b"]) == ("slips: a; b",)
    long = f"slips: {'x' * 500}; b; c"
    cut, where = in_brief([long])
    assert cut == f"slips: {'x' * (LONGEST_LINE - 7)}…; 2 more"
    assert where == "Scene.warnings list them in full"
    many = in_brief([f"kind {k}: a" for k in range(MOST_LINES + 3)])
    assert many[MOST_LINES:] == ("and 3 more kinds of notes", "Scene.warnings list them in full")


def test_notes_without_number_are_cut_at_once() -> None:
    subjects = [f"unheard_of_{k}" for k in range(200_000)]
    begin = time.process_time()
    cut, _ = in_brief([f"not simulated: {'; '.join(subjects)}"])
    # Joining the subjects anew for every number of them took minutes.
    assert time.process_time() - begin < PATIENCE
    assert len(cut) < LONGEST_LINE + 20
    assert cut.endswith(f"; {200_000 - cut.count('unheard_of_')} more")


def test_a_receiver_without_a_georeference_is_noted() -> None:
    inside = f"<vehicle name='v'>{POSE}{BOT}<sensor class='gnss' name='fix'/></vehicle>"
    with pytest.warns(WorldWarning, match="no readings, as the world has no <georeference>"):
        scene = loads(f"<mvsim_world>{inside}</mvsim_world>")
    (line,) = scene.warnings
    assert "gnss fix of v (" in line
    placed = "<georeference><latitude>36</latitude><longitude>-2</longitude></georeference>"
    assert world(inside + placed).warnings == ()
