"""The compiler: from a pure function to machine code in three steps, trace, lower and emit.

No other package depends on the target (LLVM, C, CUDA or WebAssembly).
"""
