"""A vehicle in other libraries: CasADi expressions for MPC, JAX functions for learning.

No module contains an equation: each calls the model's own functions with the symbols or arrays of
its library. The entry points are `Vehicle.casadi` and `Vehicle.jax`.
"""
