"""Optimal driving: the lap of least time of a vehicle on a track.

`transcription` defines an optimal control problem with its compiled derivatives, and makes a
nonlinear program of it on the mesh of a track; `solver` solves it. `vehicle` turns a vehicle on a
track into such a problem, without corners; `lap` solves it, and `sensitivities` differentiates the
solution and optimises parameters.
"""
