"""Exact linear arithmetic: forms, polyhedra, feasibility, chances of regions."""
