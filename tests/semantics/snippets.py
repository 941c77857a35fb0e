"""Odd Python, one small function each: bodies that end in a value, or in an error.

`SNIPPETS` maps a name to the source of a function `snippet()`. What it gives in CPython is what it
must give in the machine, or the machine refuses it.
"""

from __future__ import annotations

import textwrap

BODIES: dict[str, str] = {}


def family(name: str, text: str) -> None:
    """Bodies, one after the other, with an empty line in between."""
    for number, body in enumerate(textwrap.dedent(text).strip().split("\n\n")):
        BODIES[f"{name} {number}"] = body


def table(name: str, template: str, *columns: list[str]) -> None:
    """One body for each combination."""
    rows: list[list[str]] = [[]]
    for column in columns:
        rows = [[*row, entry] for row in rows for entry in column]
    for row in rows:
        body = template
        for place, entry in zip("ABCD", row, strict=False):
            body = body.replace(f"<{place}>", entry)
        BODIES[f"{name} {' '.join(row)}"] = body


family(
    "order",
    """
    log = []
    def say(v):
        log.append(v)
        return v
    say(1) + say(2) * say(3)
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    {say("k"): say("v"), say("l"): say("w")}
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    def f(*args, **named):
        return args, named
    f(say(1), *say([2, 3]), a=say(4), **say({"b": 5}))
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    a = [0, 0]
    a[say(0)] = say(9)
    return log, a

    log = []
    def say(v):
        log.append(v)
        return v
    say(1) < say(2) < say(1) < say(5)
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    x = [say(i) for i in say([1, 2]) if say(i > 1)]
    return log, x

    log = []
    def say(v):
        log.append(v)
        return v
    x = say("yes") if say(False) else say("no")
    return log, x

    log = []
    def target():
        log.append("target")
        return [0]
    def value():
        log.append("value")
        return 1
    target()[0] += value()
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    def f(a=say(1), b=say(2)):
        return a + b
    log.append("defined")
    return f(), f(), log

    i = 0
    a = [10, 20, 30]
    i, a[i] = 1, 99
    return i, a

    a, b = 1, 2
    a, b = b, a
    return a, b

    a = b = []
    a.append(1)
    return b, a is b

    a = [1, 2, 3]
    a[0], a[1], a[2] = a[2], a[0], a[1]
    return a

    x = 5
    y = (x := x + 1) + x
    return x, y

    log = []
    def say(v):
        log.append(v)
        return v
    say(0) and say(1) or say(2)
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    [say(1), say(2)][say(0)]
    return log

    log = []
    def say(v):
        log.append(v)
        return v
    lambda: say(1)
    (lambda: say(2))()
    return log

    def f(x, y=[]):
        y.append(x)
        return list(y)
    return f(1), f(2), f(3, [0])

    log = []
    for log_i in range(3):
        log.append(log_i)
        log_i = 10
    return log, log_i

    a = [1, 2, 3, 4]
    for v in a:
        if v == 2:
            a.remove(v)
    return a

    n = 3
    r = range(n)
    n = 10
    return list(r)

    d = {}
    d["x"] = d.get("x", 0) + 1
    d["x"] = d.get("x", 0) + 1
    return d

    x = 1
    def f():
        return x
    x = 2
    return f()

    a = [0, 1, 2]
    a[1:2] = [7, 8, 9]
    return a

    a = list(range(6))
    del a[1:3]
    return a
    """,
)

