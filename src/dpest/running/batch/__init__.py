"""Many runs of an unmodified scalar function at once, in array operations."""
