"""Sums over records: what one record adds, case by case."""
