"""Tasks that come with skidpad, each a function that makes one."""

from .navigate import navigate
from .park import park
from .race import race
from .race_others import race_others

__all__ = ["navigate", "park", "race", "race_others"]
