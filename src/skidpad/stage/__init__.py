"""What there is to see of a simulation: bodies with their shapes, columns of numbers, scans.

A `Stage` is plain data; the page, recordings and live views all read it. `world_stage` and
`trajectory_stage` make one together with the rows of numbers that belong to it.
"""

from .. import record
from .description import Body, Channel, Disc, Grid, Line, Polygon, Relief, Scan, Stage, Wheel
from .shapes import BodyShape, shape_of

__all__ = [
    "Body",
    "BodyShape",
    "Channel",
    "Disc",
    "Grid",
    "Line",
    "Polygon",
    "Relief",
    "Scan",
    "Stage",
    "Wheel",
    "shape_of",
]

record.document_all()
