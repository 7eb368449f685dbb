"""Bad worlds: refused with file, line, column and element, and nothing is left of them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from skidpad.errors import InvalidValue
from skidpad.world.scene import WorldError
from skidpad.world.xml import load, loads, problems
from world.worlds import BOT, WORLDS, refused, world

POSE = "<init_pose>0 0 0</init_pose>"


def vehicle(inside: str) -> str:
    return f"<vehicle name='v'>{POSE}{inside}</vehicle>"


def robot(inside: str) -> str:
    return vehicle(f"<dynamics class='differential'>{inside}</dynamics>")


def block(inside: str) -> str:
    return f"<block>{POSE}{inside}</block>"


CASES = {
    "unknown vehicle class": (
        f"<vehicle:class name='robot'>{BOT}</vehicle:class><vehicle class='robt'>{POSE}</vehicle>",
        "<vehicle>: the vehicle:class 'robt' is unknown; known are robot; did you mean 'robot'?",
    ),
    "unknown block class": (
        f"<block class='c'>{POSE}</block>",
        "<block>: the block:class 'c' is unknown; known are none",
    ),
    "unknown dynamics": (
        vehicle("<dynamics class='diferential'/>"),
        "did you mean 'differential'?",
    ),
    "unknown own vehicle": (
        vehicle("<dynamics class='skidpad:four_whee'/>"),
        "did you mean 'four_wheel'?",
    ),
    "unknown parameter of an own vehicle": (
        vehicle("<dynamics class='skidpad:kinematic_bicycle'><l_ff>1</l_ff></dynamics>"),
        "<l_ff>: the parameter of kinematic_bicycle 'l_ff' is unknown",
    ),
    "unknown controller": (
        robot("<controller class='twist_front_steer_pid'/>"),
        "the controller of differential 'twist_front_steer_pid' is unknown; known are raw, "
        "twist_ideal, twist_pid",
    ),
    "unknown friction": (
        vehicle(BOT + "<friction class='elipse'/>"),
        "known are default, ellipse, wardiagnemma; did you mean 'ellipse'?",
    ),
    "unknown drivetrain": (
        vehicle("<dynamics class='ackermann_drivetrain'><drivetrain type='4wd'/></dynamics>"),
        "the type of drivetrain '4wd' is unknown",
    ),
    "unknown sensor": (
        vehicle(BOT + "<sensor class='lazer'/>"),
        "<sensor>: the class of sensor 'lazer' is unknown",
    ),
    "unknown element": ("<element class='grid'/>", "the class of element 'grid' is unknown"),
    "unknown geometry": (block("<geometry type='cube'/>"), "the type of geometry 'cube'"),
    "unknown joint": ("<joint type='weld'/>", "the type of joint 'weld' is unknown"),
    "unknown animation": (block("<animation type='spline'/>"), "the type of animation 'spline'"),
    "unknown marker": ("<marker type='cube'/>", "the type of marker 'cube' is unknown"),
    "no dynamics": (vehicle(""), "<vehicle>: <dynamics> is missing, here and in its class"),
    "no pose": (f"<vehicle>{BOT}</vehicle>", "<vehicle>: <init_pose>x y yaw</init_pose> or"),
    "no pose of a block": ("<block/>", "<block>: <init_pose>x y yaw</init_pose> or"),
    "too few values": (
        "<block><init_pose>1 2</init_pose></block>",
        "<init_pose>: init_pose = '1 2' must be 3 numbers, got 2",
    ),
    "too few values in space": (
        "<block><init_pose3d>1 2 3</init_pose3d></block>",
        "<init_pose3d>: init_pose3d = '1 2 3' must be 6 numbers, got 3",
    ),
    "no number": (
        "<block><init_pose>1 two 3</init_pose></block>",
        "<init_pose>: init_pose = '1 two 3': 'two' is not a finite number",
    ),
    "infinite": (block("<mass>1e999</mass>"), "'1e999' is not a finite number"),
    "huge": (block("<mass>1e300</mass>"), "mass = '1e300': '1e300' must not exceed 1e+15"),
    "far away": (
        f"<vehicle><init_pose>0 -1e20 0</init_pose>{BOT}</vehicle>",
        "<init_pose>: init_pose = '0 -1e20 0': '-1e20' must not exceed 1e+15",
    ),
    "tiny wheel": (robot("<l_wheel width='1e-6'/>"), "width = 1e-6 must be at least 0.001 m"),
    "tiny box": (block("<geometry type='sphere' radius='1e-9'/>"), "radius = 1e-9 must be at"),
    "tiny outline": (
        block("<shape><pt>0 0</pt><pt>1e-6 0</pt><pt>0 1e-6</pt></shape>"),
        "<shape>: an outline of 5e-13 m² is too small",
    ),
    "tiny step": (
        "<simul_timestep>1e-9</simul_timestep>",
        "simul_timestep = 1e-9 must be 0 or at least 1e-06 s",
    ),
    "a million million rays": (
        vehicle(BOT + "<sensor class='laser'><nrays>1e12</nrays></sensor>"),
        "<nrays>: nrays = 1e12 must be from 1 to 1e+06",
    ),
    "parameter that an own vehicle refuses": (
        vehicle("<dynamics class='skidpad:four_wheel'><m>-3</m></dynamics>"),
        "<dynamics>: Params.m = -3 kg must be greater than 0",
    ),
    "joint to what cannot be held": (
        f"<block name='a'>{POSE}</block><block name='b'>{POSE}<intangible>true</intangible></block>"
        "<joint type='revolute' body_a='a' body_b='b' anchor_a='0 0' anchor_b='0 0'/>",
        "<joint>: the block 'b' is intangible",
    ),
    "long value": (block(f"<mass>{'x' * 5000}</mass>"), "xxx...' is not a finite number"),
    "not a number": (block("<mass>nan</mass>"), "'nan' is not a finite number"),
    "negative mass": (block("<mass>-3</mass>"), "<mass>: mass = -3 must be greater than 0"),
    "no mass": (block("<mass>0</mass>"), "<mass>: mass = 0 must be greater than 0"),
    "negative chassis": (robot("<chassis mass='-1'/>"), "<chassis>: mass = -1 must be greater"),
    "negative wheel": (robot("<l_wheel mass='-1'/>"), "<l_wheel>: mass = -1 must be greater"),
    "flat wheel": (robot("<l_wheel diameter='0'/>"), "diameter = 0 must be greater than 0"),
    "wheel position": (robot("<l_wheel pos='1'/>"), "pos = '1' must be 2 or 3 numbers, got 1"),
    "wheels in one place": (
        robot("<l_wheel pos='0 0'/><r_wheel pos='0 0'/>"),
        "<dynamics>: wheels of differential: the left one at y = 0.0 must stand to the left",
    ),
    "negative friction": (
        vehicle(BOT + "<friction><mu>-0.1</mu></friction>"),
        "<mu>: mu = -0.1 must be at least 0",
    ),
    "gravity": ("<gravity>0</gravity>", "<gravity>: gravity = 0 must be greater than 0"),
    "timestep": ("<simul_timestep>-1</simul_timestep>", "simul_timestep = -1 must be at least 0"),
    "switch": (block("<static>maybe</static>"), "static = 'maybe' must be true or false"),
    "colour": (block("<color>red</color>"), "color = 'red' must be a colour, #RRGGBB"),
    "heights": (block("<zmin>1</zmin><zmax>1</zmax>"), "zmax = 1 must be above zmin = 1"),
    "chassis heights": (robot("<chassis zmin='1' zmax='0'/>"), "zmax = 0 must be above zmin = 1"),
    "division by zero": (
        "<block><init_pose>$f{1/0} 0 0</init_pose></block>",
        "<init_pose>: the expression '1/0': division by zero",
    ),
    "open bracket": ("<block><init_pose>$f{1 0 0</init_pose></block>", "'}' is missing in"),
    "crossing": (
        block("<shape><pt>0 0</pt><pt>1 1</pt><pt>1 0</pt><pt>0 1</pt></shape>"),
        "<shape>: the edge after corner 3 at 1 0 crosses the edge after corner 1 at 0 0",
    ),
    "touching": (
        block("<shape><pt>0 0</pt><pt>2 0</pt><pt>1 1</pt><pt>0 0</pt><pt>-1 1</pt></shape>"),
        "corners 1 and 4 of the outline are both at 0 0",
    ),
    "two corners": (block("<shape><pt>0 0</pt><pt>1 1</pt></shape>"), "needs 3 corners or more"),
    "on a line": (
        block("<shape><pt>0 0</pt><pt>1 1</pt><pt>2 2</pt></shape>"),
        "all its corners lie on one line",
    ),
    "corner": (
        block("<shape><pt>0 0 0</pt><pt>1 1</pt><pt>2 2</pt></shape>"),
        "<pt>: pt = '0 0 0' must be 2 numbers, got 3",
    ),
    "box": (block("<geometry type='box' lx='1' ly='1'/>"), 'a box needs the attribute lz="..."'),
    "negative box": (block("<geometry type='box' lx='-1' ly='1' lz='1'/>"), "lx = -1 must be"),
    "vertex count": (
        block("<geometry type='sphere' radius='1' vertex_count='2'/>"),
        "vertex_count = 2 must be at least 3",
    ),
    "keyframes": (block("<animation type='keyframes'/>"), "an animation needs a <time_pose>"),
    "two keyframes": (
        block(
            "<animation type='keyframes'><time_pose>1 0 0 0</time_pose>"
            "<time_pose>1 0 0 1</time_pose></animation>"
        ),
        "there are two keyframes at 1 s",
    ),
    "keyframe before the start": (
        block("<animation type='keyframes'><time_pose>-1 0 0 0</time_pose></animation>"),
        "the time -1 must be at least 0 s",
    ),
    "odd walls": ("<walls><shape><pt>0 0</pt><pt>1 0</pt><pt>1 1</pt></shape></walls>", "no pairs"),
    "walls of a missing file": (
        "<walls><model_uri>no.dae</model_uri></walls>",
        "no.dae does not exist",
    ),
    "no walls": ("<walls/>", "walls need a <shape> with pairs of <pt>, or a <model_uri>"),
    "short wall": ("<walls><shape><pt>1 0</pt><pt>1 0</pt></shape></walls>", "ends at 1 0"),
    "transformation": (
        "<walls><transformation>[1 0; 0 1]</transformation>"
        "<shape><pt>0 0</pt><pt>1 0</pt></shape></walls>",
        "the transformation must be 4 x 4 numbers",
    ),
    "no file": ("<element class='occupancy_grid'/>", "<element>: <file> is missing"),
    "missing file": (
        "<element class='occupancy_grid'><file>no.png</file></element>",
        "no.png does not exist",
    ),
    "missing picture": (
        "<element class='elevation_map'><elevation_image>no.png</elevation_image></element>",
        "no.png does not exist",
    ),
    "missing table": (
        "<element class='elevation_map'><dem_xyzrgb_file>no.txt</dem_xyzrgb_file></element>",
        "no.txt cannot be read",
    ),
    "no heights": ("<element class='elevation_map'/>", "or <dem_xyzrgb_file> is missing"),
    "ragged matrix": (
        "<element class='elevation_map'><elevation_data_matrix>[1 2; 3]</elevation_data_matrix>"
        "</element>",
        "row 2 of the matrix has 1 numbers, but row 1 has 2",
    ),
    "one row": (
        "<element class='elevation_map'><elevation_data_matrix>[1 2]</elevation_data_matrix>"
        "</element>",
        "heights on 1 x 2 points make no area",
    ),
    "kernel": (
        "<element class='elevation_map'><elevation_data_matrix>[1 2; 3 4]</elevation_data_matrix>"
        "<apply_kernel>1 0\n0 1</apply_kernel></element>",
        "the kernel must be square with an odd side",
    ),
    "empty plane": (
        "<element class='horizontal_plane'><x_min>3</x_min><x_max>3</x_max></element>",
        "x_min and y_min must lie below",
    ),
    "short plane": (
        "<element class='vertical_plane'><x0>1</x0><y0>1</y0><x1>1</x1><y1>1</y1></element>",
        "the wall begins and ends at 1 1",
    ),
    "door": (
        "<element class='vertical_plane'><door z_min='2' z_max='1'/></element>",
        "<door>: z_max = 1 must be above z_min = 2",
    ),
    "region without value": (
        "<element class='property_region'><property_name>a</property_name></element>",
        "or <value_string> is missing",
    ),
    "region inside out": (
        "<element class='property_region'><property_name>a</property_name>"
        "<value_double>1</value_double><x_min>2</x_min><x_max>1</x_max></element>",
        "x_min must not exceed x_max",
    ),
    "latitude": ("<georeference><latitude>91</latitude></georeference>", "from -90 to 90"),
    "field of view": (
        vehicle(BOT + "<sensor class='laser'><fov_degrees>400</fov_degrees></sensor>"),
        "fov_degrees = 400 must be above 0 to 360 degrees",
    ),
    "rays": (vehicle(BOT + "<sensor class='laser'><nrays>0</nrays></sensor>"), "nrays = 0 must be"),
    "waypoint": (
        f"<actor>{POSE}<path><waypoint>1 2</waypoint></path></actor>",
        "<waypoint>: waypoint = '1 2' must be 3 or 6 numbers, got 2",
    ),
    "steering": (
        vehicle("<dynamics class='ackermann'><max_steer_ang_deg>90</max_steer_ang_deg></dynamics>"),
        "<max_steer_ang_deg>: max_steer_ang_deg = 90 must be above 0 to 89",
    ),
    "two vehicles": (
        vehicle(BOT) + vehicle(BOT),
        "the name 'v' was given to the vehicle at",
    ),
    "no condition": ("<if/>", 'the attribute condition="..." is missing'),
    "no variable": ("<variable name='a'/>", 'the attribute value="..." is missing'),
    "loop": ("<for var='i' from='a' to='2'/>", "from='a' must be a whole number"),
    "no include": ("<include/>", 'the attribute file="..." is missing'),
    "nameless class": ("<block:class/>", 'the attribute name="..." is missing'),
    "joint without body": (
        "<joint type='revolute' anchor_a='0 0' anchor_b='0 0' body_a='a'/>",
        'the attribute body_b="..." is missing',
    ),
    "joint to nothing": (
        vehicle(BOT)
        + "<joint type='revolute' anchor_a='0 0' anchor_b='0 0' body_a='v' body_b='w'/>",
        "<joint>: the body 'w' is unknown; known are v",
    ),
    "joint to itself": (
        "<joint type='revolute' anchor_a='0 0' anchor_b='0 0' body_a='v' body_b='v'/>",
        "'v' cannot be joined to itself",
    ),
    "rope": (
        "<joint type='distance' anchor_a='0 0' anchor_b='0 0' body_a='v' body_b='w'/>",
        'needs max_length="..."',
    ),
    "rope limits": (
        "<joint type='rope' anchor_a='0 0' anchor_b='0 0' body_a='v' body_b='w' min_length='3'"
        " max_length='1'/>",
        "min_length = 3 must not exceed max_length = 1",
    ),
    "hinge limits": (
        "<joint type='pin' anchor_a='0 0' anchor_b='0 0' body_a='v' body_b='w'"
        " enable_limit='1' lower_angle_deg='3' upper_angle_deg='1'/>",
        "lower_angle_deg must not exceed upper_angle_deg",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_worlds_are_refused_with_their_place(name: str) -> None:
    inside, says = CASES[name]
    said = refused("\n" + inside)
    assert says in said
    assert said.startswith("(text), line 2, column ")


def test_the_place_is_that_of_the_element() -> None:
    text = "<mvsim_world>\n  <block>\n    <init_pose>0 0 0</init_pose>\n   <mass>-1</mass>\n"
    with pytest.raises(WorldError) as caught:
        loads(text + "  </block>\n</mvsim_world>")
    error = caught.value
    assert error.source is not None
    assert error.source[1:] == (4, 4)
    assert error.element == "mass"
    assert isinstance(error, InvalidValue)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.source, again.element) == (str(error), error.source, error.element)


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(
        "<block>\n<init_pose>0 0 0</init_pose><mass>0</mass></block>"
    )
    said = refused("<include file='part.xml'/>", folder=tmp_path)
    assert f"{tmp_path / 'part.xml'}, line 2, column 29: <mass>: mass = 0 must be" in said


def test_an_error_in_a_class_names_the_class() -> None:
    inside = (
        "\n<block:class name='c'>\n<mass>-1</mass></block:class>"
        "<block class='c'><init_pose>0 0 0</init_pose></block>"
    )
    assert refused(inside).startswith("(text), line 3, column 1: <mass>: ")


def test_loops_of_includes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<include file='b.xml'/>")
    (tmp_path / "b.xml").write_text("\n<include file='a.xml'/>")
    said = refused("<include file='a.xml'/>", folder=tmp_path)
    assert "line 2, column 1: <include>: files include one another without end" in said
    assert said.count("a.xml") == 2


def test_a_variable_that_is_handed_on_needs_a_value_somewhere(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<include file='b.xml' x='${x}'/>")
    (tmp_path / "b.xml").write_text("<variable name='y' value='${x}'/>")
    said = refused("<include file='a.xml'/>", folder=tmp_path)
    assert "the variable ${x} is not defined" in said


def test_a_missing_include_is_named_with_its_place(tmp_path: Path) -> None:
    said = refused("\n <include file='no/where.xml'/>", folder=tmp_path)
    assert "line 2, column 2: <include>: the file " in said
    assert "where.xml does not exist" in said


def test_what_is_no_world_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="a world is one element <mvsim_world>, not <robot>"):
        loads("<robot/>")
    with pytest.raises(WorldError, match="not <block>"):
        loads("<mvsim_world/><block/>")
    with pytest.raises(WorldError, match=r"version='2\.0' is unknown"):
        loads("<mvsim_world version='2.0'/>")
    with pytest.raises(WorldError, match="does not exist"):
        load(tmp_path / "no.xml")
    with pytest.raises(WorldError, match="is a folder"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"compat": "mvsim"}, "compat = 'mvsim' is unknown"),
        ({"limit": 0}, "limit = 0 must be at least 1"),
        ({"sed": 1}, "sed is not an option; allowed are compat"),
        ({"variables": {"a": None}}, "must be a text or a number"),
    ],
)
def test_options_are_checked(options: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        world("", **options)


def test_unknown_tags_are_named_once_with_the_nearest() -> None:
    inside = "<block><init_pose>0 0 0</init_pose><grond_friction>1</grond_friction></block><blok/>"
    (line,) = world(inside).warnings
    assert "<grond_friction> in <block>, did you mean <ground_friction>? ((text):1)" in line
    assert "<blok> in <mvsim_world>, did you mean <block>?" in line


def test_all_problems_are_found_in_one_reading(tmp_path: Path) -> None:
    file = tmp_path / "w.xml"
    (tmp_path / "part.xml").write_text("<block><init_pose>0 0</init_pose></block>")
    file.write_text(
        "<mvsim_world>\n"
        "<gravity>-1</gravity>\n"
        "<block><mass>-1</mass><static>perhaps</static></block>\n"
        "<include file='part.xml'/>\n"
        "<include file='none.xml'/>\n"
        "<vehicle class='c'><init_pose>0 0 0</init_pose></vehicle>\n"
        "<vehicle><init_pose>0 0 0</init_pose><dynamics class='differential'>\n"
        "<l_wheel mass='0'/><controller class='pid'/></dynamics>\n"
        "<friction><mu>x</mu></friction><sensor class='x'/></vehicle>\n"
        "<for var='i' from='1' to='3'><block><init_pose>$f{1/0} 0 0</init_pose></block></for>\n"
        "</mvsim_world>"
    )
    found = problems(file)
    places = [(Path(e.source.file).name, e.source.line, e.element) for e in found if e.source]
    assert places == [
        ("w.xml", 2, "gravity"),
        ("w.xml", 3, "block"),
        ("w.xml", 3, "mass"),
        ("w.xml", 3, "static"),
        ("w.xml", 5, "include"),
        ("w.xml", 6, "vehicle"),
        ("w.xml", 8, "l_wheel"),
        ("w.xml", 8, "controller"),
        ("w.xml", 9, "mu"),
        ("w.xml", 9, "sensor"),
        ("w.xml", 10, "init_pose"),
        ("part.xml", 1, "init_pose"),
    ]


def test_a_good_world_has_no_problems() -> None:
    assert problems(WORLDS / "everything.world.xml") == []


def test_problems_of_a_file_that_is_no_xml(tmp_path: Path) -> None:
    (tmp_path / "w.xml").write_text("<mvsim_world>\n<block></mvsim_world>")
    (error,) = problems(tmp_path / "w.xml")
    assert error.source is not None
    assert error.source[1:] == (2, 8)
    (missing,) = problems(tmp_path / "no.xml")
    assert "does not exist" in str(missing)
