// Leading the camera after a vehicle: not at all, at a fixed angle, or with its heading up.

const TURN = 2 * Math.PI;
/** Time constant with which the camera catches up with a newly chosen vehicle, in s. */
const CATCH_UP = 0.15;
/** Time constant of the turn with the heading: slower, so that a slide is seen as one. */
const TURN_TIME = 0.25;

export const CAMERAS = [
  { name: "free", label: "Free", text: "The camera stays where it is put" },
  { name: "follow", label: "Follow", text: "The camera goes with the vehicle" },
  { name: "heading", label: "Heading up", text: "The camera goes and turns with the vehicle" },
];

export class Follower {
  constructor(view) {
    this.view = view;
    this.mode = "free";
    // What is left of the way to the vehicle when following begins; it fades instead of jumping.
    this.offX = 0;
    this.offY = 0;
  }

  /** Begin to follow a pose, or stop with null. */
  begin(mode, pose) {
    this.mode = pose ? mode : "free";
    this.view.goal = null;
    if (this.mode === "free") {
      // Without a vehicle to turn with, up is north again; a hand that drags ends the turn.
      if (this.view.angle !== 0) this.view.goTo({ angle: 0 });
      return;
    }
    this.offX = this.view.x - pose.x;
    this.offY = this.view.y - pose.y;
  }

  /** Put the camera behind the vehicle's pose; says whether it is still catching up. */
  update(pose, seconds) {
    const view = this.view;
    if (this.mode === "free" || !Number.isFinite(pose.x + pose.y)) return false;
    const keep = Math.exp(-seconds / CATCH_UP);
    this.offX *= keep;
    this.offY *= keep;
    const far = Math.hypot(this.offX, this.offY) * view.zoom > 0.5;
    if (!far) this.offX = this.offY = 0;
    view.x = pose.x + this.offX;
    view.y = pose.y + this.offY;
    const aim = this.mode === "heading" ? pose.yaw - Math.PI / 2 : 0;
    const turn = aim - view.angle - TURN * Math.round((aim - view.angle) / TURN);
    const turning = Math.abs(turn) > 1e-4;
    view.angle = turning ? view.angle + turn * (1 - Math.exp(-seconds / TURN_TIME)) : aim;
    view.moved();
    return far || turning;
  }
}
