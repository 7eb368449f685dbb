"""Tasks that come with skidpad, each made by a function."""

from .drift import drift
from .follow import follow
from .lane_change import lane_change
from .navigate import navigate
from .park import park
from .race import race
from .race_others import race_others

__all__ = ["drift", "follow", "lane_change", "navigate", "park", "race", "race_others"]
