"""Tasks that come with skidpad, each a function that makes one."""

from .race import race

__all__ = ["race"]
