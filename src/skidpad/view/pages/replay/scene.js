// The top view: two canvases, one for what stands still and one for what moves.
//
// The back is drawn again only when the camera moves, which it mostly does not.

import { ArrowPainter } from "skidpad/arrows.js";
import { Bodies, grow } from "skidpad/bodies.js";
import { theme } from "skidpad/colours.js";
import { drawGround, updateScale } from "skidpad/ground.js";
import { drawLabels } from "skidpad/labels.js";
import { LidarPainter } from "skidpad/lidar.js";
import { drawPaths } from "skidpad/paths.js";
import { StillLife } from "skidpad/still.js";
import { TrailPainter } from "skidpad/trails.js";
import { BodyPainter } from "skidpad/vehicles.js";

export class Scene {
  constructor(back, front, scale, view) {
    this.back = { canvas: back, context: back.getContext("2d", { alpha: false }) };
    this.front = { canvas: front, context: front.getContext("2d") };
    this.scale = scale;
    this.view = view;
    this.ratio = 1;
    this.layers = { trails: true, forces: true, lidar: true, labels: true };
    this.trailSeconds = Infinity;
    /** Whether what comes is known, too: in a film, not in a live world. */
    this.wholePaths = false;
    this.backDrawn = "";
  }

  /** Put another stage in: what stands on it and what moves. */
  setStage(stage) {
    this.bodies = new Bodies(stage);
    this.still = new StillLife(stage);
    this.painter = new BodyPainter(this.bodies);
    this.trails = new TrailPainter(stage, this.bodies);
    this.arrows = new ArrowPainter(stage, this.bodies);
    this.lidar = new LidarPainter(stage, this.bodies);
    this.backDrawn = "";
  }

  /** Scales that depend on the numbers. */
  measure(series, growing = false) {
    this.trails.measure(series, growing);
    this.arrows.measure(series);
  }

  resize() {
    const box = this.front.canvas.parentElement.getBoundingClientRect();
    // More than two device pixels per pixel cost time and show nothing more.
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    for (const { canvas } of [this.back, this.front]) {
      canvas.width = Math.max(1, Math.round(box.width * this.ratio));
      canvas.height = Math.max(1, Math.round(box.height * this.ratio));
    }
    this.view.resize(box.width, box.height);
    this.backDrawn = "";
  }

  /** The box of everything, for seeing all of it. */
  box(series) {
    const box = this.bodies.box(series) ?? { left: -5, right: 5, bottom: -5, top: 5 };
    const still = this.still.box;
    if (still) {
      grow(box, still.left, still.bottom);
      grow(box, still.right, still.top);
    }
    return box;
  }

  /** Draw a moment; the series is located there and the bodies are placed. */
  draw(series, scans, time, chosen) {
    const { view, ratio, layers, bodies } = this;
    this.#drawBack(series);
    const { canvas, context } = this.front;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!series.count) return;
    if (layers.lidar) this.lidar.draw(context, view, ratio, series, scans, time, chosen);
    if (layers.trails) this.trails.draw(context, view, ratio, series, time, this.trailSeconds, chosen);
    this.painter.draw(context, view, ratio, series, chosen);
    if (layers.forces) this.arrows.draw(context, view, ratio, series);
    this.labelled = !layers.labels ? [] : drawLabels(context, view, ratio, bodies, chosen);
  }

  #drawBack(series) {
    const { view } = this;
    const paths = this.wholePaths && this.layers.trails;
    const state = `${view.revision} ${theme.revision} ${paths}`;
    if (state === this.backDrawn) return;
    this.backDrawn = state;
    const { canvas, context } = this.back;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = theme.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    this.still.drawReliefs(context, view, this.ratio);
    drawGround(context, view, this.ratio);
    this.still.draw(context, view, this.ratio);
    if (paths) drawPaths(context, view, this.ratio, this.bodies, series);
    updateScale(this.scale, view, this.still.reliefs);
  }
}
