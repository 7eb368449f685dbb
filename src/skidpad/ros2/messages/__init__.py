"""Messages of ROS 2 without ROS: types, records, CDR, type hashes."""

from .codec import Field, Shape
from .prepared import Prepared, PreparedMany
from .types import MessageType, ServiceType, declare, message_type, service_type

__all__ = [
    "Field",
    "MessageType",
    "Prepared",
    "PreparedMany",
    "ServiceType",
    "Shape",
    "declare",
    "message_type",
    "service_type",
]