family(
    "alias",
    """
    a = [[0]] * 3
    a[0].append(1)
    return a

    a = [[0] for _ in range(3)]
    a[0].append(1)
    return a

    a = [1, 2]
    b = a
    b += [3]
    return a

    a = [1, 2]
    b = a
    b = b + [3]
    return a, b

    a = (1, [2])
    b = a
    b[1].append(3)
    return a

    d = {"k": []}
    e = dict(d)
    e["k"].append(1)
    e["l"] = 2
    return d, e

    a = [1, 2, 3]
    b = a[:]
    b[0] = 9
    return a, b

    a = [1, [2]]
    b = list(a)
    b[1].append(3)
    return a

    def f(x):
        x.append(1)
        x = []
        x.append(2)
        return x
    a = []
    return f(a), a

    def f(x):
        x += [1]
        return x
    a = [0]
    return f(a), a

    def f(x):
        x = x + [1]
        return x
    a = [0]
    return f(a), a

    def f(x):
        x += 1
        return x
    a = 0
    return f(a), a

    a = []
    a.append(a)
    return len(a), a[0] is a

    a = {"x": [1]}
    b = a["x"]
    a["x"] = [2]
    b.append(3)
    return a, b

    s = {1}
    t = s
    t |= {2}
    return s

    s = {1}
    t = s
    t = t | {2}
    return s

    a = [3, 1, 2]
    b = sorted(a)
    a.sort()
    return a is b, a == b

    a = [1, 2]
    a *= 2
    b = a
    b *= 2
    return a

    t = (1, 2)
    u = t
    u += (3,)
    return t, u

    a = [1, 2, 3]
    b = a[::-1]
    a.reverse()
    return a == b, a is b

    x = y = 0
    x += 1
    return x, y

    a = [[1], [2]]
    for inner in a:
        inner += [0]
    return a

    a = [1, 2]
    for v in a:
        v += 10
    return a

    d = dict.fromkeys(["a", "b"], [])
    d["a"].append(1)
    return d

    a = [0] * 3
    b = [a] * 2
    b[0][0] = 1
    return b

    a, *b = [1, 2, 3]
    c = b
    c.append(4)
    return a, b

    a = [1, 2, 3]
    i = iter(a)
    next(i)
    a.append(4)
    return list(i)

    a = [1]
    b = (a, a)
    b[0].append(2)
    return b
    """,
)

family(
    "closure",
    """
    fs = [lambda: i for i in range(3)]
    return [f() for f in fs]

    fs = [lambda i=i: i for i in range(3)]
    return [f() for f in fs]

    fs = []
    for i in range(3):
        def f():
            return i
        fs.append(f)
    return [f() for f in fs]

    def make(n):
        def add(m):
            return n + m
        return add
    return make(1)(2), make(10)(2)

    def counter():
        n = 0
        def step():
            nonlocal n
            n += 1
            return n
        return step
    a, b = counter(), counter()
    return a(), a(), b()

    def outer():
        x = 1
        def inner():
            x = 2
            return x
        return inner(), x
    return outer()

    def outer():
        x = 1
        def inner():
            nonlocal x
            x = 2
        inner()
        return x
    return outer()

    def f():
        return x
    try:
        return f()
    except NameError:
        return "unbound"
    x = 1

    x = 1
    def f():
        x = x + 1
        return x
    try:
        return f()
    except UnboundLocalError:
        return "unbound"

    def f(n):
        return 1 if n == 0 else n * f(n - 1)
    return f(10)

    def even(n):
        return True if n == 0 else odd(n - 1)
    def odd(n):
        return False if n == 0 else even(n - 1)
    return even(7), odd(7)

    x = 10
    return [x for x in range(3)], x

    y = 2
    return [y * v for v in [1, 2]], (lambda v: y * v)(5)

    def apply(f, *args):
        return f(*args)
    return apply(max, 1, 5, 3), apply(lambda a, b: a - b, 1, 2)

    def compose(f, g):
        return lambda x: f(g(x))
    return compose(lambda x: x + 1, lambda x: x * 2)(5)

    def f(a, b=2, *c, d, e=5, **g):
        return a, b, c, d, e, g
    return f(1, d=4), f(1, 3, 9, 8, d=4, z=0)

    def f(a, /, b, *, c):
        return a, b, c
    return f(1, b=2, c=3)

    def f(a, /):
        return a
    try:
        return f(a=1)
    except TypeError:
        return "positional"

    def f(a):
        return a
    try:
        return f()
    except TypeError:
        return "missing"

    def f(**kw):
        kw["a"] = 2
        return kw
    d = {"a": 1}
    return f(**d), d

    def f(*args):
        return args
    a = [1, 2]
    return f(*a, *a), f(*"ab"), f(*{"k": 1})

    acc = []
    def walk(n):
        if n:
            walk(n - 1)
            acc.append(n)
            walk(n - 1)
    walk(3)
    return acc

    def f():
        pass
    return f()

    from functools import partial
    def f(a, b, c=0):
        return a, b, c
    g = partial(f, 1, c=5)
    return g(2), g(3, c=6)

    from functools import reduce
    return reduce(lambda a, b: a * 10 + b, [1, 2, 3]), reduce(lambda a, b: a + b, [], 7)

    from heapq import nlargest, nsmallest
    pairs = [(2, "a"), (1, "b"), (2, "c"), (0, "d")]
    most = nlargest(2, pairs, key=lambda p: p[0])
    return most, nsmallest(3, pairs), nlargest(-1, [1, 2]), nsmallest(9, [3, 1])

    import heapq
    most = heapq.nlargest(2, (v % 5 for v in range(12)))
    return most, heapq.nsmallest(0, [1]), heapq.nsmallest(1, {4, 2})

    def deco(f):
        def wrapper(*args):
            return f(*args) + 1
        return wrapper
    @deco
    @deco
    def g(x):
        return x
    return g(1)

    import functools
    def deco(f):
        @functools.wraps(f)
        def wrapper(x):
            return -f(x)
        return wrapper
    @deco
    def g(x):
        return x
    return g(3)
    """,
)

