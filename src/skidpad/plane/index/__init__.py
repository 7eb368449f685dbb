"""Segments sorted into square cells, for searches that should look at few of them."""
