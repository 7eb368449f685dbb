// A table of numbers over time, for replay and live alike: one Float32Array with strides.
//
// A film lies channel by channel (row stride 1), a live stream row by row (channel stride 1), so
// that both are read, and a live row written, without copying anything about.

const TURN = 2 * Math.PI;

export class Series {
  /**
   * @param {Float64Array} times in s, increasing
   * @param {Float32Array} data
   * @param {number} channelStride from a channel to the next
   * @param {number} rowStride from a time to the next
   * @param {number} count rows that are filled
   */
  constructor(times, data, channelStride, rowStride, count) {
    this.times = times;
    this.data = data;
    this.channelStride = channelStride;
    this.rowStride = rowStride;
    this.count = count;
    /** Changes whenever rows come or go, so that drawings know they are old. */
    this.revision = 0;
    /** The place in time that `at` and `angleAt` read: row, and share of the way to the next. */
    this.row = 0;
    this.share = 0;
  }

  /** An empty table for a live stream that keeps at least the last `rows` rows. */
  static forLive(channels, rows) {
    const room = 2 * rows;
    return new Series(new Float64Array(room), new Float32Array(room * channels), 1, channels, 0);
  }

  get begin() { return this.count ? this.times[0] : 0; }
  get end() { return this.count ? this.times[this.count - 1] : 0; }

  /** Put a row behind the last; when the table is full, its newer half moves to the front. */
  append(time, row) {
    const width = this.rowStride;
    if (this.count === this.times.length) {
      const half = this.count >> 1;
      this.times.copyWithin(0, this.count - half, this.count);
      this.data.copyWithin(0, (this.count - half) * width, this.count * width);
      this.count = half;
    }
    this.times[this.count] = time;
    this.data.set(row, this.count * width);
    this.count++;
    this.revision++;
  }

  clear() {
    this.count = 0;
    this.revision++;
  }

  /** The last row at or before a time; the first row for earlier ones. */
  rowAt(time) {
    const times = this.times;
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Set the place that `at` and `angleAt` read. Beyond the ends the end itself is read. */
  locate(time) {
    const i = this.rowAt(time);
    this.row = i;
    if (i + 1 >= this.count) {
      this.share = 0;
      return;
    }
    const begin = this.times[i];
    const share = (time - begin) / (this.times[i + 1] - begin);
    this.share = share > 0 ? Math.min(share, 1) : 0;
  }

  /** The number in a row. */
  get(channel, row) {
    return this.data[channel * this.channelStride + row * this.rowStride];
  }

  /** The number at the located time, between rows on a straight line. */
  at(channel) {
    const k = channel * this.channelStride + this.row * this.rowStride;
    const a = this.data[k];
    return this.share === 0 ? a : a + this.share * (this.data[k + this.rowStride] - a);
  }

  /** An angle at the located time, turned the short way. */
  angleAt(channel) {
    const k = channel * this.channelStride + this.row * this.rowStride;
    const a = this.data[k];
    if (this.share === 0) return a;
    const turn = this.data[k + this.rowStride] - a;
    return a + this.share * (turn - TURN * Math.round(turn / TURN));
  }

  /** An input at the located time: constant from its row on. */
  heldAt(channel) {
    return this.data[channel * this.channelStride + this.row * this.rowStride];
  }
}
