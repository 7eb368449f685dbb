// Ground with heights: shaded by the light from the upper left, with contour lines; slippery
// places are blue.

import { rgb, theme } from "skidpad/colours.js";
import { roundStep } from "skidpad/ground.js";

/** Slopes are drawn steeper or flatter, so that the steepest usual one has this rise. */
const SEEN_RISE = 0.7;
const MOST_EXAGGERATION = 25;
/** Contour lines between the lowest and the highest point, at most. */
const CONTOURS = 12;
/** Colour of ground without grip, and its share of the picture there. */
const ICE = [58, 140, 214];
const ICE_SHARE = 0.6;

export class Relief {
  constructor(plain) {
    Object.assign(this, plain);
    this.grip = plain.grip ? bytesOf(plain.grip) : null;
    const bytes = bytesOf(plain.heights);
    const unit = (plain.high - plain.low) / 65535;
    this.z = Float32Array.from({ length: bytes.length / 2 }, (_, k) => unit * (bytes[2 * k] + 256 * bytes[2 * k + 1]));
    /** Height in m from one contour line to the next; 0: there are none. */
    this.interval = plain.high - plain.low > 0.005 ? roundStep((plain.high - plain.low) / CONTOURS) : 0;
    this.image = null;
    this.revision = -1;
  }

  get right() { return this.x + (this.width - 1) * this.step; }
  get top() { return this.y + (this.height - 1) * this.step; }

  draw(context, view) {
    if (this.revision !== theme.revision) {
      this.image = this.#picture();
      this.contours ??= this.#contours();
      this.revision = theme.revision;
    }
    const half = this.step / 2;
    context.imageSmoothingEnabled = true;
    context.drawImage(this.image, this.x - half, this.y - half, this.width * this.step, this.height * this.step);
    context.strokeStyle = theme.muted;
    context.globalAlpha = 0.45;
    context.lineWidth = 0.8 / view.zoom;
    context.stroke(this.contours);
    context.globalAlpha = 1;
  }

  /** The points as an image; its first row is that of least y, which the world's transform turns up. */
  #picture() {
    const { width, height, grip } = this;
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    const rises = this.#rises();
    const ground = rgb(theme.ground);
    const range = Math.max(this.high - this.low, 1e-9);
    for (let k = 0; k < width * height; k++) {
      // Light ground can only get darker, dark ground lighter.
      const tone = 0.6 * rises[k] + 0.4 * (this.interval ? this.z[k] / range : 0.5);
      const share = theme.dark ? 0.3 * tone : 0.34 * (1 - tone);
      const ice = grip ? ICE_SHARE * (1 - grip[k] / 255) : 0;
      for (let c = 0; c < 3; c++) {
        const lit = ground[c] + share * ((theme.dark ? 255 : 0) - ground[c]);
        image.data[4 * k + c] = lit + ice * (ICE[c] - lit);
      }
      image.data[4 * k + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  /** How much light each point has, 0 to 1, from its rise towards the upper left. */
  #rises() {
    const { width, height, z, step } = this;
    const raw = new Float32Array(width * height);
    let sum = 0;
    for (let j = 0; j < height; j++) {
      for (let i = 0; i < width; i++) {
        const [left, right] = [Math.max(i - 1, 0), Math.min(i + 1, width - 1)];
        const [below, above] = [Math.max(j - 1, 0), Math.min(j + 1, height - 1)];
        const across = (z[j * width + right] - z[j * width + left]) / ((right - left) * step);
        const up = (z[above * width + i] - z[below * width + i]) / ((above - below) * step);
        raw[j * width + i] = (across - up) * Math.SQRT1_2;
        sum += across * across + up * up;
      }
    }
    const usual = 2 * Math.sqrt(sum / raw.length);
    const factor = usual > 1e-6 ? Math.min(SEEN_RISE / usual, MOST_EXAGGERATION) : 0;
    return raw.map((rise) => 0.5 + 0.5 * Math.tanh(factor * rise));
  }

  /** Lines of equal height, straight within each cell. */
  #contours() {
    const path = new Path2D();
    const { width, height, z, interval } = this;
    if (!interval) return path;
    for (let j = 0; j + 1 < height; j++) {
      for (let i = 0; i + 1 < width; i++) {
        const k = j * width + i;
        // Each half of the cell is a triangle, which a level cuts in one line or not at all.
        this.#cut(path, i, j, [z[k], z[k + 1], z[k + width + 1]], [[0, 0], [1, 0], [1, 1]]);
        this.#cut(path, i, j, [z[k], z[k + width + 1], z[k + width]], [[0, 0], [1, 1], [0, 1]]);
      }
    }
    return path;
  }

  #cut(path, i, j, heights, corners) {
    const { interval, low, step } = this;
    const [least, most] = [Math.min(...heights), Math.max(...heights)];
    for (let n = Math.floor((low + least) / interval) + 1; n * interval <= low + most; n++) {
      const level = n * interval - low;
      let points = 0;
      for (let a = 0; a < 3 && points < 2; a++) {
        const b = (a + 1) % 3;
        if (heights[a] >= level === heights[b] >= level) continue;
        const share = (level - heights[a]) / (heights[b] - heights[a]);
        const x = this.x + step * (i + corners[a][0] + share * (corners[b][0] - corners[a][0]));
        const y = this.y + step * (j + corners[a][1] + share * (corners[b][1] - corners[a][1]));
        if (points++) path.lineTo(x, y);
        else path.moveTo(x, y);
      }
    }
  }
}

export function bytesOf(base64) {
  const binary = atob(base64);
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
