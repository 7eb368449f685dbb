"""Maps: GeoJSON, occupancy grids, cone tracks, CommonRoad, or shapes from Python, as one `Map`."""

from .areas import MapWarning, Polygon
from .field import DistanceField
from .grid import Grid
from .line import CentreLine
from .map import Map

__all__ = ["CentreLine", "DistanceField", "Grid", "Map", "MapWarning", "Polygon"]
