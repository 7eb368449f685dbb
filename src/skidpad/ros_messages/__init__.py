"""Messages of ROS 2 without ROS: types, records, CDR, type hashes."""

from .fields import Field, Shape
from .interfaces import MessageType, ServiceType
from .prepared import Prepared
from .prepared_many import PreparedMany
from .types import declare, message_type, service_type

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
