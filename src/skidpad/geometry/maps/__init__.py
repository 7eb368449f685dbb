"""Maps from GeoJSON, occupancy grids, cone tracks, CommonRoad or Python, as a `Map`, and race
tracks.
"""

from ...core import record
from .cones import CentreLine
from .files import read_track
from .map import MapWarning, Polygon
from .occupancy import Grid
from .track import Track, random_track

__all__ = ["CentreLine", "Grid", "MapWarning", "Polygon", "Track", "random_track", "read_track"]

record.document_all()
