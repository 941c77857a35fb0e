"""What Python does with values that depend on the length of the data."""
