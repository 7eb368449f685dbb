"""Lowered Programs as WebAssembly, written byte by byte: no compiler, no text format.

`module` puts Programs into a module, `bodies` writes one of them as a function, `dialects` defines
how an operation is written with and without a fused multiply-add, and `multiply_add` emulates the
missing one.
"""
