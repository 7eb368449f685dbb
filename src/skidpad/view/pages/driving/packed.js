// The block in the page as pages/drive.py packs it: a head as JSON, then the modules.

import { BrokenFilm, inflated } from "skidpad/decode.js";

const NEWEST = 1;

/** {head, blobs by name} of the text of a block, or BrokenFilm in words. */
export async function unpacked(text) {
  const buffer = await inflated(text);
  const size = buffer.byteLength < 4 ? Infinity : new DataView(buffer).getUint32(0, true);
  if (4 + size > buffer.byteLength) throw new BrokenFilm("The vehicle in this page is cut short.");
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  if (head.version > NEWEST) {
    throw new BrokenFilm(`The vehicle has version ${head.version}; this page reads up to ${NEWEST}.`);
  }
  const blobs = {};
  let at = 4 + size;
  for (const [name, length] of head.blobs) {
    blobs[name] = new Uint8Array(buffer, at, length);
    at += length;
  }
  if (at !== buffer.byteLength) throw new BrokenFilm("The vehicle in this page is cut short.");
  return { head, blobs };
}
