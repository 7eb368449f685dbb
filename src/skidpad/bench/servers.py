"""`python -m skidpad.bench.servers NAME`: a server that ends when its standard input is closed.

`fleet` and `robot` are nodes of a world: robots in real time, and a single one that moves when it
is commanded. `crowd` and `playground` are live pages. Each prints a line when it is ready.
"""

from __future__ import annotations

import sys
import threading

from ..world.scene import Scene
from ..world.xml.reader import loads

ROBOTS = 20
RAYS = 1080
PERIOD_MS = 10.0
"""Period of odometry and tf, in ms."""
_APART = 4.0
"""Distance of the centres of two circles, in m; the circles are 1 m wide."""
_STEP = "<simul_timestep>0.005</simul_timestep>"
_DRIVE = (
    "<dynamics class='differential'><controller class='twist_pid'><KP>10</KP><V>0.5</V>"
    "<W>57.3</W></controller></dynamics>"
)
_LIDAR = (
    "<sensor class='laser' name='scan'><sensor_period>0.1</sensor_period>"
    f"<fov_degrees>270</fov_degrees><nrays>{RAYS}</nrays><max_range>20</max_range></sensor>"
)


def fleet() -> Scene:
    """Robots on circles of their own that see each other with lidars."""
    robots = "".join(
        f"<vehicle name='r{k}'><init_pose>{_APART * (k % 5)} {_APART * (k // 5)} {17 * k}"
        f"</init_pose>{_DRIVE}{_LIDAR}</vehicle>"
        for k in range(ROBOTS)
    )
    return loads(f"<mvsim_world version='1.0'>{_STEP}{robots}</mvsim_world>")


def single() -> Scene:
    """One robot without sensors."""
    robot = f"<vehicle name='r0'><init_pose>0 0 0</init_pose>{_DRIVE}</vehicle>"
    return loads(f"<mvsim_world version='1.0'>{_STEP}{robot}</mvsim_world>")


def serve_node(scene: Scene, *, lock_step: bool) -> None:
    """Run the node of a world."""
    from ..ros2.arguments import parse_arguments
    from ..ros2.cyclone import CycloneTransport
    from ..ros2.loop import Loop
    from ..ros2.node import Clock, Node
    from ..ros2.nodes.world import WorldProgram
    from ..ros2.transport import Identity

    arguments = parse_arguments(["--ros-args", "-p", f"period_ms_publish_tf:={PERIOD_MS}"])
    identity = Identity("mvsim")
    node = Node(identity, CycloneTransport(identity), arguments, Clock(wall=False))
    loop = Loop(node, WorldProgram(node, scene), lock_step=lock_step)
    node.announce()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.ending = True

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    print("up", flush=True)
    loop.run()
    node.close()


def serve_page(kind: str) -> None:
    """Serve the live page of a crowd at 30 frames/s, or of the playground at 60."""
    from ..view.live.arena import Arena
    from ..view.live.server import LiveServer
    from ..view.live.session import Session
    from ..view.live.sources import playground
    from .world import crowd

    if kind == "crowd":
        arena, rate = Arena(crowd("differential", 100).scene), 30.0
    else:
        place = playground()
        arena, rate = Arena(place.scene, lines=place.lines), 60.0
    server = LiveServer(Session(arena, rate=rate), port=0)
    server.start()
    print(server.url, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    match sys.argv[1]:
        case "fleet":
            serve_node(fleet(), lock_step=False)
        case "robot":
            serve_node(single(), lock_step=True)
        case page:
            serve_page(page)
