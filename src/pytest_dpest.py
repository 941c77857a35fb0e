"""The pytest plugin of dpest."""
