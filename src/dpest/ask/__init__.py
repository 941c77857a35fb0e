"""Domains, adjacency, the literature's patterns, and the search for the worst pair."""
