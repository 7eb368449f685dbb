"""The bookkeeping of environments as CUDA C: one thread for each row, all kernels alike in their
arguments.

The twin of `environments`: who has ended, who begins anew, what they draw. Sizes and rules are
constants of the text. What is wrong goes into one word, the least of all that was told; once it is
set, nothing moves any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

from ..random.shares import channel_key

NONE = 2**64 - 1
"""The word as long as nothing is wrong."""
OVER, ACTION, DIVERGED, OBSERVATION, START = range(1, 6)
"""What can be wrong; the word is this times 2⁴⁸, the row times 2¹⁶ and the field."""

ARRAYS = {
    "fault": "word", "a": "real", "health": "real", "x": "real", "after": "real", "m": "real",
    "m_after": "real", "w": "real", "w_after": "real", "time": "real", "e": "real", "d": "real",
    "seeds": "word", "episodes": "word", "periods": "word", "steps": "count", "over": "flag",
    "again": "flag", "failed": "flag", "observation": "real", "last": "real", "reward": "real",
    "ended": "real", "terminated": "flag", "truncated": "flag", "contact": "real",
}  # fmt: skip
"""Arguments of all kernels, in this order, and what they are made of. Those of several fields have
the row last in memory, except for observations."""
KERNELS = ("intake", "adopt", "conclude", "anew", "begun")


class Sizes(NamedTuple):
    """What is constant for some environments."""

    rows: int
    agents: int
    states: int
    memory: int
    disturbed: int
    """Numbers of the disturbance if the task sets it in every period, else 0."""
    fields: int
    """Of an observation, without rays."""
    width: int
    """With them."""
    limit: int
    """Control periods of the longest episode."""
    mode: int
    """0, 1, 2: begins anew in the next step, in the same, when told."""
    raises: int
    """1 if what is not finite is an error, 0 if it ends the episode."""


class Draws(NamedTuple):
    """Words of the names of what is drawn."""

    start: Sequence[int]
    noise: Sequence[int]


PHILOX = """\
typedef unsigned long long word;

// The words of a counter by a key, as in `random.kernel`.
static __device__ void philox(word* c, word k0, word k1) {
  const word low = 0xffffffffULL;
  for (int round = 0; round < 10; ++round) {
    const word p0 = c[0] * 0xD2511F53ULL, p1 = c[2] * 0xCD9E8D57ULL;
    c[0] = (p1 >> 32) ^ c[1] ^ k0;
    c[2] = (p0 >> 32) ^ c[3] ^ k1;
    c[1] = p1 & low;
    c[3] = p0 & low;
    k0 = (k0 + 0x9E3779B9ULL) & low;
    k1 = (k1 + 0xBB67AE85ULL) & low;
  }
}
"""

_TEXT = """\
{philox}
typedef {real} real;
typedef long long count;
typedef unsigned char flag;
{sizes}
#define NONE 0xffffffffffffffffULL
#define LARGEST {largest}
static __device__ const word start_words[] = {{{start_words}}};
static __device__ const word noise_words[] = {{{noise_words}}};

static __device__ inline bool is_finite(real value) {{ return value - value == 0; }}

static __device__ inline void tell(word* fault, word what, count row, word field) {{
  atomicMin(fault, what << 48 | (word)row << 16 | field);
}}

static __device__ inline real limited(int field, real value) {{
{limits}
  return value;
}}

static __device__ double share(word seed, word counter, word element, word k0, word k1) {{
  word c[4] = {{counter & 0xffffffffULL, seed >> 32, seed & 0xffffffffULL, element}};
  philox(c, k0, k1);
  return ((double)(count)((c[0] | c[1] << 32) >> 12) + 0.5) * 2.220446049250313e-16;
}}

static __device__ void restart({parameters}, count row) {{
  episodes[row] += 1;
  steps[row] = 0;
  over[row] = 0;
  for (int f = 0; f < ACTIONS; ++f) a[f * ROWS + row] = 0;
  for (int k = 0; k < DRAWS; ++k)
    d[k * ROWS + row] = (real)share(
        seeds[row], episodes[row], start_words[k], {start_key[0]}ULL, {start_key[1]}ULL);
}}

static __device__ void shake({parameters}, count row) {{
  // Agents of a world draw the same starts, and errors of their own.
  const word seed = seeds[row] + ((word)(row % AGENTS) << 40);
  for (int k = 0; k < NOISES; ++k)
    e[k * ROWS + row] = (real)share(
        seed, periods[row], noise_words[k], {noise_key[0]}ULL, {noise_key[1]}ULL);
}}

// Take the actions of a period.
extern "C" __global__ void __launch_bounds__(128) intake(
    const real* __restrict__ actions, {parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  for (int k = 0; k < 3; ++k) health[k * ROWS + row] = 0;
  failed[row] = 0;
  if (*fault != NONE) return;
  if (MODE == 2 && over[row]) tell(fault, 1, row, 0);
  for (int f = 0; f < ACTIONS; ++f) {{
    real value = actions[row * ACTIONS + f];
    if (!is_finite(value)) tell(fault, 2, row, f);
    a[f * ROWS + row] = limited(f, value);
  }}
}}

