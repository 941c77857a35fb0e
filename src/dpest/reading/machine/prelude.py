"""Functions of Python and NumPy, written in Python: the machine reads them where it must.

They are executed instruction by instruction like code of the user, so that they may call functions
of the user, go through generators, and fork.
"""

from __future__ import annotations

# mypy: disable-error-code="no-untyped-def,no-untyped-call,var-annotated"
# ruff: noqa: SIM110, UP028


class Suppressing:
    """contextlib.suppress."""

    def __init__(self, *kinds):
        self.kinds = kinds

    def __enter__(self):
        return None

    def __exit__(self, kind, error, trace):
        return kind is not None and issubclass(kind, self.kinds)


class Quiet:
    """np.errstate and warnings.catch_warnings: values are as they would be without."""

    def __enter__(self):
        return None

    def __exit__(self, kind, error, trace):
        return None


def one_way_(method, a, b, op):
    result = method(a, b)
    if result is NotImplemented:
        raise TypeError("unsupported operand type(s) for " + op)
    return result


def two_ways_(left, right, a, b, op):
    result = left(a, b)
    if result is NotImplemented:
        result = right(b, a)
        if result is NotImplemented:
            raise TypeError("unsupported operand type(s) for " + op)
    return result


def inplace_(method, a, b, name):
    result = method(a, b)
    if result is NotImplemented:
        raise TypeError("unsupported operand type(s) for in-place " + name)
    return result


def equal_(method, a, b, same, op):
    result = method(a, b)
    if result is NotImplemented:
        return same if op == "==" else not same
    return result


def unequal_(method, a, b):
    return not method(a, b)


def dataclass_equal_(names, a, b):
    if type(a) is not type(b):
        return NotImplemented
    for name in names:
        if getattr(a, name) != getattr(b, name):
            return False
    return True


def not_(method, *args):
    return not method(*args)


def contains_(container, item):
    for value in container:
        if value is item or value == item:
            return True
    return False


def contains_none_(container, item):
    return not contains_(container, item)


def contains_by_method_(method, container, item, negated):
    found = bool(method(container, item))
    return not found if negated else found


def length_is_positive_(method, thing):
    return method(thing) > 0


def extend_(made, values):
    for v in values:
        made.append(v)
    return made


def called_until_(function, sentinel):
    while True:
        value = function()
        if value == sentinel:
            return
        yield value


def list_(values):
    made = []
    for v in values:
        made.append(v)
    return made


def consumed_(values):
    """What a receiver gets of an iterator, by going through it."""
    return generated_(list_(values))


def generated_(values):
    """A list as what a generator gave, by the table."""
    raise NotImplementedError


def tuple_(values):
    return tuple(list_(values))


def set_(values):
    made = set()
    for v in values:
        made.add(v)
    return made


def dict_(pairs):
    made = {}
    for pair in pairs:
        k, v = pair
        made[k] = v
    return made


def sum_(values, start):
    total = start
    for v in values:
        total = total + v
    return total


def prod_(values, start):
    total = start
    for v in values:
        total = total * v
    return total


def count_(values):
    total = 0
    for _ in values:
        total = total + 1
    return total


def best_(values, key, largest, has_default, default, message):
    best = default
    best_key = None
    empty = True
    for v in values:
        k = v if key is None else key(v)
        if empty or (k > best_key if largest else k < best_key):
            best, best_key, empty = v, k, False
    if empty and not has_default:
        raise ValueError(message)
    return best


def any_(values):
    for v in values:
        if v:
            return True
    return False


def all_(values):
    for v in values:
        if not v:
            return False
    return True


def map_(f, values):
    for v in values:
        yield f(v)


def map_rows_(f, rows):
    for row in rows:
        yield f(*row)


def filter_(f, values):
    for v in values:
        if v if f is None else f(v):
            yield v


def enumerate_(values, start):
    i = start
    for v in values:
        yield i, v
        i = i + 1


