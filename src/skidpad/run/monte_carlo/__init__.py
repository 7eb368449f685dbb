"""Monte Carlo: many runs of one vehicle under drawn disturbances, and what they say.

`Fleet.monte_carlo` runs them; see docs/monte_carlo.md.
"""

from .intervals import Probability, proportion
from .result import Case, MonteCarlo

__all__ = ["Case", "MonteCarlo", "Probability", "proportion"]
