"""Draws that are read as other noise, once all ways through a function are known."""
