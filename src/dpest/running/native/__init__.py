"""Runs as native loops: a function's lowered code, compiled for a core or a GPU."""
