"""Messages of ROS 2 without ROS: types, records, CDR, type hashes."""

from .types import Field, MessageType, ServiceType, Shape, message_type, service_type

__all__ = ["Field", "MessageType", "ServiceType", "Shape", "message_type", "service_type"]
