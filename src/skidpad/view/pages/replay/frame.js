// A frame of the live server: the layout is described in docs/live.md.

const KIND = 1;
const HEAD = 16;
export const FLAGS = { paused: 1, recording: 2, diverged: 4 };

/** {time, flags, row, scans: [{index, ranges}]}, or null for what is no frame of this stage. */
export function readFrame(buffer, channels) {
  const view = new DataView(buffer);
  const end = HEAD + 4 * channels;
  if (buffer.byteLength < end + 2 || view.getUint8(0) !== KIND) return null;
  const scans = [];
  let at = end + 2;
  for (let left = view.getUint16(end, true); left > 0; left--) {
    if (at + 4 > buffer.byteLength) return null;
    const index = view.getUint16(at, true);
    const size = 4 * view.getUint16(at + 2, true);
    at += 4;
    if (at + size > buffer.byteLength) return null;
    // A copy: the ranges do not lie on a boundary of four bytes.
    scans.push({ index, ranges: new Float32Array(buffer.slice(at, at + size)) });
    at += size;
  }
  if (at !== buffer.byteLength) return null;
  const row = new Float32Array(buffer, HEAD, channels);
  return { flags: view.getUint8(1), time: view.getFloat64(8, true), row, scans };
}
