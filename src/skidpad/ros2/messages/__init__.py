"""Messages of ROS 2 without ROS: types, records, CDR, type hashes."""

from .types import message_type

__all__ = ["message_type"]
