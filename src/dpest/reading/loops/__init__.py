"""Functions that pass over data of any length, as finite graphs."""
