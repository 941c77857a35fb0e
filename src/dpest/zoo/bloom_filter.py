"""The Bloom filter of RAPPOR as DP-Sniper ran it, as data.

Hash i of the value v is `mmh3.hash(str(v), seed=i) % 20` (MurmurHash3, 32 bits). The table saves
the dependency; the tests compute it again where mmh3 is installed.
"""

from __future__ import annotations

BITS = 20
HASHES = 4

# value: the bits that its four hashes set (hashes may collide)
SET_BITS: dict[int, tuple[int, ...]] = {
    -10: (2, 1, 2, 4),
    -9: (17, 11, 4, 11),
    -8: (5, 18, 12, 3),
    -7: (4, 11, 17, 17),
    -6: (1, 2, 4, 16),
    -5: (7, 5, 7, 16),
    -4: (4, 8, 6, 14),
    -3: (7, 2, 19, 2),
    -2: (3, 11, 4, 8),
    -1: (18, 11, 17, 15),
    0: (11, 11, 18, 0),
    1: (3, 10, 13, 3),
    2: (11, 19, 10, 7),
    3: (0, 19, 3, 14),
    4: (8, 9, 18, 7),
    5: (0, 14, 6, 11),
    6: (0, 6, 14, 17),
    7: (8, 11, 1, 18),
    8: (7, 10, 18, 6),
    9: (1, 7, 7, 6),
    10: (3, 9, 18, 2),
}
