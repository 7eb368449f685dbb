"""Foundations of the package: records, models, bodies, policies, checks, files, threads."""
