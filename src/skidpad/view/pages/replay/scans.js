// Scans of the lidars, each with the time it was taken.

/** How many scans of a live lidar are kept: enough to look back over the last seconds. */
const LIVE_SCANS = 128;

export class ScanStore {
  constructor(lidars) {
    this.lidars = Array.from({ length: lidars }, () => ({ times: [], ranges: null, rays: 0, count: 0 }));
    this.any = false;
  }

  /** All scans of a lidar at once, one after the other in `ranges`. */
  fill(lidar, times, ranges, rays) {
    const count = times.length;
    Object.assign(this.lidars[lidar], { times, ranges, rays, count });
    this.any ||= count > 0;
  }

  /** One more scan of a live lidar; the oldest goes when there is no room. */
  append(lidar, time, ranges) {
    const one = this.lidars[lidar];
    if (!one) return;
    if (one.ranges === null || one.rays !== ranges.length) {
      one.rays = ranges.length;
      one.times = new Float64Array(2 * LIVE_SCANS);
      one.ranges = new Float32Array(2 * LIVE_SCANS * one.rays);
      one.count = 0;
    }
    if (one.count === one.times.length) {
      one.times.copyWithin(0, LIVE_SCANS);
      one.ranges.copyWithin(0, LIVE_SCANS * one.rays);
      one.count = LIVE_SCANS;
    }
    one.times[one.count] = time;
    one.ranges.set(ranges, one.count * one.rays);
    one.count++;
    this.any = true;
  }

  /** Place of the last scan of a lidar at or before a time; -1 where there is none. */
  latest(lidar, time) {
    const { times, count } = this.lidars[lidar];
    let low = -1;
    let high = count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
