"""StatDP: counterexamples by hypothesis tests (Ding, Wang, Wang, Zhang and Kifer, CCS 2018)."""
