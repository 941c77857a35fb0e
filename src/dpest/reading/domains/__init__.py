"""What values stand for: linear reals and truths, data of any length, records."""
