"""What pandas does with data that have a row per record."""
