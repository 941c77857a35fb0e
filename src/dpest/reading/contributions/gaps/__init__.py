"""Gaps between sorted records: one is chosen by its length and place, and a point of it drawn."""
