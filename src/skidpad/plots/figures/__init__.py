"""Figures, drawn by Matplotlib: a module for each, named after it."""
