"""All that a function can do: decisions, draws, releases, and the one explorer."""
