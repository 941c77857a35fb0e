"""The exponential mechanism and noisy maxima, in many spellings."""

from __future__ import annotations

import heapq
import math

import numpy as np
import scipy.special
from scipy import special
from scipy.special import logsumexp, softmax


def rej(scores, rng, *, eps=1.0):
    best = max(scores)
    while True:
        i = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def rej_choice(scores, rng, *, eps=1.0):
    best = max(scores)
    while True:
        i = rng.choice(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def rej_while(scores, rng, *, eps=1.0):
    best = max(scores)
    n = len(scores)
    i = rng.integers(n)
    while rng.random() > np.exp(eps / 2 * (scores[i] - best)):
        i = rng.integers(0, n)
    return int(i)


def rej_twice(scores, rng, *, eps=1.0):
    best = max(scores)
    while True:
        i = rng.integers(len(scores))
        if rng.random() < np.exp(eps * (scores[i] - best)):
            return i


def rej_nomax(scores, rng, *, eps=1.0):
    while True:
        i = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * scores[i]):
            return i


def sm_cumsum(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    c = np.cumsum(w / w.sum())
    return np.searchsorted(c, rng.random())


def sm_cumsum_w(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    c = np.cumsum(w)
    return np.searchsorted(c, rng.random() * c[-1])


def sm_cumsum_r(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return int(np.searchsorted(np.cumsum(w), rng.uniform(0, w.sum()), side="right"))


def sm_loop(scores, rng, *, eps=1.0):
    weights = [math.exp(eps / 2 * s) for s in scores]
    u = rng.random() * sum(weights)
    acc = 0.0
    for i, w in enumerate(weights):
        acc += w
        if u < acc:
            return i
    return len(weights) - 1


def sm_sub(scores, rng, *, eps=1.0):
    weights = [math.exp(eps / 2 * s) for s in scores]
    total = sum(weights)
    u = rng.random() * total
    for i in range(len(weights)):
        u -= weights[i]
        if u < 0:
            return i
    return len(weights) - 1


def sm_probs_loop(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    p = w / w.sum()
    u = rng.random()
    c = 0.0
    for i in range(len(p)):
        c += p[i]
        if u <= c:
            break
    return i


def sm_scipy(scores, rng, *, eps=1.0):
    return rng.choice(len(scores), p=softmax(eps / 2 * np.asarray(scores)))


def sm_lse(scores, rng, *, eps=1.0):
    z = eps / 2 * np.asarray(scores)
    return rng.choice(len(scores), p=np.exp(z - logsumexp(z)))


def sm_multi(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return rng.multinomial(1, w / w.sum()).argmax()


def sm_multi2(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return np.argmax(rng.multinomial(1, w / w.sum()))


def sm_items(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return rng.choice(list(range(len(scores))), p=w / w.sum())


def sm_size1(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * (np.asarray(scores) - np.max(scores)))
    return rng.choice(len(scores), size=1, p=w / w.sum())[0]


def sm_bad(scores, rng, *, eps=1.0):
    return rng.choice(len(scores), p=softmax(eps * np.asarray(scores)))


def sm_bad_cum(scores, rng, *, eps=1.0):
    w = np.exp(eps * (np.asarray(scores) - np.max(scores)))
    return np.searchsorted(np.cumsum(w), rng.random() * w.sum())


def nm_gumbel(scores, rng, *, eps=1.0):
    return int(np.argmax(eps * np.asarray(scores) / 2 + rng.gumbel(size=len(scores))))


def nm_key(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def nm_key2(scores, rng, *, eps=1.0):
    noisy = np.asarray(scores) + rng.exponential(2 / eps, size=len(scores))
    return max(range(len(scores)), key=noisy.__getitem__)


def nm_index(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return noisy.index(max(noisy))


def nm_heap(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return heapq.nlargest(1, range(len(noisy)), key=lambda i: noisy[i])[0]


def nm_argsort(scores, rng, *, eps=1.0):
    noisy = np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores))
    return np.argsort(noisy)[-1]


def nm_argsort2(scores, rng, *, eps=1.0):
    noisy = np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores))
    return np.argsort(-noisy)[0]


def nm_sorted(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return sorted(range(len(noisy)), key=lambda i: noisy[i], reverse=True)[0]


def nm_sorted2(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return sorted(range(len(noisy)), key=lambda i: -noisy[i])[0]


def nm_pairs(scores, rng, *, eps=1.0):
    return max((s + rng.laplace(scale=2 / eps), i) for i, s in enumerate(scores))[1]


def nm_enum(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return max(enumerate(noisy), key=lambda p: p[1])[0]


def nm_loop(scores, rng, *, eps=1.0):
    best, where = -math.inf, -1
    for i, s in enumerate(scores):
        v = s + rng.laplace(scale=2 / eps)
        if v > best:
            best, where = v, i
    return where


def nm_bad(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=1 / eps) for s in scores]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def sm_special(scores, rng, *, eps=1.0):
    return rng.choice(len(scores), p=special.softmax(eps * np.asarray(scores) / 2))


def sm_special2(scores, rng, *, eps=1.0):
    return rng.choice(len(scores), p=scipy.special.softmax(eps * np.asarray(scores) / 2))


def sm_lognp(scores, rng, *, eps=1.0):
    z = eps * np.asarray(scores) / 2
    lp = z - np.log(np.sum(np.exp(z)))
    return rng.choice(len(scores), p=np.exp(lp))


def sm_label_choice(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * np.asarray(scores))
    return ["x", "y", "z", "w"][rng.choice(len(scores), p=w / w.sum())]


def sm_choice_labels(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * np.asarray(scores))
    return rng.choice(["x", "y", "z", "w"], p=w / w.sum())


def nm_keydraw(scores, rng, *, eps=1.0):
    return max(range(len(scores)), key=lambda i: scores[i] + rng.laplace(scale=2 / eps))


def nm_label_nm(scores, rng, *, eps=1.0):
    names = ("x", "y", "z", "w")
    return names[int(np.argmax(np.asarray(scores) + rng.exponential(2 / eps, len(scores))))]


def nm_gumbel_u(scores, rng, *, eps=1.0):
    g = -np.log(-np.log(rng.random(len(scores))))
    return np.argmax(eps / 2 * np.asarray(scores) + g)


def nm_least_wins(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return noisy.index(min(noisy))


def nm_argmin(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    return min(range(len(noisy)), key=lambda i: noisy[i])


def nm_unpack(scores, rng, *, eps=1.0):
    noisy = [s + rng.laplace(scale=2 / eps) for s in scores]
    i, _ = max(enumerate(noisy), key=lambda p: p[1])
    return i


def rej_half(scores, rng, *, eps=1.0):
    best = max(scores)
    while True:
        i = rng.integers(len(scores))
        if rng.random() < 0.5 * np.exp(eps / 2 * (scores[i] - best)):
            return i


def rej_pool(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.choice(left)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def nm_guard(scores, rng, *, eps=1.0):
    if len(scores) < 1:
        raise ValueError("nothing to choose from")
    return int(np.argmax(np.asarray(scores) + rng.gumbel(scale=2 / eps, size=len(scores))))
