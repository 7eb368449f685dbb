"""Roads: height and grip by position, random roads by ISO 8608, OpenCRG files, wheel contacts."""

from ..core import record
from ..random.patches import Patch, strip
from .records import PolygonPatch, fitted_plane, plane_motion, wheel_contact
from .road import class_limits, class_of, psd

__all__ = [
    "Patch",
    "PolygonPatch",
    "class_limits",
    "class_of",
    "fitted_plane",
    "plane_motion",
    "psd",
    "strip",
    "wheel_contact",
]

record.document_all()
