"""Lowered Programs as WebAssembly, written byte by byte: no compiler, no text format.

`module` puts Programs into a module, `bodies` writes one of them as a function, `dialects` says how
an operation is written with a fused multiply-add and without one, `exact_fma` makes up for it.
"""
