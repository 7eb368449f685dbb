"""Tyre measurements, and fits of a tyre's coefficients to them."""
