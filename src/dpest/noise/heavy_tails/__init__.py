"""Noise whose tails fall like a power: an integral over it needs a far longer way."""
