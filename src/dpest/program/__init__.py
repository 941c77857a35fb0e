"""A plain Python function becomes a batch of outputs, or paths.

`batch` runs it many times at once; `trace` follows its noise symbolically. The symbolic values are
in `symbolic`, the arrays of them in `symbolic_arrays`, the generator that draws them in
`generator`, the search through all paths in `forking`.
"""
