"""Laws beyond the linear: races, softmax, signs, curves, order statistics, returning loops."""