family(
    "error",
    """
    def f():
        try:
            return 1
        finally:
            return 2
    return f()

    log = []
    def f():
        try:
            log.append("try")
            return log
        finally:
            log.append("finally")
    return f()

    def f():
        for i in range(3):
            try:
                continue
            finally:
                if i == 1:
                    break
        return i
    return f()

    try:
        raise ValueError("a")
    except ValueError:
        r = "caught"
    else:
        r = "else"
    finally:
        s = "finally"
    return r, s

    try:
        r = 1
    except ValueError:
        r = 2
    else:
        r = 3
    return r

    try:
        try:
            1 / 0
        finally:
            x = 5
    except ZeroDivisionError:
        return x

    def f():
        try:
            1 / 0
        except ZeroDivisionError:
            raise KeyError("k")
    try:
        f()
    except KeyError:
        return "key"

    def f():
        try:
            raise ValueError
        except (KeyError, ValueError):
            return "either"
    return f()

    try:
        [][0]
    except LookupError:
        return "lookup"

    try:
        {}["a"]
    except KeyError:
        return "key"

    try:
        int("x")
    except ValueError:
        return "value"

    return [][0]

    return {}["missing"]

    return 1 / 0

    return 1 // 0

    return 1.0 % 0

    raise RuntimeError("on purpose")

    assert False, "never"

    assert 1 == 1
    return "went on"

    try:
        raise ValueError("a") from KeyError("b")
    except ValueError as error:
        return type(error).__name__

    def f():
        try:
            raise ValueError
        except ValueError as e:
            pass
        try:
            return e
        except UnboundLocalError:
            return "gone"
    return f()

    log = []
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            log.append(i)
        finally:
            log.append("f")
    return log

    def f(n):
        while True:
            try:
                n -= 1
                if n < 0:
                    break
                1 / n
            except ZeroDivisionError:
                return "zero", n
    return f(3)

    class Own(Exception):
        def __init__(self, code):
            super().__init__(code)
            self.code = code
    try:
        raise Own(7)
    except Own as error:
        return error.code

    class Base(Exception):
        pass
    class Derived(Base):
        pass
    try:
        raise Derived
    except Base:
        return "base"

    try:
        try:
            raise KeyError
        except ValueError:
            return 1
    except KeyError:
        return 2

    def f():
        try:
            raise ValueError
        except ValueError:
            try:
                raise KeyError
            except KeyError:
                pass
            raise
    try:
        f()
    except ValueError:
        return "the outer one"

    x = [1]
    try:
        x.append(2)
        x[5]
        x.append(3)
    except IndexError:
        x.append(4)
    return x

    a, b = [1, 2, 3]

    a, b = 1

    return "a" + 1

    return None + 1

    return undefined_name

    return (1).missing

    next(iter([]))

    return [1, 2].index(3)

    return max([])

    return sum([1, "a"])

    class C:
        def __enter__(self):
            return 5
        def __exit__(self, *error):
            return True
    with C() as v:
        raise ValueError
    return v

    log = []
    class C:
        def __init__(self, name):
            self.name = name
        def __enter__(self):
            log.append("in " + self.name)
            return self
        def __exit__(self, kind, value, trace):
            log.append("out " + self.name)
            return False
    with C("a"), C("b"):
        log.append("body")
    return log

    log = []
    class C:
        def __enter__(self):
            return self
        def __exit__(self, kind, value, trace):
            log.append(kind is None)
    def f():
        with C():
            return 1
    return f(), log

    from contextlib import suppress
    with suppress(ZeroDivisionError):
        1 / 0
    return "on"
    """,
)

