"""Run by test_zenoh_sdk: a node of zenoh-ros2-sdk, which knows rmw_zenoh's format by itself.

Takes a port, a domain and definitions as JSON. Writes what happens, a line of JSON each, and does
what it reads: `["publish", TEXT]`, `["call", BOOL]`, `["join", TOPIC]`; anything else ends it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from zenoh_ros2_sdk import ROS2Publisher, ROS2ServiceClient, ROS2Subscriber
from zenoh_ros2_sdk.qos import QosDurability, QosProfile
from zenoh_ros2_sdk.utils import compute_service_type_hash, get_type_hash


def told(kind: str, what: Any) -> None:
    """Tell the test."""
    sys.stdout.write(json.dumps([kind, what]) + "\n")
    sys.stdout.flush()


def main(port: int, domain: int, messages: dict[str, str], services: dict[str, list[str]]) -> None:
    """Be a node until told otherwise."""
    times = {"builtin_interfaces/msg/Time": messages["builtin_interfaces/msg/Time"]}
    hashes = {name: get_type_hash(name, text, times) for name, text in messages.items()}
    hashes |= {name: compute_service_type_hash(name, *both) for name, both in services.items()}
    told("hashes", hashes)
    # Definitions as text: without them it would fetch them from the network.
    place: dict[str, Any] = {
        "router_ip": "127.0.0.1",
        "router_port": port,
        "domain_id": domain,
        "namespace": "/sdk",
    }
    string = ("std_msgs/msg/String", messages["std_msgs/msg/String"])
    kind = "std_srvs/srv/SetBool"
    heard = ROS2Subscriber("/ours", string[0], lambda m: told("heard", m.data), string[1], **place)
    publisher = ROS2Publisher("/theirs", *string, **place)
    client = ROS2ServiceClient("/pause", kind, *services[kind], timeout=5.0, **place)
    told("ready", str(publisher.session_mgr.session_id))
    for line in sys.stdin:
        command, argument = json.loads(line)
        if command == "publish":
            publisher.publish(data=argument)
        elif command == "call":
            # A request that nobody hears is waited for in vain; that somebody is there may be
            # known before the way to them is, so it is asked again.
            while not client.querier.matching_status:
                time.sleep(0.01)
            while (response := client.call(data=argument)) is None:
                pass
            told("answered", [response.success, response.message])
        elif command == "join":
            qos = QosProfile(durability=QosDurability.TRANSIENT_LOCAL)
            got: list[Any] = []
            # It asks once, when it comes; whom it does not know yet it does not ask.
            while not got:
                late = ROS2Subscriber(argument, string[0], got.append, string[1], qos=qos, **place)
                late.close()
            told("late", [message.data for message in got])
        else:
            break
    for part in (heard, publisher, client):
        part.close()
    publisher.session_mgr.session.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *json.loads(sys.argv[3]))
