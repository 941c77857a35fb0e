"""Calls, objects, decisions and loops of a reading, and what is public."""