family(
    "generator",
    """
    def g():
        yield 1
        yield 2
    return list(g())

    def g(n):
        for i in range(n):
            yield i * i
    return sum(g(4)), list(g(0))

    def g():
        x = yield 1
        yield x
    it = g()
    return next(it), it.send(5)

    def g():
        yield 1
        return 2
    def h():
        r = yield from g()
        yield r
    return list(h())

    def g():
        try:
            yield 1
        finally:
            log.append("closed")
    log = []
    for v in g():
        pass
    return log

    def g():
        i = 0
        while True:
            yield i
            i += 1
    out = []
    for v in g():
        if v > 3:
            break
        out.append(v)
    return out

    it = (v * v for v in [1, 2, 3])
    return next(it), list(it), list(it)

    a = [1, 2, 3]
    it = (v for v in a)
    a.append(4)
    return list(it)

    log = []
    def g():
        log.append("start")
        yield 1
    it = g()
    log.append("made")
    next(it)
    return log

    def g():
        yield
    return list(g())

    it = iter([1, 2, 3])
    return [(a, b) for a, b in zip(it, it)]

    it = iter(range(5))
    return [next(it), next(it)], list(it)

    it = iter([])
    return next(it, "default")

    a = [1, 2, 3]
    return list(zip(a, a[1:])), list(zip(a, [1])), list(zip())

    return list(enumerate("ab", 1)), list(map(lambda a, b: a + b, [1, 2], [10, 20, 30]))

    return list(filter(None, [0, 1, "", "a", [], [0]])), list(reversed([1, 2, 3]))

    def g():
        for i in range(3):
            for j in range(i):
                yield i, j
    return list(g())

    return any(v > 1 for v in [0, 2, 1 / 1]), all(v for v in [])

    def g(n):
        if n:
            yield n
            yield from g(n - 1)
    return list(g(4))

    import itertools
    return list(itertools.accumulate([1, 2, 3])), list(itertools.chain([1], (2,), [3]))

    import itertools
    return list(itertools.islice(itertools.count(3), 4))

    import itertools
    return list(itertools.product([0, 1], repeat=2)), list(itertools.combinations([1, 2, 3], 2))

    return [x for x in range(10) if x % 2 if x > 3]

    return [(x, y) for x in range(3) for y in range(x)], {x: x * x for x in range(3)}

    return sorted({x % 3 for x in range(7)}), [[y for y in range(x)] for x in range(3)]

    return min((v for v in [3, 1, 2]), default=0), max([], default="none")

    x = [1, 2, 3]
    return sum(v for v in x), sum([[1], [2]], [])
    """,
)

