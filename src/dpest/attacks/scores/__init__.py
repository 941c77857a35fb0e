"""Audits from scores: one number per run that is larger the more it speaks for the first input."""
