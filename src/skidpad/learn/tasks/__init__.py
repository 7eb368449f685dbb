"""Tasks that come with skidpad, each a function that makes one."""

from .park import park
from .race import race

__all__ = ["park", "race"]