family(
    "array",
    """
    a = np.arange(5)
    b = a[1:3]
    b[0] = 99
    return a

    a = np.arange(5)
    b = a[[1, 2]]
    b[0] = 99
    return a, b

    a = np.arange(5)
    b = a[a > 2]
    b[0] = 99
    return a

    a = np.arange(6.0)
    b = a.reshape(2, 3)
    b[0, 0] = 7
    return a

    a = np.arange(4.0)
    b = a
    b += 1
    return a

    a = np.arange(4.0)
    b = a
    b = b + 1
    return a, b

    a = np.arange(4.0)
    a[1:] += 10
    return a

    a = np.arange(4.0)
    a[::2] *= -1
    return a

    a = np.zeros(3)
    a[1] = 5
    b = a.copy()
    b[0] = 1
    return a, b

    a = np.arange(4)
    a[a > 1] = 0
    return a

    a = np.arange(3.0)
    b = np.asarray(a)
    b[0] = 9
    return a

    a = np.arange(3.0)
    b = np.array(a)
    b[0] = 9
    return a

    a = np.arange(4.0)
    for v in a:
        v += 1
    return a

    a = np.zeros((2, 2))
    for row in a:
        row += 1
    return a

    a = np.zeros((2, 2))
    a[0] = [1, 2]
    return a.T, a.sum(axis=0), a.sum(axis=1)

    a = np.arange(3)
    a = a / 2
    return a

    a = np.arange(3)
    try:
        a += 0.5
    except TypeError:
        return "no cast"

    a = np.ones(3)
    b = a[:2]
    a[:] = 7
    return b

    a = np.arange(3.0)
    l = list(a)
    l[0] = 5
    return a, len(l)

    a = np.arange(6).reshape(2, 3)
    return a[1, 2], a[:, 1], a[0], a[-1, ::-1]

    a = np.array([1, 2, 3])
    return a.sum(), a.mean(), a.max(), a.argmax(), a.cumsum()

    a = np.array([3.0, 1.0, 2.0])
    return np.sort(a), a, np.argsort(a)

    a = np.array([3.0, 1.0, 2.0])
    a.sort()
    return a

    a = np.array([1.0, 2.0])
    return a * a, a @ a, a ** 2, -a, a > 1

    a = np.array([1, 2])
    b = np.array([[1], [2]])
    return a + b

    a = np.array([True, False])
    return ~a, a & True, a.any(), a.all(), a.sum()

    a = np.array([1.5, -1.5])
    return np.floor(a), np.round(a), np.abs(a), np.sign(a)

    return np.where(np.array([1, -1]) > 0, 5, 6), np.clip(np.array([0.0, 9.0]), 1, 3)

    a = np.array([1, 2, 3])
    return a.tolist(), [type(v).__name__ for v in a.tolist()]

    a = np.zeros(2)
    b = [a, a]
    b[0][0] = 1
    return b[1]

    a = np.arange(4)
    return a[1:][1:], a[1:][0]

    a = np.arange(3.0)
    def f(x):
        x *= 2
        return x.sum()
    return f(a), f(a)

    a = np.arange(3.0)
    def f(x):
        x = x * 2
        return x.sum()
    return f(a), f(a)

    a = np.array([1.0, np.nan])
    return a == a, np.isnan(a).any()

    return np.concatenate([np.zeros(1), np.ones(2)]), np.append(np.zeros(1), 2)

    return len(np.zeros((3, 2))), np.zeros((3, 2)).shape, np.zeros(0).size

    a = np.arange(3)
    if a.any():
        return "some"

    if np.arange(3):
        return "ambiguous"

    a = np.arange(3)
    x, y, z = a
    return x + y + z

    return np.bincount(np.array([0, 1, 1])), np.cumsum([1, 2, 3])
    """,
)

