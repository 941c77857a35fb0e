"""The literature's benchmark: what the papers and tools published, beside what dpest finds."""
