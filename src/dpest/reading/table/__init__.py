"""What functions of Python, NumPy, SciPy and random do: one table, one entry per function."""
