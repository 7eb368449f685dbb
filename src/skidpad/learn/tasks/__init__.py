"""Tasks that come with skidpad, each a function that makes one."""

from .drift import drift
from .follow import follow
from .lane_change import lane_change
from .race import race

__all__ = ["drift", "follow", "lane_change", "race"]
