"""Data of any length on the machine: one finite graph for every length, by one pass over them."""
