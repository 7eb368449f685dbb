"""What figures show, as numbers in SI units: nothing here draws."""
