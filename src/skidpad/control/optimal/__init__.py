"""Optimal driving: the lap of least time of a vehicle on a track.

`point` has the form of an optimal control problem and its compiled derivatives, `transcription`
makes a nonlinear program of it, `solver` solves it. `vehicle` turns a vehicle on a track into such
a problem, without corners (`corners`), on the mesh of `path`; `lap` solves it.
"""
