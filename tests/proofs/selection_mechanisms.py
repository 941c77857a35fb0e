"""Ways to write selection mechanisms, right and wrong, for the tests of their proofs."""

from __future__ import annotations

import heapq
import math
from math import exp

import numpy as np
import scipy.special
from numpy import exp as npexp
from scipy import special
from scipy.special import logsumexp, softmax

# Permute-and-flip.


def pf_zoo(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_shuffle(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    rng.shuffle(order)
    best = max(scores)
    for i in order:
        if rng.random() < math.exp(eps * (scores[i] - best) / 2):
            return i


def pf_tolist(scores, rng, *, eps=1.0):
    n = len(scores)
    top = max(scores)
    for i in rng.permutation(n).tolist():
        p = math.exp(0.5 * eps * (scores[i] - top))
        if rng.uniform() <= p:
            return i


def pf_array(scores, rng, *, eps=1.0):
    s = np.asarray(scores)
    p = np.exp(eps / 2 * (s - s.max()))
    for i in rng.permutation(len(s)):
        if rng.random() >= p[i]:
            continue
        return int(i)


def pf_binomial(scores, rng, *, eps=1.0):
    s = np.asarray(scores) - np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.binomial(1, np.exp(eps / 2 * s[i])) == 1:
            return i


def pf_binomial2(scores, rng, *, eps=1.0):
    s = np.asarray(scores) - np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.binomial(1, np.exp(eps / 2 * s[i])):
            return i


def pf_break(scores, rng, *, eps=1.0):
    best = max(scores)
    chosen = None
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            chosen = i
            break
    return chosen


def pf_while(scores, rng, *, eps=1.0):
    order = rng.permutation(len(scores))
    best = max(scores)
    j = 0
    while True:
        i = order[j]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        j += 1


def pf_while2(scores, rng, *, eps=1.0):
    n = len(scores)
    order = rng.permutation(n)
    best = max(scores)
    j = 0
    while j < n:
        i = order[j]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        j += 1


def pf_range(scores, rng, *, eps=1.0):
    n = len(scores)
    order = rng.permutation(n)
    best = max(scores)
    for j in range(n):
        i = order[j]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_pop(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while left:
        i = left.pop(rng.integers(len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_sens(scores, rng, *, eps=1.0, sensitivity=2.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps * (scores[i] - best) / (2 * sensitivity)):
            return i


def pf_scaled(scores, rng, *, eps=1.0):
    z = eps / 2 * np.asarray(scores)
    z = z - z.max()
    for i in rng.permutation(len(z)):
        if rng.random() < np.exp(z[i]):
            return i


def pf_wmax(scores, rng, *, eps=1.0):
    w = np.exp(eps / 2 * np.asarray(scores))
    w = w / w.max()
    for i in rng.permutation(len(w)):
        if rng.random() < w[i]:
            return i


def pf_list(scores, rng, *, eps=1.0):
    best = max(scores)
    p = [math.exp(eps / 2 * (s - best)) for s in scores]
    for i in rng.permutation(len(p)):
        if rng.random() < p[i]:
            return i


def pf_loss(scores, rng, *, eps=1.0):
    best = min(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(-eps / 2 * (scores[i] - best)):
            return i


def pf_label(scores, rng, *, eps=1.0):
    labels = ["a", "b", "c", "d"]
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return labels[i]


def pf_enum_perm(scores, rng, *, eps=1.0):
    best = max(scores)
    pairs = list(enumerate(scores))
    rng.shuffle(pairs)
    for i, s in pairs:
        if rng.random() < np.exp(eps / 2 * (s - best)):
            return i


def pf_choice(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.choice(len(scores), size=len(scores), replace=False):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_logu(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if np.log(rng.random()) < eps / 2 * (scores[i] - best):
            return i


def pf_expo(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.exponential(2 / eps) > best - scores[i]:
            return i


def pf_max_arg(scores, rng, *, eps=1.0):
    scores = np.asarray(scores)
    best = scores[np.argmax(scores)]
    for i in rng.permutation(scores.size):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_helper(scores, rng, *, eps=1.0):
    best = max(scores)
    order = rng.permutation(np.arange(len(scores)))
    for i in order:
        if flip(rng, scores[i] - best, eps):
            return i


def flip(rng, gap, eps):
    return rng.random() < math.exp(eps * gap / 2)


def pf_hard(scores, rng):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(0.25 * (scores[i] - best)):
            return i


# Permute-and-flip, wrong.


def bad_twice(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps * (scores[i] - best)):
            return i


def bad_nomax(scores, rng, *, eps=1.0):
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * scores[i]):
            return i


def bad_order(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in range(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_order2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i, s in enumerate(scores):
        if rng.random() < np.exp(eps / 2 * (s - best)):
            return i


def bad_sorted(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in np.argsort(scores):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_state(scores, rng, *, eps=1.0):
    best = np.max(scores)
    k = 1
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(k * eps / 2 * (scores[i] - best)):
            return i
        k = 2


def bad_state2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        best = scores[i]


def bad_turn(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for t, i in enumerate(rng.permutation(len(scores))):
        if rng.random() < np.exp(eps / 2 * (t + 1) * (scores[i] - best)):
            return i


def bad_turn_out(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for t, i in enumerate(rng.permutation(len(scores))):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i, t


def bad_out(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return scores[i]


def bad_out2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i, best


def bad_other_best(scores, rng, *, eps=1.0):
    best = np.max(np.clip(scores, 0, 1))
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_noisy_best(scores, rng, *, eps=1.0):
    best = np.max(np.asarray(scores) + rng.laplace(scale=2 / eps, size=len(scores)))
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_same_u(scores, rng, *, eps=1.0):
    best = np.max(scores)
    u = rng.random()
    for i in rng.permutation(len(scores)):
        if u < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_half(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < 0.5 * np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_skip0(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if i == 0:
            continue
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_min(scores, rng, *, eps=1.0):
    best = np.min(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_sign(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(-eps / 2 * (scores[i] - best)):
            return i


def bad_plus1(scores, rng, *, eps=1.0):
    best = np.max(scores) + 1
    for i in rng.permutation(len(scores)):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_u2(scores, rng, *, eps=1.0):
    best = np.max(scores)
    for i in rng.permutation(len(scores)):
        if rng.uniform(0, 2) < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_fixed_perm(scores, rng, *, eps=1.0):
    best = np.max(scores)
    perm = np.random.default_rng(0).permutation(len(scores))
    for i in perm:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


# The exponential mechanism: candidates drawn with replacement.


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


# The exponential mechanism: by its probabilities.


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


# Noisy maxima.


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


def topk_remove(scores, rng, *, eps=1.0, k=2):
    s = list(scores)
    out = []
    alive = list(range(len(s)))
    for _ in range(k):
        noisy = [s[i] + rng.laplace(scale=2 * k / eps) for i in alive]
        j = int(np.argmax(noisy))
        out.append(alive.pop(j))
    return out


def topk_argsort(scores, rng, *, eps=1.0, k=2):
    noisy = np.asarray(scores) + rng.laplace(scale=2 * k / eps, size=len(scores))
    return np.argsort(-noisy)[:k]


def topk_inf(scores, rng, *, eps=1.0, k=2):
    s = np.array(scores, dtype=float)
    out = []
    for _ in range(k):
        j = np.argmax(s + rng.gumbel(scale=2 * k / eps, size=len(s)))
        out.append(j)
        s[j] = -np.inf
    return out


# More of each.


def pf_from_exp(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < exp(eps / 2 * (scores[i] - best)):
            return i


def pf_from_npexp(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < npexp(eps / 2 * (scores[i] - best)):
            return i


def pf_raise(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    raise RuntimeError("never")


def pf_ret(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    return len(scores) - 1


def pf_ret2(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i
    return int(np.argmax(scores))


def pf_coin_vector(scores, rng, *, eps=1.0):
    best = max(scores)
    u = rng.random(len(scores))
    for i in rng.permutation(len(scores)):
        if u[i] < math.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_np_list(scores, rng, *, eps=1.0):
    s = np.array(scores, dtype=float)
    s -= s.max()
    p = np.exp(eps * s / 2)
    order = np.arange(len(s))
    rng.shuffle(order)
    for i in order:
        if rng.random() < p[i]:
            return int(i)


def pf_two_coins(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 4 * (scores[i] - best)) and rng.random() < math.exp(
            eps / 4 * (scores[i] - best)
        ):
            return i


def pf_choice_coin(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        p = math.exp(eps / 2 * (scores[i] - best))
        if rng.choice([True, False], p=[p, 1 - p]):
            return i


def pf_chosen_none(scores, rng, *, eps=1.0):
    best = max(scores)
    chosen = None
    for i in rng.permutation(len(scores)):
        if chosen is None and rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            chosen = i
    return chosen


def pf_pair(scores, rng, *, eps=1.0):
    names = ["a", "b", "c"]
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i, names[i]


def pf_plus1(scores, rng, *, eps=1.0):
    best = max(scores)
    for i in rng.permutation(len(scores)):
        if rng.random() < math.exp(eps / 2 * (scores[i] - best)):
            return i + 1


def pf_zip(scores, rng, *, eps=1.0):
    best = max(scores)
    pairs = list(zip(range(len(scores)), scores, strict=True))
    rng.shuffle(pairs)
    for i, s in pairs:
        if rng.random() < math.exp(eps / 2 * (s - best)):
            return i


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


def bad_perm_scores(scores, rng, *, eps=1.0):
    best = max(scores)
    for j, s in enumerate(rng.permutation(scores)):
        if rng.random() < math.exp(eps / 2 * (s - best)):
            return j


def bad_keydraw(scores, rng, *, eps=1.0):
    z = rng.laplace(scale=2 / eps)
    return max(range(len(scores)), key=lambda i: scores[i] + z)


def pf_pop_true(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(0, len(left)))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_len(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while len(left) > 0:
        k = rng.integers(len(left))
        i = left.pop(k)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
    raise RuntimeError


def pf_remove(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.choice(left)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        left.remove(i)


def pf_shuffle_pop(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    rng.shuffle(order)
    best = max(scores)
    while order:
        i = order.pop()
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def pf_guard(scores, rng, *, eps=1.0):
    n = len(scores)
    if n == 0:
        return None
    best = max(scores)
    for i in rng.permutation(n):
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
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


def bad_last(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(len(left)))
        if not left:
            return -1
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_some(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.choice(left)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
        if rng.random() < 0.5:
            left.remove(i)


def bad_first(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while left:
        i = left.pop(0)
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_lastpop(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while left:
        i = left.pop()
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_again(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    i = left.pop(rng.integers(len(left)))
    for i in left:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_other(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = left.pop(rng.integers(len(left)))
        j = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return j


def bad_twice_looked(scores, rng, *, eps=1.0):
    left = list(range(len(scores)))
    best = max(scores)
    while True:
        i = rng.integers(len(scores))
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return left.pop(i)


def bad_copy(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    mixed = order.copy()
    rng.shuffle(mixed)
    best = max(scores)
    for i in order:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_slice(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    mixed = order[:]
    rng.shuffle(mixed)
    best = max(scores)
    for i in order:
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i


def bad_reshuffle(scores, rng, *, eps=1.0):
    order = list(range(len(scores)))
    best = max(scores)
    while True:
        rng.shuffle(order)
        i = order[0]
        if rng.random() < np.exp(eps / 2 * (scores[i] - best)):
            return i
