"""Certificates as Coq files: instances of the theorems in `formal/`."""
