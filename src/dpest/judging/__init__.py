"""Judgments of apRHL about Python functions: read, derived, checked by the kernel, or refuted."""
