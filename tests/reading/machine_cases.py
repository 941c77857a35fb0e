"""Functions of odd Python, for the machine: not a test module, so that pytest leaves them alone."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import math

import numpy as np

# ruff: noqa


def views():
    a = np.arange(6.0)
    b = a[1:4]
    b[0] = 9
    c = a.reshape(2, 3)
    c[1, 2] = 7
    d = a[[0, 1]]
    d[0] = 100
    a += 1
    e = a.T
    f = a.copy()
    f[0] = -1
    return a, b, c, d, e, c.shape, a[::2], a[a > 3]


def inplace_int():
    a = np.array([1, 2, 3])
    try:
        a += 0.5
    except Exception as e:
        k = type(e).__name__
    a[0] = 7.9
    a //= 2
    return a, k, a.dtype == np.int64, a / 2


def npfun():
    a = np.array([3.0, 1.0, 2.0])
    return (
        np.sum(a),
        a.mean(),
        np.argmax(a),
        np.sort(a),
        np.cumsum(a),
        np.where(a > 1, a, 0),
        np.clip(a, 1.5, 2.5),
        a.tolist(),
        np.concatenate([a, [1, 2]]),
        np.zeros(2),
        float(a[0]),
        int(a[1]),
    )


@dataclasses.dataclass
class P:
    a: int
    b: list = dataclasses.field(default_factory=list)

    def total(self):
        return self.a + len(self.b)

    def __post_init__(self):
        self.c = self.a * 2


class Color(enum.Enum):
    RED = 1
    BLUE = 2


NT = collections.namedtuple("NT", "u v")


class V:
    def __init__(self, x):
        self.x = x

    def __add__(self, o):
        return V(self.x + (o.x if isinstance(o, V) else o))

    __radd__ = __add__

    def __eq__(self, o):
        return self.x == o.x

    def __lt__(self, o):
        return self.x < o.x

    def __len__(self):
        return self.x

    def __getitem__(self, i):
        if i >= self.x:
            raise IndexError
        return i

    def __iter__(self):
        return iter(range(self.x))

    def __call__(self, z):
        return z * self.x

    def __contains__(self, z):
        return z == self.x

    def __enter__(self):
        self.x += 1
        return self

    def __exit__(self, *a):
        self.x -= 10
        return a[0] is ValueError

    @staticmethod
    def s(q):
        return q + 1

    @classmethod
    def k(cls, q):
        return cls(q)

    @property
    def p(self):
        return self.x

    @p.setter
    def p(self, v):
        self.x = v


def datacls():
    p = P(3)
    p.b.append(1)
    q = P(3, [1])
    n = NT(1, [2])
    return (
        p.total(),
        p == q,
        p.c,
        Color.RED is Color.RED,
        Color.RED.value,
        n.u,
        n.v,
        n[0],
        n._replace(u=5).u if False else 0,
    )


def objects():
    v = V(3)
    w = v + 1 + V(2)
    z = sum([V(1), V(2)], V(0))
    v.p = 5
    out = [
        w.x,
        z.x,
        v == V(5),
        v != V(5),
        V(1) < V(2),
        len(v),
        v[2],
        list(v),
        v(2),
        5 in v,
        V.s(1),
        V.k(4).x,
        v.p,
        bool(V(0)),
        sorted([V(2), V(1)])[0].x,
        max(V(1), V(3)).x,
    ]
    with v as u:
        out.append(u.x)
    try:
        with v:
            raise ValueError
    except ValueError:
        out.append("no")
    out.append(v.x)
    return out


def local_class():
    k = 4

    class A:
        n = 2

        def f(self):
            return self.n + k

    class B(A):
        def __init__(self, m):
            self.m = m

        def f(self):
            return super().f() + self.m

    return B(1).f(), A().f(), isinstance(B(0), A), type(A()) is A


def matching():
    out = []
    for v in (1, "a", [1, 2, 3], {"k": 1, "z": 2}, (1, 2), None, P(7), 2.5):
        match v:
            case 1:
                out.append("one")
            case str():
                out.append("s")
            case [1, 2]:
                out.append("12")
            case [a, *r]:
                out.append((a, r))
            case {"k": q, **rest}:
                out.append((q, rest))
            case None:
                out.append("none")
            case P(a=7):
                out.append("P7")
            case _ if v > 2:
                out.append("big")
            case _:
                out.append("?")
    return out


def gens2():
    def g():
        got = []
        while True:
            v = yield len(got)
            if v is None:
                return got
            got.append(v)

    it = g()
    r = [next(it), it.send(5), it.send(6)]
    try:
        it.send(None)
    except StopIteration as e:
        r.append(e.value)

    def h():
        z = yield from inner()
        yield z

    def inner():
        yield 1
        return 2

    return (
        r,
        list(h()),
        list(itertools.accumulate([1, 2, 3])),
        list(itertools.islice(itertools.count(), 2, 5)),
        functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]),
        dict(zip("ab", (1, 2))),
        list(map(lambda a, b: a + b, [1, 2], [3, 4])),
        list(filter(None, [0, 1, 2])),
        any(v > 2 for v in (1, 3)),
        all([]),
    )


def dicts():
    d = collections.defaultdict(list)
    d["a"].append(1)
    c = collections.Counter("abca")
    e = {"x": 1}
    e.update(y=2)
    e.setdefault("z", []).append(3)
    ks = e.keys()
    e["w"] = 0
    try:
        for k in e:
            e[k + "q"] = 1
    except RuntimeError:
        e["err"] = True
    return (
        dict(d),
        c["a"],
        c["q"],
        e,
        len(ks),
        e.pop("x"),
        e.get("nope", 7),
        list(e.items())[:2],
        {**e, "n": 1},
        1 in {1.0: 2},
        {1, 2} | {3},
        sorted({3, 1, 2}),
        "x" in e,
    )


def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k) + 1

    return w


@deco
def plus(a, b):
    return a + b


def decorated():
    @deco
    def m(a):
        return a * 2

    p = functools.partial(plus, 1, b=4)
    return plus(1, 2), m(3), p(), m.__name__


def scope():
    def outer():
        n = 0

        def inc():
            nonlocal n
            n += 1
            return n

        return inc

    a, b = outer(), outer()
    fs = []
    for i in range(3):
        fs.append(lambda i=i: i)
    gs = [lambda: j for j in range(3)]
    hs = [[(lambda: (i, j)) for j in range(2)] for i in range(2)]

    def rec(n):
        return 1 if n <= 1 else n * rec(n - 1)

    return (
        a(),
        a(),
        b(),
        [f() for f in fs],
        [g() for g in gs],
        [[h() for h in r] for r in hs],
        rec(6),
        [y := 3, y + 1],
        (lambda *a, k=2, **q: (a, k, q))(1, 2, z=3),
    )


def ints():
    return (
        -7 // 2,
        -7 % 3,
        7 // -2,
        divmod(-7, 2),
        2**-1,
        5 & 3,
        6 ^ 2,
        1 << 4,
        ~5,
        round(2.5),
        round(-0.5),
        int(-2.7),
        True + True,
        10 % 3.5,
        abs(-3),
        not [],
        1 == True,
        "a" < "b",
        [1, 2] < [1, 3],
        (1, 2) == (1, 2),
        [1] == (1,),
        None is None,
        3 if [] else 4,
        float("inf") > 1,
        math.sqrt(2),
        min(3, 1, 2),
        sum([[1], [2]], []),
    )


def star():
    a, (b, *c), d = 1, (2, 3, 4), 5
    *e, f = "xyz"
    l = [*range(3), *"ab"]
    s = slice(1, None)
    l[s] = []
    l *= 2
    t = (1,) + (2,) * 2
    l2 = l
    l2 += (9,)
    return (
        a,
        b,
        c,
        d,
        e,
        f,
        l,
        t,
        l is l2,
        [1, 2, 3][::-1],
        "abc"[1],
        l.index(9),
        l.count(0),
        list(reversed([1, 2])),
        [1, 2, 3].pop(0),
    )


def exc():
    out = []

    class E(Exception):
        pass

    def f(n):
        try:
            if n == 0:
                raise E("zero")
            if n == 1:
                raise KeyError
            return "ret"
        except E as e:
            out.append(e.args)
            return "caught"
        finally:
            out.append("fin")
            if n == 1:
                return "override"

    r = [f(0), f(1), f(2)]
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            raise
    except ArithmeticError as e:
        out.append(type(e).__name__)
    try:
        assert 0, "msg"
    except AssertionError as e:
        out.append(str(e) if False else e.args[0])
    try:
        raise ValueError("v") from None
    except (KeyError, ValueError):
        pass
    try:
        e
    except UnboundLocalError:
        out.append("unbound")
    for k in range(3):
        try:
            continue
        finally:
            out.append(k)
    return r, out


CASES = [
    views, inplace_int, npfun, datacls, objects, local_class, matching, gens2, dicts, decorated,
    scope, ints, star, exc,
]  # fmt: skip
