"""Maps from GeoJSON, occupancy grids, cone tracks, CommonRoad or Python, as one `Map`; race
tracks."""

from ...core import record
from .areas import MapWarning, Polygon
from .cones import CentreLine
from .files import read_track
from .grid import Grid
from .track import Track, random_track

__all__ = ["CentreLine", "Grid", "MapWarning", "Polygon", "Track", "random_track", "read_track"]

record.document_all()
