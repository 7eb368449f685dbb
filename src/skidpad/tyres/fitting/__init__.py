"""Measurements of tyres, and fits of a tyre's coefficients to them."""
