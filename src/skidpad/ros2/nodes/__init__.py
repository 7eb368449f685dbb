"""What the nodes simulate and publish; each knows names and messages, and no middleware."""

__all__: list[str] = []
