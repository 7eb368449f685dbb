"""A world's node in a process of its own: prints a line when it is up, ends with its standard
input.

`--robots` is a fleet in real time, `--one` a single robot that moves when it is commanded.
"""

from __future__ import annotations

import sys
import threading

from ..ros2.arguments import parsed
from ..ros2.cyclone import CycloneTransport
from ..ros2.loop import Loop
from ..ros2.node import Clock, Node
from ..ros2.nodes.world import WorldProgram
from ..ros2.transport import Identity
from ..world.scene import Scene
from ..world.xml.reader import loads

ROBOTS = 20
RAYS = 1080
PERIOD_MS = 10.0
"""Of odometry and tf."""
_APART = 4.0
"""Between the middles of two circles, in m; the circles are 1 m wide."""
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
    """Robots that drive circles of their own, and see each other."""
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


def main(kind: str) -> None:
    """Run until nobody writes to this process any more."""
    arguments = parsed(["--ros-args", "-p", f"period_ms_publish_tf:={PERIOD_MS}"])
    identity = Identity("mvsim")
    robots = kind == "--robots"
    node = Node(identity, CycloneTransport(identity), arguments, Clock(wall=False))
    loop = Loop(node, WorldProgram(node, fleet() if robots else single()), lock_step=not robots)
    node.announce()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.ending = True

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    loop.run()
    node.close()


if __name__ == "__main__":
    main(sys.argv[1])
