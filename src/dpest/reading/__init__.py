"""A plain Python function becomes a model: paths at one input, a graph for every length."""
