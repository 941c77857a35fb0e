"""DP-Finder: counterexamples by smooth optimisation (Bichsel, Gehr, Drachsler-Cohen, Tsankov and
Vechev, CCS 2018)."""