def zip_(iterators):
    while True:
        row = []
        for it in iterators:
            try:
                row.append(next(it))
            except StopIteration:
                return
        yield tuple(row)


def sorted_(values, key, reverse):
    """Stable, by insertion from the right: as many comparisons as there are pairs out of order."""
    made = []
    keys = []
    for v in values:
        k = v if key is None else key(v)
        at = len(made)
        while at > 0 and (keys[at - 1] < k if reverse else k < keys[at - 1]):
            at = at - 1
        made.insert(at, v)
        keys.insert(at, k)
    return made


def best_of_all_(values, key, largest, has_default, default, message):
    items = []
    keys = []
    for v in values:
        items.append(v)
        keys.append(v if key is None else key(v))
    if not items:
        if has_default:
            return default
        raise ValueError(message)
    return items[place_of_best_(keys, largest)]


def place_of_best_(keys, largest):
    """The place of the first greatest or least key, by the table."""
    raise NotImplementedError


def place_by_comparing_(keys, largest):
    place = 0
    i = 0
    for k in keys:
        if i > 0 and (k > keys[place] if largest else k < keys[place]):
            place = i
        i = i + 1
    return place


def sorted_by_keys_(values, key, reverse):
    items = list(values)
    keys = items if key is None else [key(v) for v in items]
    return in_order_of_(items, keys, reverse)


def sorted_places_(places, key, reverse, argsort):
    """Places in the order of what a key gives for each: that of the keys."""
    keys = [key(i) for i in places]
    order = argsort(keys)
    return order[::-1] if reverse else order


def in_order_of_(items, keys, reverse):
    """The items in the order of their keys, by the table."""
    raise NotImplementedError


def ordered_by_comparing_(items, keys, reverse):
    pairs = sorted_(list(zip(keys, items, strict=True)), first_, reverse)
    return [v for _, v in pairs]


def first_(pair):
    return pair[0]


def outermost_(count, values, key, largest):
    """heapq.nlargest and nsmallest, which promise to be this."""
    return sorted(values, key=key, reverse=largest)[: max(count, 0)]


def reduce_(f, values, start, has_start):
    total = start
    empty = not has_start
    for v in values:
        total = v if empty else f(total, v)
        empty = False
    if empty:
        raise TypeError("reduce() of empty iterable with no initial value")
    return total


def accumulate_(values, f, start, has_start):
    total = start
    empty = not has_start
    if not empty:
        yield total
    for v in values:
        total = v if empty else (total + v if f is None else f(total, v))
        empty = False
        yield total


def chain_(parts):
    for part in parts:
        for v in part:
            yield v


def takewhile_(f, values):
    for v in values:
        if not f(v):
            break
        yield v


def dropwhile_(f, values):
    dropping = True
    for v in values:
        if dropping and f(v):
            continue
        dropping = False
        yield v


def islice_(values, start, stop, step):
    i = 0
    nxt = start
    if stop is not None and start >= stop:
        return
    for v in values:
        if i == nxt:
            yield v
            nxt = nxt + step
        i = i + 1
        if stop is not None and i >= stop:
            return


def repeat_(value, times):
    i = 0
    while times is None or i < times:
        yield value
        i = i + 1


def count_up_(start, step):
    n = start
    while True:
        yield n
        n = n + step


def cycle_(values):
    kept = []
    for v in values:
        kept.append(v)
        yield v
    while kept:
        for v in kept:
            yield v


def missing_(thing, key, factory):
    value = factory()
    thing[key] = value
    return value


def counted_(counter, values):
    for v in values:
        counter[v] = counter.get(v, 0) + 1
    return counter


def joined_text_(separator, values):
    parts = []
    for v in values:
        parts.append(v)
    return separator.join(parts)


def sequence_of_(method, thing):
    """An object that has `__getitem__` but no `__iter__`."""
    i = 0
    while True:
        try:
            v = method(thing, i)
        except IndexError:
            return
        yield v
        i = i + 1


def next_or_(method, iterator, default):
    try:
        return method(iterator)
    except StopIteration:
        return default


