"""The engine of a small truck: commands in; motion, lidar, IMU and collisions out.

engine = skidpad.Engine(map="yard.geojson")
engine.set_base_control(0.5, 1.0)
engine.advance(0.1)
engine.state().lidar_ranges
"""

from ...core import record
from .engine import Engine
from .model_file import EngineState, LidarModel, Pose, Status, Steering, TruckModel, truck_model
from .sensors import Noise, SensorNoise

__all__ = [
    "Engine",
    "EngineState",
    "LidarModel",
    "Noise",
    "Pose",
    "SensorNoise",
    "Status",
    "Steering",
    "TruckModel",
    "truck_model",
]

record.document_all()
