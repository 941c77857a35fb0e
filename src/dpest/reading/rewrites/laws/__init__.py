"""Noise that is made of noise: each law is one file, all of them are one list."""
