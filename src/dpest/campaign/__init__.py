"""One audit from start to end: which engines answer, in which order, at what cost."""
