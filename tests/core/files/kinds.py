"""The kinds of files that are read from strangers: a small valid one of each, and who reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import skidpad as sp
from core.files.bags import write_bag, write_database
from road.crg_files import crg_bytes
from skidpad import Program
from skidpad.compat.autoware.road import read_lanelets
from skidpad.compat.truck import engine
from skidpad.compat.truck.model_file import DEFAULT, truck_model
from skidpad.compile.plant import Plant
from skidpad.geometry.maps.map import Map
from skidpad.road.road import Road
from skidpad.run.trajectory_table import Column
from skidpad.study.logs.reading import read_log
from skidpad.tyres import Measurements, measurements
from skidpad.tyres import read as read_tyre
from skidpad.units import Unit
from skidpad.vehicles.command_driven.parameters import gather, read_table
from skidpad.view.recording import info, read, recover
from skidpad.world import xml

DATA = Path(__file__).parents[2] / "data"


class Kind(NamedTuple):
    """Files that one reader reads."""

    name: str
    file: str
    """Name of the file, whose suffix often chooses the reader."""
    make: Callable[[Path], Any]
    """Writes a valid file to a path, and what it refers to beside it."""
    read: Callable[[Path], Any]
    tries: int = 150
    """Mutations that are tried in every run of the tests."""


def _copied(*parts: str) -> Callable[[Path], Any]:
    return lambda path: path.write_bytes(DATA.joinpath(*parts).read_bytes())


def _beginning(*parts: str) -> Callable[[Path], Any]:
    """The first 20 lines of a recorded file."""
    lines = DATA.joinpath(*parts).read_bytes().splitlines(keepends=True)
    return lambda path: path.write_bytes(b"".join(lines[:20]))


def _written(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_text(text, "utf-8")


def _trajectory() -> sp.Trajectory:
    t = np.linspace(0.0, 1.0, 9)
    metre, speed = Unit("m", length=1), Unit("m/s", length=1, time=-1)
    columns = (Column("x", metre, "state", np.sin(t)), Column("v", speed, "state", np.cos(t)))
    return sp.Trajectory(t, columns, "toy", {"seed": 3})


def _tyre_rows() -> Measurements:
    alpha = np.linspace(-0.1, 0.1, 9)
    return Measurements(4000.0, alpha=alpha, p=2e5, v_x=16.0, F_y=-3000.0 * np.tanh(20.0 * alpha))


def _tyre_mat(path: Path) -> None:
    from scipy.io import savemat

    names = np.array(["SA", "IA", "FZ", "FY", "SL"], dtype=object)
    units = np.array(["deg", "deg", "N", "N", "none"], dtype=object)
    vectors = {name: np.arange(5.0) for name in names}
    savemat(path, {**vectors, "channel": {"name": names, "units": units}, "testid": "x"})


def _gathered(path: Path) -> Any:
    return gather(path, "DELAY_STEER_ACC_GEARED")


def _recordings(path: Path) -> None:
    """Everything that reads a recording; none may depend on another having refused the file."""
    errors: list[sp.errors.SkidpadError] = []
    for reader in (read, info, lambda p: recover(p, p.with_name("mended.mcap"))):
        try:
            reader(path)
        except sp.errors.SkidpadError as error:
            errors.append(error)
    if errors:
        raise errors[0]


NODES = "\n".join(
    f' <node id="{k}" lat="35.{k}" lon="139.{k}"><tag k="local_x" v="{20.0 * (k - 1) % 60}"/>'
    f'<tag k="local_y" v="{4.0 * (k < 4)}"/><tag k="ele" v="{k / 10}"/></node>'
    for k in range(1, 7)
)
OSM = f"""<?xml version="1.0"?>
<osm>
{NODES}
 <way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/></way>
 <way id="11"><nd ref="4"/><nd ref="5"/><nd ref="6"/></way>
 <relation id="20">
  <member type="way" role="left" ref="10"/><member type="way" role="right" ref="11"/>
  <tag k="type" v="lanelet"/><tag k="subtype" v="road"/>
 </relation>