def attribute_or_(thing, name, default):
    try:
        return getattr(thing, name)
    except AttributeError:
        return default


def has_attribute_(thing, name):
    try:
        getattr(thing, name)
    except AttributeError:
        return False
    return True


def made_dataclass_(thing, values, factories, post):
    for name, value in values:
        setattr(thing, name, value)
    for name, factory in factories:
        setattr(thing, name, factory())
    if post is not None:
        post()
    return thing


def vectorized_(f, values):
    return [f(v) for v in values]


def sort_in_place_(made, key, reverse):
    replace_content_(made, sorted(made, key=key, reverse=reverse))


def replace_content_(made, values):
    """The list gets the elements of another one, which nobody else holds; by the table."""
    raise NotImplementedError


class RootFound:
    """What scipy.optimize.root_scalar gives: the root."""

    def __init__(self, root):
        self.root = root
        self.converged = True


def root_scalar_(way, f, bracket, args, xtol, rtol, turns):
    a, b = bracket
    return RootFound(way(f, a, b, args, xtol, rtol, turns))


def is_below_zero_(value):
    return value < 0


def bisection_(f, a, b, args, xtol, rtol, turns):
    """scipy.optimize.bisect, step by step."""
    a, b = float(a), float(b)
    at_a, at_b = f(a, *args), f(b, *args)
    if at_a == 0:
        return a
    if at_b == 0:
        return b
    if is_below_zero_(at_a) == is_below_zero_(at_b):
        raise ValueError("f(a) and f(b) must have different signs")
    width = b - a
    for _ in range(turns):
        width = width * 0.5
        middle = a + width
        at_middle = f(middle, *args)
        if is_below_zero_(at_middle) == is_below_zero_(at_a):
            a = middle
        if at_middle == 0 or abs(width) < xtol + rtol * abs(middle):
            return middle
    raise RuntimeError("Failed to converge")


def brentq_(f, a, b, args, xtol, rtol, turns):
    """scipy.optimize.brentq, step by step."""
    before, now = float(a), float(b)
    other, at_other, step_before, step = 0.0, 0.0, 0.0, 0.0
    at_before, at_now = f(before, *args), f(now, *args)
    if at_before == 0:
        return before
    if at_now == 0:
        return now
    if is_below_zero_(at_before) == is_below_zero_(at_now):
        raise ValueError("f(a) and f(b) must have different signs")
    for _ in range(turns):
        across = is_below_zero_(at_before) != is_below_zero_(at_now)
        if at_before != 0 and at_now != 0 and across:
            other, at_other = before, at_before
            step_before = step = now - before
        if abs(at_other) < abs(at_now):
            before, now, other = now, other, now
            at_before, at_now, at_other = at_now, at_other, at_now
        delta = (xtol + rtol * abs(now)) / 2
        half = (other - now) / 2
        if at_now == 0 or abs(half) < delta:
            return now
        if abs(step_before) > delta and abs(at_now) < abs(at_before):
            if before == other:
                tried = -at_now * (now - before) / (at_now - at_before)
            else:
                slope = (at_before - at_now) / (before - now)
                slope_other = (at_other - at_now) / (other - now)
                tried = (
                    -at_now
                    * (at_other * slope_other - at_before * slope)
                    / (slope_other * slope * (at_other - at_before))
                )
            if 2 * abs(tried) < min(abs(step_before), 3 * abs(half) - delta):
                step_before, step = step, tried
            else:
                step_before, step = half, half
        else:
            step_before, step = half, half
        before, at_before = now, at_now
        if abs(step) > delta:
            now = now + step
        else:
            now = now + (delta if half > 0 else -delta)
        at_now = f(now, *args)
    raise RuntimeError("Failed to converge")


def bisect_right_(items, x):
    for place, v in enumerate(items):
        if x < v:
            return place
    return len(items)


def bisect_left_(items, x):
    for place, v in enumerate(items):
        if not v < x:
            return place
    return len(items)
