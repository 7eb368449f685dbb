"""Which edges of things that move are worth handing to a scan: those that it could meet."""

from __future__ import annotations

from typing import Any

from .compiled import kernel


@kernel(
    "int64(float64[:, ::1], int64[::1], boolean[:, ::1], float64[:, ::1], float64[:, :, ::1],"
    " int64[::1])"
)
def gather_facing(edges: Any, begin: Any, near: Any, poses: Any, out: Any, counts: Any) -> int:
    """Put the edges that show each of some sensors the outside of what they enclose into `out`.

    Thing k has the `edges` (E, 4) from `begin[k]` up to `begin[k + 1]`, which run to the left
    around its inside, so that the outside is to their right. `near` (B, things) says which of them
    each sensor at `poses` (B, 3) could reach. Row b of `out` (B, E, 4) gets `counts[b]` edges, and
    up to the largest of these, which is returned, segments without length.
    """
    most = 0
    for b in range(len(poses)):
        x, y = poses[b, 0], poses[b, 1]
        count = 0
        for thing in range(len(begin) - 1):
            if not near[b, thing]:
                continue
            for e in range(begin[thing], begin[thing + 1]):
                x0, y0, x1, y1 = edges[e, 0], edges[e, 1], edges[e, 2], edges[e, 3]
                if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) < 0.0:
                    out[b, count, 0], out[b, count, 1] = x0, y0
                    out[b, count, 2], out[b, count, 3] = x1, y1
                    count += 1
        counts[b] = count
        most = max(most, count)
    for b in range(len(poses)):
        for at in range(counts[b], most):
            for k in range(4):
                out[b, at, k] = 0.0
    return most