</osm>
"""
WORLD = """<mvsim_world version="1.0">
 <variable name="n" value="2"/>
 <simul_timestep>0.005</simul_timestep>
 <for var="i" from="1" to="${n}">
  <block name="b${i}"><mass>20.0</mass>
   <shape><pt>-1 -1</pt><pt>-1 1</pt><pt>1 1</pt></shape>
   <init_pose>$f{2*i+sin(pi)} 0 90</init_pose>
  </block>
 </for>
 <if condition="1"><walls><shape><pt>0 0</pt><pt>5 0</pt></shape></walls></if>
 <element class="horizontal_plane"><x_min>-5</x_min><x_max>5</x_max>
  <y_min>-5</y_min><y_max>5</y_max></element>
 <element class="elevation_map"><resolution>1.0</resolution>
  <elevation_data_matrix>[0 1; 2 3]</elevation_data_matrix></element>
 <element class="vertical_plane"><x0>0</x0><y0>0</y0><x1>3</x1><y1>0</y1>
  <door><position>0.5</position><width>1</width></door></element>
 <vehicle name="r1"><init_pose>0 0 0</init_pose>
  <dynamics class="differential"><chassis mass="15" zmin="0.05" zmax="0.3"/>
   <l_wheel pos="0.0 0.5" mass="4" width="0.2" diameter="0.4"/>
   <r_wheel pos="0.0 -0.5" mass="4" width="0.2" diameter="0.4"/>
   <controller class="twist_pid"><KP>10</KP><KI>1</KI><KD>0</KD></controller></dynamics>
  <friction class="default"><mu>0.7</mu></friction>
  <sensor class="laser" name="l1"><fov_degrees>180</fov_degrees><nrays>19</nrays>
   <sensor_period>0.1</sensor_period></sensor>
 </vehicle>
