// Writes what was driven as an MCAP file, with the records and messages that skidpad writes itself.
//
// What does not change comes from pages/drive.py as whole records; messages are
// bytes with slots for numbers. Chunks are not compressed: browsers have neither lz4 nor zstd.

const MAGIC = Uint8Array.of(0x89, 0x4d, 0x43, 0x41, 0x50, 0x30, 0x0d, 0x0a);
const OP = { footer: 2, chunk: 6, messageIndex: 7, chunkIndex: 8, statistics: 11, metadata: 12, metadataIndex: 13, summaryOffset: 14, dataEnd: 15 };
const NS = 1e9;
// What is damaged is lost by the chunk: larger ones would not make the file smaller, as nothing is compressed.
const CHUNK_SIZE = 100e3;
const CHUNK_SPAN = 1 * NS;

/** The file as parts of a Blob; `rowAt(k)` gives the time and the channels of the stage of row k. */
export function mcapParts(templates, count, rowAt, notes) {
  const file = new McapFile(templates);
  const encoder = new ChunkEncoder(templates);
  for (let k = 0; k < count; k++) {
    const [time, row] = rowAt(k);
    encoder.add(time, row);
    if (encoder.full) file.addChunk(encoder.taken());
  }
  if (encoder.size) file.addChunk(encoder.taken());
  if (Object.keys(notes).length) file.addNotes(notes);
  file.finish();
  return file.parts;
}

class McapFile {
  constructor(templates) {
    this.templates = templates;
    this.parts = [];
    this.end = 0;
    this.chunkIndexes = [];
    this.metadataIndexes = [];
    this.counts = new Map();
    this.times = null;
    this.#write(MAGIC);
    this.#write(bytesOf(templates.header));
    this.schemas = templates.schemas.map(bytesOf);
    this.channels = templates.channels.map(bytesOf);
    for (const record of [...this.schemas, ...this.channels]) this.#write(record);
    for (const [name, record] of templates.metadata) this.#addMetadata(name, bytesOf(record));
  }

  #write(part) {
    this.parts.push(part);
    this.end += part.length;
  }

  #addMetadata(name, record) {
    this.metadataIndexes.push(encoded(OP.metadataIndex, (out) => out.u64(this.end).u64(record.length).text(name)));
    this.#write(record);
  }

  addNotes(notes) {
    const name = this.templates.notes;
    const text = JSON.stringify(notes);
    // In the order of the names, as recording/checksums.py has it.
    const sum = crc32(new TextEncoder().encode([name, "notes", text].join("\0"))).toString(16).padStart(8, "0");
    this.#addMetadata(name, encoded(OP.metadata, (out) => out.text(name).map([["notes", text], ["crc32", sum]])));
  }

  addChunk({ data, index, begin, end }) {
    const start = this.end;
    const head = (out) => out.u64(begin).u64(end).u64(data.length).u32(crc32(data)).text("").u64(data.length);
    this.#write(encoded(OP.chunk, (out) => head(out).raw(data)));
    const length = this.end - start;
    const offsets = [];
    for (const [channel, entries] of index) {
      offsets.push([channel, this.end]);
      this.#write(encoded(OP.messageIndex, (out) => {
        out.u16(channel).u32(16 * entries.length);
        for (const [time, place] of entries) out.u64(time).u64(place);
      }));
      this.counts.set(channel, (this.counts.get(channel) ?? 0) + entries.length);
    }
    this.chunkIndexes.push(encoded(OP.chunkIndex, (out) => {
      out.u64(begin).u64(end).u64(start).u64(length).u32(10 * offsets.length);
      for (const [channel, place] of offsets) out.u16(channel).u64(place);
      out.u64(this.end - start - length).text("").u64(data.length).u64(data.length);
    }));
    this.times = [this.times ? this.times[0] : begin, end];
  }

  finish() {
    this.#write(encoded(OP.dataEnd, (out) => out.u32(0)));
    const begin = this.end;
    const groups = [this.schemas, this.channels, [this.#statistics()], this.chunkIndexes, this.metadataIndexes];
    const summary = [];
    const offsets = [];
    let at = begin;
    for (const group of groups) {
      const size = group.reduce((sum, record) => sum + record.length, 0);
      if (!size) continue;
      offsets.push(encoded(OP.summaryOffset, (out) => out.u8(group[0][0]).u64(at).u64(size)));
      summary.push(...group);
      at += size;
    }
    const footer = encoded(OP.footer, (out) => out.u64(begin).u64(at).u32(0));
    const summed = [...summary, ...offsets, footer.subarray(0, footer.length - 4)];
    new DataView(footer.buffer).setUint32(footer.length - 4, summed.reduce((sum, part) => crc32(part, sum), 0), true);
    for (const part of [...summary, ...offsets, footer, MAGIC]) this.#write(part);
  }

  #statistics() {
    const total = [...this.counts.values()].reduce((a, b) => a + b, 0);
    const [begin, end] = this.times ?? [0, 0];
    return encoded(OP.statistics, (out) => {
      out.u64(total).u16(this.schemas.length).u32(this.channels.length).u32(0);
      out.u32(this.metadataIndexes.length).u32(this.chunkIndexes.length).u64(begin).u64(end).u32(10 * this.counts.size);
      for (const [channel, count] of this.counts) out.u16(channel).u64(count);
    });
  }
}

