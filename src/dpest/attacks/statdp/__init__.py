"""StatDP: counterexamples by hypothesis tests (Ding, Wang, Wang, Zhang and Kifer, CCS 2018)."""

from dpest.attacks.statdp.attack import statdp_attack, statdp_detection

__all__ = ["statdp_attack", "statdp_detection"]
