"""Functions as programs of a small while language: structure kept, branches merged, replayed.

The machine gives the paths of a function; a program keeps its statements. Judgments are derived on
them, and DP-Finder smooths them: neither grows with the number of paths.
"""