/** Puts samples into messages, one chunk after the other. */
class ChunkEncoder {
  constructor({ states, motion, still, upright, tilted, shown_rate: shown, still_period: period }) {
    this.groups = { states: states.map(slotted), motion: motion.map(slotted), still: still.map(slotted) };
    Object.assign(this, { upright, tilted, shown, period });
    this.lastShown = -1;
    this.lastStill = -1;
    this.buffer = new Uint8Array(2 * CHUNK_SIZE);
    this.stamp = new Uint8Array(12);
    this.#begin();
  }

  #begin() {
    this.size = 0;
    this.index = new Map();
    this.first = this.latest = null;
  }

  get full() { return this.size > CHUNK_SIZE || this.latest - this.first >= CHUNK_SPAN; }

  taken() {
    const chunk = { data: this.buffer.slice(0, this.size), index: this.index, begin: this.first, end: this.latest };
    this.#begin();
    return chunk;
  }

  add(time, row) {
    const ns = Math.round(time * NS);
    const tables = { row, time: [time], rotation: null };
    this.#setStamp(ns);
    if (this.first === null) this.#repeat(ns, tables);
    this.first ??= ns;
    this.latest = ns;
    for (const message of this.groups.states) this.#put(message, ns, tables);
    const tick = Math.floor(time * this.shown + 1e-6);
    if (tick <= this.lastShown) return;
    this.lastShown = tick;
    tables.rotation = this.#rotations(row);
    for (const message of this.groups.motion) this.#put(message, ns, tables);
  }

  /** What does not change, if it is due. */
  #repeat(ns, tables) {
    const tick = Math.floor(ns / (this.period * NS));
    if (tick <= this.lastStill) return;
    this.lastStill = tick;
    for (const message of this.groups.still) this.#put(message, ns, tables);
  }

  #put({ channel, record, slots }, ns, tables) {
    this.#makeRoom(record.length);
    const at = this.size;
    this.buffer.set(record, at);
    const view = new DataView(this.buffer.buffer, at);
    for (const [offset, source, column] of slots) {
      if (source === "log_time") view.setBigUint64(offset, BigInt(ns), true);
      else if (source === "timestamp") this.buffer.set(this.stamp.subarray(4 * column, 4 * column + 4), at + offset);
      else view.setFloat64(offset, tables[source][column], true);
    }
    if (!this.index.has(channel)) this.index.set(channel, []);
    this.index.get(channel).push([ns, at]);
    this.size += record.length;
  }

  #makeRoom(more) {
    if (this.size + more <= this.buffer.length) return;
    const larger = new Uint8Array(2 * (this.size + more));
    larger.set(this.buffer.subarray(0, this.size));
    this.buffer = larger;
  }

  /** A protobuf Timestamp whose varints always take five bytes. */
  #setStamp(ns) {
    const seconds = Math.floor(ns / NS);
    [seconds, ns - seconds * NS].forEach((value, k) => {
      this.stamp[6 * k] = (k + 1) << 3;
      for (let i = 0; i < 5; i++) {
        this.stamp[6 * k + 1 + i] = (Math.floor(value / 2 ** (7 * i)) & 0x7f) | (i < 4 ? 0x80 : 0);
      }
    });
  }

  /** Quaternions as recording/rotations.py lays them out: sines, cosines, then what tilts. */
  #rotations(row) {
    const halves = this.upright.map(([channel, fixed]) => 0.5 * (row[channel] + fixed));
    const table = [...halves.map(Math.sin), ...halves.map(Math.cos)];
    for (const angles of this.tilted) {
      const [cy, cp, cr] = angles.map((channel) => Math.cos(0.5 * row[channel]));
      const [sy, sp, sr] = angles.map((channel) => Math.sin(0.5 * row[channel]));
      table.push(cy * cp * sr - sy * sp * cr, cy * sp * cr + sy * cp * sr, sy * cp * cr - cy * sp * sr, cy * cp * cr + sy * sp * sr);
    }
    return table;
  }
}

function slotted({ channel, record, slots }) {
  return { channel, slots, record: bytesOf(record) };
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

/** A record: its opcode, its length, and what `fill` writes. */
function encoded(op, fill) {
  const content = new Out();
  fill(content);
  const bytes = content.bytes();
  return new Out().u8(op).u64(bytes.length).raw(bytes).bytes();
}

/** Bytes being written, numbers with the lower byte first. */
class Out {
  parts = [];
  #number(size, write) {
    const bytes = new Uint8Array(size);
    write(new DataView(bytes.buffer));
    return this.raw(bytes);
  }
  u8(value) { return this.#number(1, (view) => view.setUint8(0, value)); }
  u16(value) { return this.#number(2, (view) => view.setUint16(0, value, true)); }
  u32(value) { return this.#number(4, (view) => view.setUint32(0, value, true)); }
  u64(value) { return this.#number(8, (view) => view.setBigUint64(0, BigInt(value), true)); }
  text(value) {
    const bytes = new TextEncoder().encode(value);
    return this.u32(bytes.length).raw(bytes);
  }
  map(pairs) {
    const inner = new Out();
    for (const [key, value] of pairs) inner.text(key).text(value);
    const bytes = inner.bytes();
    return this.u32(bytes.length).raw(bytes);
  }
  raw(bytes) {
    this.parts.push(bytes);
    return this;
  }
  bytes() {
    const out = new Uint8Array(this.parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of this.parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, k) => {
  for (let bit = 0; bit < 8; bit++) k = k & 1 ? 0xedb88320 ^ (k >>> 1) : k >>> 1;
  return k;
});

/** The CRC-32 of zlib; `before` is that of what comes before. */
export function crc32(bytes, before = 0) {
  let crc = ~before;
  for (let i = 0; i < bytes.length; i++) crc = CRC_TABLE[(crc ^ bytes[i]) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}
