"""Pure kernels with small ports: the parts that vehicles are put together from.

Each kernel is a plain function of scalars and records, written with `skidpad.ops` and arithmetic,
so that floats, NumPy, CasADi and JAX values pass through it. Frames and signs are ISO 8855.
Divisions by parameters are written as a multiplication by the parameter's reciprocal: that part
depends on no state, so compiled code evaluates it once per rollout instead of once per stage.
"""
