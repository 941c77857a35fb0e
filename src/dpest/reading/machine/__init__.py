"""The machine: it executes code on an explicit state, one instruction after the other."""
