"""The output distribution of one input: its cells, and the parts that are independent."""
