"""Maps: GeoJSON, occupancy grids, cone tracks, CommonRoad, or shapes from Python, as one `Map`;
tracks to race on."""

from ...core import record
from .areas import MapWarning, Polygon
from .cones import CentreLine
from .grid import Grid
from .track import Track, random_track
from .track_files import read_track

__all__ = [
    "CentreLine",
    "Grid",
    "MapWarning",
    "Polygon",
    "Track",
    "random_track",
    "read_track",
]

record.document_all()
