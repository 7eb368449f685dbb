"""Maps: GeoJSON, occupancy grids, cone tracks, CommonRoad, or shapes from Python, as one `Map`;
tracks to race on."""

from ... import record
from .areas import MapWarning, Polygon
from .field import DistanceField
from .grid import Grid
from .line import CentreLine
from .map import Map
from .track import NarrowPlace, Track
from .track_files import read_track
from .track_of_seed import random_track

__all__ = [
    "CentreLine",
    "DistanceField",
    "Grid",
    "Map",
    "MapWarning",
    "NarrowPlace",
    "Polygon",
    "Track",
    "random_track",
    "read_track",
]

record.document_all()
