"""Run by the tests of DDS: a node in another process that sends back what it hears.

`echo_node.py KIND`: "closed" closes its transport at the end of stdin, "left" leaves that to the
interpreter.
"""

from __future__ import annotations

import sys

from skidpad.ros2.cyclone import CycloneTransport
from skidpad.ros2.dds import DEFAULT, LATCHED, Identity
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type

STRING = message_type("std_msgs/msg/String")


def main(kind: str) -> None:
    """Echo until stdin ends."""
    node = CycloneTransport(Identity("echo"))
    pong = node.publisher("/pong", STRING, DEFAULT)
    node.subscribe("/ping", STRING, DEFAULT, pong.write)
    node.publisher("/latched", STRING, LATCHED).write(b"\x00\x01\x00\x00\x05\x00\x00\x00kept\x00")
    trigger = service_type("std_srvs/srv/Trigger")
    answer = b"\x00\x01\x00\x00\x01\x00\x00\x00\x05\x00\x00\x00done\x00"
    node.serve("/echo/trigger", trigger, lambda data, reply: reply(answer))
    node.announce()
    print("ready", flush=True)
    sys.stdin.read()
    if kind == "closed":
        node.close()


if __name__ == "__main__":
    main(sys.argv[1])
