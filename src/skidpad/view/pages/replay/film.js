// Reads the block that view/film.py writes; its module text describes the layout.

import { BrokenFilm } from "skidpad/decode.js";
import { Series } from "skidpad/series.js";
import { ScanStore } from "skidpad/scans.js";

const MAGIC = "skidfilm";
const NEWEST = 1;
const NO_ECHO = 65535;

/** {stage, series, scans, note} of a film, or BrokenFilm in words. */
export function readFilm(buffer) {
  const head = readHead(buffer);
  const { samples, stage } = head;
  const channels = stage.channels.length;
  const reader = new Reader(buffer, head.end);
  const times = reader.floats(samples);
  const low = reader.floats(channels);
  const step = reader.floats(channels);
  const scanTimes = head.scans.map((one) => reader.floats(one.count));
  const data = new Float32Array(channels * samples);
  const bits = new Int32Array(data.buffer);
  for (let c = 0; c < channels; c++) {
    readColumn(reader.bytes(4 * samples), samples, low[c], step[c], data, bits, c * samples);
  }
  const scans = new ScanStore(stage.scans.length);
  head.scans.forEach((one, k) => {
    const rays = stage.scans[k].count;
    const ranges = readRanges(reader.bytes(2 * one.count * rays), one.reach);
    scans.fill(k, scanTimes[k], ranges, rays);
  });
  if (reader.at !== buffer.byteLength) throw new BrokenFilm("The film has bytes that belong to nothing.");
  return { stage, series: new Series(times, data, samples, 1, samples), scans, note: head.note };
}

function readHead(buffer) {
  const bytes = new Uint8Array(buffer);
  if (String.fromCharCode(...bytes.subarray(0, 8)) !== MAGIC) {
    throw new BrokenFilm("What is in this page is not a film.");
  }
  const view = new DataView(buffer);
  const version = view.getUint32(8, true);
  if (version > NEWEST) {
    throw new BrokenFilm(`The film has version ${version}; this page reads up to ${NEWEST}.`);
  }
  const size = view.getUint32(12, true);
  if (16 + size > buffer.byteLength) throw new BrokenFilm("The film is cut short.");
  try {
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(16, 16 + size)));
    return { ...head, end: 16 + size };
  } catch {
    throw new BrokenFilm("The description of the film is damaged.");
  }
}

class Reader {
  constructor(buffer, at) {
    this.buffer = buffer;
    this.at = at;
  }

  take(size) {
    const begin = this.at;
    if (begin + size > this.buffer.byteLength) throw new BrokenFilm("The film is cut short.");
    this.at += size;
    return begin;
  }

  floats(count) {
    return new Float64Array(this.buffer, this.take(8 * count), count);
  }

  bytes(count) {
    return new Uint8Array(this.buffer, this.take(count), count);
  }
}

/** One channel: four planes of zigzag differences, in fixed point or (step 0) as float bits. */
function readColumn(planes, count, low, step, data, bits, at) {
  let number = 0;
  for (let i = 0; i < count; i++) {
    const z = planes[i] | (planes[count + i] << 8) | (planes[2 * count + i] << 16) | (planes[3 * count + i] << 24);
    number = (number + ((z >>> 1) ^ -(z & 1))) | 0;
    if (step === 0) bits[at + i] = number;
    else data[at + i] = low + step * number;
  }
}

/** Ranges in m; Infinity for no echo. */
function readRanges(planes, reach) {
  const count = planes.length / 2;
  const ranges = new Float32Array(count);
  const unit = reach / (NO_ECHO - 1);
  let number = 0;
  for (let i = 0; i < count; i++) {
    const z = planes[i] | (planes[count + i] << 8);
    number = (number + ((z >>> 1) ^ -(z & 1))) & 0xffff;
    ranges[i] = number === NO_ECHO ? Infinity : number * unit;
  }
  return ranges;
}
