"""Roads: height and grip by position, random roads by ISO 8608, OpenCRG files, wheels on them."""

from .. import record
from ..random.patches import Patch, strip
from .contact import (
    RoadPlane,
    StandingPull,
    WheelContact,
    plane_motion,
    plane_under,
    standing_pull,
    wheel_contact,
)
from .curved import CurvedRoad, ListedCurvedRoad, ListedStripRoad, StripRoad
from .fitted_plane import fitted_plane
from .grip import FullGrip, GripGrid, PolygonPatch, UniformGrip
from .iso8608 import class_limits, class_of, psd
from .records import road_record, road_type
from .reference_line import CurvedLine, StraightLine
from .road import Road
from .surfaces import (
    FlatRoad,
    GridRoad,
    PlaneRoad,
    ProfileRoad,
    SmoothGridRoad,
    SmoothProfileRoad,
    SurfacePoint,
    WaveRoad,
)

__all__ = [
    "CurvedLine",
    "CurvedRoad",
    "FlatRoad",
    "FullGrip",
    "GridRoad",
    "GripGrid",
    "ListedCurvedRoad",
    "ListedStripRoad",
    "Patch",
    "PlaneRoad",
    "PolygonPatch",
    "ProfileRoad",
    "Road",
    "RoadPlane",
    "SmoothGridRoad",
    "SmoothProfileRoad",
    "StandingPull",
    "StraightLine",
    "StripRoad",
    "SurfacePoint",
    "UniformGrip",
    "WaveRoad",
    "WheelContact",
    "class_limits",
    "class_of",
    "fitted_plane",
    "plane_motion",
    "plane_under",
    "psd",
    "road_record",
    "road_type",
    "standing_pull",
    "strip",
    "wheel_contact",
]

record.document_all()