// After the rollout: move on, except for states that are no longer finite.
extern "C" __global__ void __launch_bounds__(128) adopt({parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  again[row] = 0;
  if (*fault != NONE) return;
  // What only begins anew lets no period pass.
  const bool renewed = MODE == 0 && over[row];
  if (is_finite(health[row]) && is_finite(health[ROWS + row])) {{
    for (int f = 0; f < STATES; ++f) x[f * ROWS + row] = after[f * ROWS + row];
  }} else if (!renewed) {{
    if (RAISES) {{
      tell(fault, 3, row, 0);
      return;
    }}
    failed[row] = 1;
  }}
  if (!renewed) periods[row] += 1;
  steps[row] += 1;
  time[row] = (real)((double)steps[row] * {dt});
  shake({arguments}, row);
  if (renewed) {{
    again[row] = 1;
    restart({arguments}, row);
  }}
}}

static __device__ bool seen({parameters}, count row) {{
  real* values = observation + row * WIDTH;
  // If one ray is not finite, none of them is.
  for (int f = 0; f < FIELDS + (WIDTH > FIELDS); ++f) {{
    if (is_finite(values[f])) continue;
    if (RAISES) tell(fault, 4, row, f);
    return false;
  }}
  return true;
}}

static __device__ void cleared(real* values) {{
  for (int f = 0; f < WIDTH; ++f) {{
    const real value = values[f];
    if (!is_finite(value)) values[f] = value != value ? (real)0 : value > 0 ? LARGEST : -LARGEST;
  }}
}}

// After the verdict: one thread for each world, whose vehicles stop together.
extern "C" __global__ void __launch_bounds__(128) conclude({parameters}) {{
  const count world = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (world >= ROWS / AGENTS) return;
  if (*fault != NONE) return;
  bool any = false;
  for (count row = world * AGENTS; row < (world + 1) * AGENTS; ++row) {{
    if (again[row]) {{
      reward[row] = 0;
      terminated[row] = truncated[row] = 0;
      continue;
    }}
    bool stops = ended[row] > (real)0.5 || failed[row];
    if (failed[row]) reward[row] = 0;
    if (!seen({arguments}, row)) {{
      stops = true;
      if (!RAISES) cleared(observation + row * WIDTH);
    }}
    for (int f = 0; f < MEMORY; ++f) m[f * ROWS + row] = m_after[f * ROWS + row];
    for (int f = 0; f < DISTURBED; ++f) w[f * ROWS + row] = w_after[f * ROWS + row];
    terminated[row] = stops;
    truncated[row] = steps[row] >= LIMIT;
    any = any || terminated[row] || truncated[row];
  }}
  for (count row = world * AGENTS; row < (world + 1) * AGENTS; ++row) {{
    if (again[row]) continue;
    if (AGENTS > 1) truncated[row] = any && !terminated[row];
    over[row] = terminated[row] || truncated[row];
    if (MODE != 1 || !over[row]) continue;
    again[row] = 1;
    for (int f = 0; f < WIDTH; ++f) last[row * WIDTH + f] = observation[row * WIDTH + f];
    restart({arguments}, row);
  }}
}}

// Begin anew where that was asked for.
extern "C" __global__ void __launch_bounds__(128) anew({parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row >= ROWS || !again[row]) return;
  restart({arguments}, row);
  shake({arguments}, row);
}}

// After the first look.
extern "C" __global__ void __launch_bounds__(128) begun({parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row < ROWS && again[row] && contact[row] > (real)0.5) tell(fault, 5, row, 0);
}}
"""


def source(
    precision: str,
    sizes: Sizes,
    dt: float,
    bounds: tuple[Sequence[float], Sequence[float]],
    draws: Draws,
) -> str:
    """CUDA C with the kernels of `KERNELS`; `bounds` are those of the actions."""
    whole: dict[str, Any] = {name.upper(): value for name, value in sizes._asdict().items()}
    whole["ROWS"] = f"{sizes.rows}LL"
    whole |= {"ACTIONS": len(bounds[0]), "DRAWS": len(draws.start), "NOISES": len(draws.noise)}
    return _TEXT.format(
        philox=PHILOX,
        real={"float32": "float", "float64": "double"}[precision],
        largest={"float32": "3.4028234663852886e+38f", "float64": "1.7976931348623157e+308"}[
            precision
        ],
        sizes="\n".join(f"#define {name} {value}" for name, value in whole.items()),
        limits="\n".join(_limits(*bounds)),
        # An array of C has at least one element.
        start_words=", ".join(f"{word}ULL" for word in draws.start) or "0",
        noise_words=", ".join(f"{word}ULL" for word in draws.noise) or "0",
        start_key=channel_key("learn.start"),
        noise_key=channel_key("learn.noise"),
        dt=repr(dt),
        parameters=", ".join(f"{kind}* {name}" for name, kind in ARRAYS.items()),
        arguments=", ".join(ARRAYS),
    )


def _limits(lowest: Sequence[float], highest: Sequence[float]) -> list[str]:
    """Statements that cut a field off at its bounds; what is not a number stays."""
    lines: list[str] = []
    for field, ends in enumerate(zip(lowest, highest, strict=True)):
        for sign, bound in zip("<>", ends, strict=True):
            if isfinite(bound):
                end = f"(real){bound!r}"
                lines.append(f"  if (field == {field} && value {sign} {end}) value = {end};")
    return lines