</mvsim_world>
"""
PARAMETERS = """/**:
  ros__parameters:
    vehicle_model_type: DELAY_STEER_ACC_GEARED
    vel_lim: 50.0
    steer_lim: 1.0
    wheel_base: 2.79
    acc_time_delay: 0.1
    acc_time_constant: 0.1
    steer_time_delay: 0.24
    steer_time_constant: 0.27
"""
MAP_YAML = """image: map.pgm
resolution: 0.05
origin: [-1.0, -1.0, 0.0]
negate: 0
occupied_thresh: 0.65
free_thresh: 0.25
mode: trinary
"""
TABLE = "default,0.0,1.5,3.0\n-1.0,-1.1,-1.2,-1.3\n0.0,0.1,0.0,0.0\n1.0,1.1,1.2,1.3\n"
CONES = "color,X,Y\nblue,0,0\nblue,5,0\nblue,10,0\nyellow,0,3\nyellow,5,3\nyellow,10,3\n"
CENTRE = "s,X,Y,phi,kappa,w\n0,0,0,0,0,2\n5,5,0,0,0,2\n10,10,0,0,0,2\n"


def _map_with_image(path: Path) -> None:
    path.with_name("map.pgm").write_bytes(b"P5\n4 3\n255\n" + bytes(range(0, 240, 20)))
    path.write_text(MAP_YAML)


def _crg(path: Path) -> None:
    road = {"reference_line_start_u": 0.0, "reference_line_increment": 1.0}
    heights = np.arange(12.0).reshape(4, 3) / 100.0
    names = [f"long section at v = {v},m" for v in (-1.0, 0.0, 1.0)]
    path.write_bytes(crg_bytes(heights, names, road=road))


def _image(path: Path) -> None:
    from PIL import Image

    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(path)


def _image_reader(path: Path) -> Any:
    return Map.load(path, resolution=0.1)


def _model_yaml(path: Path) -> None:
    import yaml

    path.write_text(yaml.safe_dump(dict(DEFAULT)))


def _program(path: Path) -> None:
    from skidpad.compile import pipeline

    pipeline.step_program(sp.vehicles.kinematic_bicycle(), "euler").save(path)


GEOJSON = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "geometry": {
                    "type": "Polygon",
                    "coordinates": [[[0.0, 0.0], [9.0, 0.0], [9.0, 9.0], [0.0, 9.0], [0.0, 0.0]]],
                },
            },
            {
                "type": "Feature",
                "geometry": {"type": "LineString", "coordinates": [[1.0, 1.0], [2.0, 3.0]]},
            },
        ],
    }
)
RINGS = '{"features": [{"geometry": {"coordinates": [[[0, 0], [4, 0], [4, 4], [0, 0]]]}}]}'

KINDS = (
    Kind("plant", "p.plant", _copied("plants", "IDEAL_STEER_VEL.plant"), Plant.load),
    Kind("program", "p.json", _program, Program.load),
    Kind("trajectory-parquet", "t.parquet", lambda p: _trajectory().to_parquet(p),
         sp.Trajectory.from_parquet, 300),
    Kind("trajectory-csv", "t.csv", lambda p: _trajectory().to_csv(p), sp.Trajectory.from_csv),
    Kind("log-csv", "log.csv", lambda p: _trajectory().to_csv(p), read_log),
    Kind("log-parquet", "log.parquet", lambda p: _trajectory().to_parquet(p), read_log, 300),
    Kind("log-mcap", "log.mcap", _copied("identify", "drive_zstd.mcap"), read_log),
    Kind("log-mcap-lz4", "log.mcap", _copied("identify", "drive_lz4.mcap"), read_log),
    Kind("log-mcap-plain", "log.mcap", _copied("identify", "drive_plain.mcap"), read_log),
    Kind("bag-mcap", "b.mcap", lambda p: write_bag(p.parent / "made").replace(p), read_log),
    Kind("bag-metadata", "metadata.yaml", lambda p: write_bag(p.parent),
         lambda p: read_log(p.parent), 60),
    Kind("bag-sqlite", "b.db3", write_database, read_log, 300),
    Kind("recording", "r.mcap", _copied("recordings", "format_1.mcap"), _recordings, 60),
    Kind("world", "w.xml", _written(WORLD), xml.load, 100),
    Kind("world-problems", "w.xml", _written(WORLD), xml.problems, 50),
    Kind("osm", "m.osm", _written(OSM), read_lanelets),
    Kind("map-yaml", "m.yaml", _map_with_image, Map.load),
    Kind("map-pgm", "m.pgm", lambda p: p.write_bytes(b"P2 3 2 255 1 2 3 4 5 6"), _image_reader),
    Kind("map-png", "m.png", _image, _image_reader),
    Kind("map-bmp", "m.bmp", _image, _image_reader),
    Kind("gridmap", "m.gridmap.gz", _copied("worlds", "parts", "map.gridmap.gz"), Map.load),
    Kind("geojson", "m.geojson", _written(GEOJSON), Map.load),
    Kind("cones", "m.csv", _written(CONES), Map.load),
    Kind("centre-line", "m.csv", _written(CENTRE), Map.load),
    Kind("truck-model", "m.yaml", _model_yaml, truck_model, 30),
    Kind("truck-walls", "m.json", _written(RINGS), engine.load_upstream_map),
    Kind("autoware-parameters", "p.yaml", _written(PARAMETERS), _gathered),
    Kind("autoware-map", "m.csv", _written(TABLE), read_table),
    Kind("road-crg", "r.crg", _crg, Road.load),
    Kind("tyre-tir", "t.tir", _copied("tyres", "syntax", "units_61.tir"), read_tyre, 100),
    Kind("tyre-ttc", "t.dat", _beginning("tyres", "ttc_like.dat"), measurements),
    Kind("tyre-mat", "t.mat", _tyre_mat, measurements, 300),
    Kind("tyre-tydex", "t.tdx", _copied("tyres", "tydex_like.tdx"), measurements),
    Kind("tyre-csv", "t.csv", lambda p: _tyre_rows().to_csv(p), measurements),
    Kind("tyre-parquet", "t.parquet", lambda p: _tyre_rows().to_parquet(p), measurements, 300),
)  # fmt: skip
