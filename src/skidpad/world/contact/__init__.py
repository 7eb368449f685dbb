"""Contacts in a world: which bodies touch, and the impulses between them."""
