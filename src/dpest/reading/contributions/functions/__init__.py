"""Functions of Python and NumPy, draws and choices, on values that are not plain."""
