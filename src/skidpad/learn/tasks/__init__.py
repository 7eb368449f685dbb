"""Tasks that come with skidpad, each made by a function."""

from .follow import drift, follow, lane_change
from .park import navigate, park
from .race import race, race_others

__all__ = ["drift", "follow", "lane_change", "navigate", "park", "race", "race_others"]
