"""A vehicle as other libraries want it: CasADi expressions for MPC, JAX functions for learning.

Nothing here holds an equation: each module calls the model's own functions with the symbols or
arrays of its library. `Vehicle.casadi` and `Vehicle.jax` are the front doors.
"""
