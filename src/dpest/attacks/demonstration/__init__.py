"""The pair and the event that refute a claim with the fewest runs, and a script that does it."""
