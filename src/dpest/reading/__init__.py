"""Reading a function: its code is lowered, and a machine with an explicit state executes it."""
