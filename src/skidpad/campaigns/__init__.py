"""Campaigns: many runs of an experiment, written down, resumable, on one machine or a cluster."""