family(
    "class",
    """
    class C:
        n = 0
        def __init__(self):
            self.n += 1
    a, b = C(), C()
    return a.n, b.n, C.n

    class C:
        items = []
        def add(self, v):
            self.items.append(v)
    a, b = C(), C()
    a.add(1)
    b.add(2)
    return a.items

    class C:
        def __init__(self, v):
            self.v = v
        def __add__(self, other):
            return C(self.v + other.v)
        def __eq__(self, other):
            return self.v == other.v
    return (C(1) + C(2)).v, C(1) == C(1), C(1) != C(2)

    class A:
        def f(self):
            return "A"
    class B(A):
        def f(self):
            return "B" + super().f()
    return B().f()

    class A:
        def f(self):
            return self.g()
        def g(self):
            return 1
    class B(A):
        def g(self):
            return 2
    return B().f()

    class C:
        @property
        def x(self):
            return 5
        @staticmethod
        def s(v):
            return v
        @classmethod
        def c(cls):
            return cls.__name__
    return C().x, C.s(1), C().s(2), C.c()

    class C:
        def __len__(self):
            return 0
    return bool(C()), not C()

    class C:
        def __getitem__(self, i):
            return i * 2
    return C()[3], C()["a"]

    class C:
        def __call__(self, v):
            return v + 1
    return C()(1), list(map(C(), [1, 2]))

    class C:
        def __iter__(self):
            return iter([1, 2])
        def __contains__(self, v):
            return v == 5
    return list(C()), 5 in C(), 1 in C()

    class C:
        pass
    a = C()
    a.x = 1
    b = a
    b.x = 2
    return a.x

    import dataclasses
    @dataclasses.dataclass
    class D:
        a: int
        b: int = 2
    d = D(1)
    return d.a, d.b, D(1) == D(1, 2), D(1) == D(2)

    from collections import namedtuple
    P = namedtuple("P", "x y")
    p = P(1, 2)
    return p.x, p[1], p == (1, 2), p._replace(x=5).x

    class C:
        def __lt__(self, other):
            return True
    return C() < C(), C() > C()

    class C:
        def __init__(self):
            self.log = []
        def a(self):
            self.log.append("a")
            return self
    return C().a().a().log

    class C:
        x = 1
        y = x + 1
    return C.y

    class C:
        def __bool__(self):
            return False
    return "yes" if C() else "no"

    class C:
        def __eq__(self, other):
            return True
    return C() == 5, C() in [5], [C()] == [7]

    class Stack:
        def __init__(self):
            self._items = []
        def push(self, v):
            self._items.append(v)
        def pop(self):
            return self._items.pop()
    s = Stack()
    s.push(1)
    s.push(2)
    return s.pop(), s.pop()

    class C:
        def __setattr__(self, name, value):
            super().__setattr__(name, value * 2)
    c = C()
    c.v = 3
    return c.v
    """,
)

family(
    "match",
    """
    match [1, 2, 3]:
        case [a, *rest]:
            return a, rest

    match (1, 2):
        case [1, x] if x > 5:
            return "big"
        case [1, x]:
            return "small", x

    match {"k": 1, "l": 2}:
        case {"k": v, **rest}:
            return v, rest

    match 5:
        case 1 | 2:
            return "low"
        case int(x):
            return "int", x

    match "a":
        case "b":
            return 1
        case _:
            return 2

    match None:
        case None:
            return "none"

    match [1, [2, 3]]:
        case [a, [b, c]]:
            return a + b + c

    match 3:
        case 4:
            r = 1
    try:
        return r
    except UnboundLocalError:
        return "nothing"

    match (1, 2):
        case (a, b) as whole:
            return whole, a

    match "ab":
        case [a, b]:
            return "sequence"
        case str():
            return "text"
    """,
)

family(
    "loop",
    """
    for i in range(3):
        pass
    else:
        i = "else"
    return i

    for i in range(3):
        if i == 1:
            break
    else:
        i = "else"
    return i

    n = 0
    while n < 3:
        n += 1
    else:
        n = 10
    return n

    for i in []:
        pass
    else:
        return "empty"

    out = []
    for i in range(3):
        for j in range(3):
            if j == 1:
                continue
            if i == 2:
                break
            out.append((i, j))
    return out

    for k, v in {"a": 1, "b": 2}.items():
        pass
    return k, v

    total = 0
    for i, (a, b) in enumerate([(1, 2), (3, 4)]):
        total += i * a + b
    return total

    x = 10
    while x:
        x -= 3
        if x < 0:
            break
    return x

    out = []
    i = 0
    while True:
        i += 1
        if i % 2:
            continue
        out.append(i)
        if i > 6:
            break
    return out

    a = [1, 2, 3]
    out = []
    while a:
        out.append(a.pop())
    return out, a

    a = [5, 3, 8]
    best = None
    for i, v in enumerate(a):
        if best is None or v > a[best]:
            best = i
    return best

    for i in range(5, 0, -2):
        last = i
    return last, list(range(5, 0, -2)), list(range(0))

    d = {"a": 1}
    for k in list(d):
        d[k + "x"] = 2
    return d

    d = {"a": 1, "b": 2}
    for k in d:
        d[k] += 1
    return d

    d = {"a": 1}
    for k in d:
        d[k + "x"] = 2
    return d
    """,
)

