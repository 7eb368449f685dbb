"""Roads: height and grip by position, random roads by ISO 8608, OpenCRG files, wheels on them."""

from ..core import record
from ..random.patches import Patch, strip
from .contact import (
    RoadPlane,
    StandingPull,
    WheelContact,
    fitted_plane,
    plane_motion,
    plane_under,
    standing_pull,
    wheel_contact,
)
from .curved import (
    CurvedLine,
    CurvedRoad,
    ListedCurvedRoad,
    ListedStripRoad,
    StraightLine,
    StripRoad,
)
from .iso8608 import class_limits, class_of, psd
from .records import (
    FlatRoad,
    FullGrip,
    GridRoad,
    GripGrid,
    PlaneRoad,
    PolygonPatch,
    ProfileRoad,
    SmoothGridRoad,
    SmoothProfileRoad,
    SurfacePoint,
    UniformGrip,
    WaveRoad,
    road_record,
    road_type,
)
from .road import Road

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
