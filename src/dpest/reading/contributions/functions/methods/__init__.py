"""Methods of lists, mappings and arrays."""
