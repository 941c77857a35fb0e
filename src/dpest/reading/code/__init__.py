"""The code of a function as a control-flow graph of simple instructions."""
