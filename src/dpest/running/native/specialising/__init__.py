"""A function's lowered code, executed on what is known now: the rest becomes steps of a kernel."""