family(
    "text",
    """
    return f"{1 + 1}{'a'!r}{3.14159:.2f}{5:03d}"

    return "%s and %d" % ("a", 3), "{} {k}".format(1, k=2)

    return "a,b,,c".split(","), " x ".strip(), "ab".upper(), "a" * 3

    return "abc"[::-1], "abc"[1], "abc"[-1:], "abc"[5:]

    return ",".join(map(str, [1, 2])), "b" in "abc", "abc".find("z")

    x = 5
    return f"{x=}", f"{x!s:>4}", f"{{}}"

    return str(1.0), str(True), repr("a"), str(None), str([1, "a"])

    return "a" < "b", "a" < "B", "" < "a", sorted("bca")

    return "abc".replace("b", ""), "a b".partition(" "), "x".isdigit()
    """,
)

NUMBERS = ["7", "-7", "0", "2.5", "-2.5", "True"]
table("divide", "return (<A>) // (<B>), (<A>) % (<B>)", ["7", "-7", "7.5", "-7.5", "0", "True"],
      ["2", "-2", "3", "-3", "2.0", "-0.5"])  # fmt: skip
table("divmod", "return divmod(<A>, <B>)", ["-7", "7", "-7.5"], ["2", "-2", "0"])
table(
    "compare", "return (<A>) == (<B>), (<A>) < (<B>), (<A>) is (<A>)", NUMBERS, ["0", "7", "-2.5"]
)
table("power", "return (<A>) ** (<B>)", ["2", "-2", "0", "2.0", "-8"], ["0", "3", "-1", "0.5"])
table("round", "return round(<A>), int(<A>)", ["0.5", "1.5", "-0.5", "-1.5", "2.675", "-2.5", "7"])
table("shift", "return (<A>) << 2, (<A>) >> 1, (<A>) & 6, (<A>) | 1, (<A>) ^ 5, ~(<A>)",
      ["5", "-5", "0", "True", "255"])  # fmt: skip
SAY = "log = []\ndef say(v):\n    log.append(v)\n    return v\n"
table("short", SAY + "r = say(<A>) <B> say(<C>)\nreturn r, log",
      ["0", "1", "[]", "'a'", "None"], ["and", "or"], ["0", "2", "''"])  # fmt: skip
table("slice", "a = [0, 1, 2, 3, 4]\nreturn a[<A>:<B>:<C>]", ["", "1", "-2"], ["", "3", "-1"],
      ["", "2", "-1"])  # fmt: skip
table("array slice", "a = np.arange(5)\nb = a[<A>]\nb[...] = 9\nreturn a",
      ["1:3", "::2", "::-1", "-2:", ":0", "[0, 1]", "a > 1", "np.array([2, 2])",
       "..."])  # fmt: skip
table("list in place", "a = [1, 2]\nb = a\na <A> <B>\nreturn a, b, a is b",
      ["+=", "= a +"], ["[3]", "[]", "list((4, 5))"])  # fmt: skip
table("array in place", "a = np.array([1.0, 2.0, 3.0])\nb = a\nb <A> <B>\nreturn a, a is b",
      ["+=", "-=", "*=", "/=", "= 1 +", "**="], ["2", "a", "np.array([1, 2, 3])",
       "b[0]"])  # fmt: skip
table("whole array in place", "a = np.array([5, -7, 3])\nb = a[1:]\nb <A> 2\nreturn a",
      ["+=", "-=", "*=", "//=", "%=", "**=", "&=", "|="])  # fmt: skip
table("truth", "return bool(<A>), not (<A>), 'y' if (<A>) else 'n'",
      ["0", "0.0", "-0.0", "''", "'0'", "[]", "[0]", "()", "(0,)", "{}", "None", "np.float64(0)",
       "float('nan')", "range(0)", "set()"])  # fmt: skip
table("nan", "n = float('nan')\nreturn <A>",
      ["n == n", "n != n", "n < 1", "n in [n]", "[n] == [n]", "max(n, 1)", "max(1, n)", "min(n, 1)",
       "sorted([2, n, 1])[0] == 2", "n is n", "not n", "sum([n, 1]) == 0"])  # fmt: skip
