"""The program as a certificate gives it: data, noise, decisions, states and releases."""
