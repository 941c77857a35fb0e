"""DP-Finder: counterexamples by smooth optimisation (Bichsel, Gehr, Drachsler-Cohen, Tsankov and
Vechev, CCS 2018)."""

from dpest.attacks.finder.attack import finder_attack, finder_search
from dpest.attacks.finder.event import PatternEvent, event_mechanism

__all__ = ["PatternEvent", "event_mechanism", "finder_attack", "finder_search"]