table("is", "a = <A>\nb = a\nc = <B>\nreturn a is b, a == c, type(a) is type(c)",
      ["[1]", "(1,)", "1.5", "'x'", "None", "True"], ["[1]", "(1, )", "1.5", "True",
       "1"])  # fmt: skip
table("unpack", "<A> = <B>\nreturn a, b", ["a, b", "[a, b]", "a, *b", "*a, b", "(a, b)"],
      ["[1, 2]", "(1, 2)", "'xy'", "range(2)", "{'k': 1, 'l': 2}"])  # fmt: skip
table("dict", "d = {'a': 1, 'b': 2}\nreturn <A>",
      ["d.pop('a'), d", "d.get('z', 5)", "list(d)", "'a' in d", "1 in d", "d | {'a': 9}", "len(d)",
       "sorted(d.items())", "d.setdefault('c', 3), d", "list(d.values())", "d == {'b': 2, 'a': 1}",
       "max(d, key=d.get)", "{v: k for k, v in d.items()}", "d.update(a=7), d", "dict(d, c=1)",
       "[*d]", "{**d, 'x': 0}", "d.popitem()", "d['z']", "list(reversed(d))"])  # fmt: skip
table("list", "a = [3, 1, 2]\nreturn <A>",
      ["a.sort(), a", "a.pop(), a", "a.pop(0), a", "a.insert(1, 9), a", "a.extend([4]), a",
       "a.index(1)", "a.count(3)", "a + [1]", "a * 2", "a == [3, 1, 2]", "a < [3, 2]", "2 in a",
       "sorted(a, reverse=True)", "a[-1]", "a[5]", "sum(a)", "max(a)", "min(a)", "len(a)",
       "a.copy() is a", "a.remove(1), a", "a.remove(9)", "a.clear(), a",
       "sorted(a, key=lambda v: -v)",
       "[v for v in a if v > 1]", "list(map(str, a))", "all(a)", "any(a)", "a.reverse(), a",
       "tuple(a)", "set(a) == {1, 2, 3}", "a[1:] + a[:1]"])  # fmt: skip
table("set", "s = {1, 2}\nt = {2, 3}\nreturn <A>",
      ["s | t == {1, 2, 3}", "s & t", "s - t", "s ^ t == {1, 3}", "s < {1, 2, 3}", "1 in s",
       "s.add(5), len(s)", "s.discard(9), s", "s.union([7]) == {1, 2, 7}", "len(s | t)",
       "frozenset(s) == s", "sorted(s)", "s.remove(9)", "{*s, *t} == {1, 2, 3}"])  # fmt: skip
table("math", "return <A>",
      ["math.floor(-2.5)", "math.ceil(-2.5)", "math.trunc(-2.5)", "math.sqrt(2)", "math.sqrt(-1)",
       "math.log(0)", "math.exp(1000)", "math.inf - math.inf == 0", "math.copysign(1, -0.0)",
       "math.fmod(-7, 3)", "-7 % 3", "math.gcd(12, 18)", "math.isclose(0.1 + 0.2, 0.3)",
       "0.1 + 0.2 == 0.3", "10 ** 20 + 1 - 10 ** 20", "1e20 + 1 - 1e20", "int(1e20)", "1e308 * 10",
       "abs(-0.0)", "int(-2.9)", "float('1e3')", "3 > 2 > 1", "(3 > 2) > 1", "1 < 2 == True",
       "True + True", "sum([0.1] * 10) == 1.0", "5 // -2", "-5 // 2", "5 % -3", "2 ** -1",
       "int('12', 3)", "bool('False')", "min(1, 1.0)", "max(True, 1)", "round(2.5)",
       "round(-1.25, 1)", "pow(2, 10, 7)", "divmod(-7, 2)", "complex(1, 2)", "0 or None",
       "1 and []", "not 0 == 1", "1 if [] else 2"])  # fmt: skip

HEADER = "import math\nimport numpy as np\n\n\n"
SNIPPETS: dict[str, str] = {
    name: f"{HEADER}def snippet():\n{textwrap.indent(body, '    ')}\n"
    for name, body in BODIES.items()
}
