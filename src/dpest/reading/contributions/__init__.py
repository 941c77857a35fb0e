"""What one record adds: a reading of mechanisms as sums over records, noise, and public values.

The lowered code is executed once for data of every length. A value is a plain one, or a linear form
over symbols; a loop over the records becomes sums of what one record adds, by cases. Whatever is
decided or computed beyond linear forms must be public: a sum with noise is then *made visible*,
as if it were released. The result is a list of passes and of visible rows, which
`proofs.approximate` turns into a bound. What is not understood is refused.
"""
