"""Every outcome of every draw: finite mechanisms by exact chances."""
