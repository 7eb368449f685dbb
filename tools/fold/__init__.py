"""Parts of `tools/fold_modules.py`, which merges and moves modules of the package."""
