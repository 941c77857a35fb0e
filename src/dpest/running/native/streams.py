"""Streams of draws by counters: words from a key and a number, and standard draws from words.

A word is a function of a key of two words and a counter: the mixing of SplitMix64 (Steele, Lea and
Flood, 2014) with a second key between its two multiplications, so that the streams of two keys are
not parts of one sequence. A block of runs has keys of its own for each family, by SeedSequence;
what is drawn there does not depend on other blocks, on who runs it, or when.

A core draws into buffers, in loops that its vector units take, from a faster sequence that words
by counters begin; a GPU draws where it needs to.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpest.running.native.ir import DOUBLE, RealType

FAMILIES = ("uniform", "laplace", "exponential", "normal", "bits")
#: Draws of one family that a core holds ready.
BUFFER = 2048
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_ONE = 0x3FF0000000000000  # the bits of 1.0
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of √½
_TWO_TO_52 = 0x4330000000000000  # the bits of 2^52
_ROUND = 1.5 * 2.0**52  # added, it leaves the nearest integer in the last bits
_LOG_TWO = math.log(2.0)
_LANES = 8
# log((1+s)/(1-s)) = 2s + s·R(s²), as in FreeBSD's e_log.c
_LOG = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
    1.479819860511658591e-01,
)  # fmt: skip
# Minimax polynomials of sine and cosine on ±π/4, as in FreeBSD's k_sin.c and k_cos.c
_SIN = (
    1.0, -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
_COS = (
    1.0, -0.5, 4.16666666666666019037e-02, -1.38888888888741095749e-03,
    2.48015872894767294178e-05, -2.75573143513906633035e-07, 2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)  # fmt: skip


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


def block_keys(seed: np.random.SeedSequence) -> NDArray[np.uint64]:
    """Two words for each family."""
    words: NDArray[np.uint64] = seed.generate_state(2 * len(FAMILIES), np.uint64).astype(np.uint64)
    return words


class DrawText:
    """Instructions that make draws, as text; with `lanes` > 1 on vectors of so many words."""

    def __init__(self, real: RealType = DOUBLE, lanes: int = 1) -> None:
        self.lines: list[str] = []
        self.real = real
        self.lanes = lanes
        self.i64, self.double = (
            kind if lanes == 1 else f"<{lanes} x {kind}>" for kind in ("i64", "double")
        )
        self._suffix = "f64" if lanes == 1 else f"v{lanes}f64"

    def __call__(self, text: str) -> str:
        register = f"%d{len(self.lines)}"
        self.lines.append(f"  {register} = {text}")
        return register

    def constant(self, value: float) -> str:
        text = DOUBLE.constant(value)
        return text if self.lanes == 1 else f"splat (double {text})"

    def whole(self, value: int) -> str:
        text = str(_signed(value % (1 << 64)))
        return text if self.lanes == 1 else f"splat (i64 {text})"

    def words_op(self, op: str, a: str, b: str | int) -> str:
        return self(f"{op} {self.i64} {a}, {self.whole(b) if isinstance(b, int) else b}")

    def reals_op(self, op: str, a: str, b: str | float) -> str:
        other = self.constant(b) if isinstance(b, float) else b
        return self(f"{op} {self.double} {a}, {other}")

    def as_words(self, value: str) -> str:
        return self(f"bitcast {self.double} {value} to {self.i64}")

    def as_reals(self, value: str) -> str:
        return self(f"bitcast {self.i64} {value} to {self.double}")

    def shifted(self, a: str, by: int, b: str) -> str:
        return self.words_op("xor", a, self.words_op("lshr", b, by))

    def word(self, key: str, second: str, counter: str) -> str:
        z = self.words_op("add", self.words_op("mul", counter, _GOLDEN), key)
        z = self.words_op("mul", self.shifted(z, 30, z), _FIRST)
        z = self.words_op("add", z, second)
        z = self.words_op("mul", self.shifted(z, 27, z), _SECOND)
        return self.shifted(z, 31, z)

    def unit(self, word: str) -> str:
        """[0, 1) in steps of 2^-52."""
        bits = self.words_op("or", self.words_op("lshr", word, 12), _ONE)
        return self.reals_op("fadd", self.as_reals(bits), -1.0)

    def open_unit(self, word: str) -> str:
        """(0, 1): the middles of those steps."""
        return self.reals_op("fadd", self.unit(word), 2.0**-53)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        result, kind = self.constant(coefficients[-1]), self.double
        for c in reversed(coefficients[:-1]):
            result = self(
                f"call {kind} @llvm.fmuladd.{self._suffix}({kind} {result}, {kind} {x}, "
                f"{kind} {self.constant(c)})"
            )
        return result

    def minus_log(self, u: str) -> str:
        """-log u of u > 0: u = 2^k·m with √½ ≤ m < √2, and log m by its series in m-1."""
        bits = self.words_op("add", self.as_words(u), _ONE - _ROOT_HALF)
        # An exponent e as a double: the bits of 2^52 + e, less 2^52.
        biased = self.words_op("or", self.words_op("lshr", bits, 52), _TWO_TO_52)
        exponent = self.reals_op("fadd", self.as_reals(biased), -(2.0**52 + 1023.0))
        mantissa = self.words_op("add", self.words_op("and", bits, (1 << 52) - 1), _ROOT_HALF)
        f = self.reals_op("fadd", self.as_reals(mantissa), -1.0)
        s = self.reals_op("fdiv", f, self.reals_op("fadd", f, 2.0))
        z = self.reals_op("fmul", s, s)
        rest = self.reals_op("fmul", self.polynomial(z, _LOG), z)
        half = self.reals_op("fmul", self.reals_op("fmul", f, f), 0.5)
        part = self.reals_op("fmul", s, self.reals_op("fadd", half, rest))
        log_m = self.reals_op("fsub", self.reals_op("fsub", half, part), f)
        return self.reals_op("fadd", self.reals_op("fmul", exponent, -_LOG_TWO), log_m)

    def exponential(self, x: str) -> str:
        """e^x: x = k·log 2 + r with |r| ≤ log 2 / 2, and e^r by its series; 0 below -708."""
        low = self(f"fcmp olt {self.double} {x}, {self.constant(-708.0)}")
        cut = (f"i1 {low}, {self.double} {self.constant(-708.0)}", f"{self.double} {x}")
        inside = self(f"select {cut[0]}, {cut[1]}")
        shifted = self.reals_op("fadd", self.reals_op("fmul", inside, 1 / _LOG_TWO), _ROUND)
        k = self.reals_op("fsub", shifted, _ROUND)
        r = self.reals_op("fsub", inside, self.reals_op("fmul", k, 0.6931471803691238))
        r = self.reals_op("fsub", r, self.reals_op("fmul", k, 1.9082149292705877e-10))
        series = self.polynomial(r, [1 / math.factorial(n) for n in range(14)])
        power = self.words_op("shl", self.words_op("add", self.as_words(shifted), 1023), 52)
        made = self.reals_op("fmul", series, self.as_reals(power))
        zero = f"{self.double} {self.constant(0.0)}"
        return self(f"select i1 {low}, {zero}, {self.double} {made}")

    def signed(self, value: str, word: str) -> str:
        """With the sign of the last bit of a word, which `unit` does not use."""
        sign = self.words_op("shl", word, 63)
        return self.as_reals(self.words_op("xor", self.as_words(value), sign))

    def normals(self, first: str, second: str) -> tuple[str, str]:
        """Two normal draws of two words (Box and Muller), by quarters of the circle."""
        twice = self.reals_op("fmul", self.minus_log(self.open_unit(first)), 2.0)
        radius = self(f"call {self.double} @llvm.sqrt.{self._suffix}({self.double} {twice})")
        four = self.reals_op("fmul", self.unit(second), 4.0)
        shifted = self.reals_op("fadd", four, _ROUND)  # the nearest integer is in its last bits
        quarter = self.reals_op("fsub", shifted, _ROUND)
        number = self.as_words(shifted)
        angle = self.reals_op("fmul", self.reals_op("fsub", four, quarter), 1.5707963267948966)
        square = self.reals_op("fmul", angle, angle)
        sine = self.reals_op("fmul", self.polynomial(square, _SIN), angle)
        cosine = self.polynomial(square, _COS)
        bit = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
        odd = self(f"trunc {self.i64} {number} to {bit}")
        kind = self.double
        one = self(f"select {bit} {odd}, {kind} {sine}, {kind} {cosine}")
        two = self(f"select {bit} {odd}, {kind} {cosine}, {kind} {sine}")
        # Cosine and sine of the whole angle have signs by the quarter.
        values = []
        for value, turn in ((one, self.words_op("add", number, 1)), (two, number)):
            sign = self.words_op("shl", self.words_op("and", turn, 2), 62)
            turned = self.as_reals(self.words_op("xor", self.as_words(value), sign))
            values.append(self.reals_op("fmul", turned, radius))
        return values[0], values[1]

    def draws(self, family: str, words: Sequence[str]) -> list[str]:
        """One draw of a family from each word; of normal draws there are two from two."""
        if family == "uniform":
            return [self.unit(w) for w in words]
        if family == "exponential":
            return [self.minus_log(self.open_unit(w)) for w in words]
        if family == "laplace":
            return [self.signed(self.minus_log(self.open_unit(w)), w) for w in words]
        if family == "normal":
            return list(self.normals(words[0], words[1]))
        return [self.as_reals(w) for w in words]

    # A fast sequence for a core

    def rotated(self, value: str, by: int) -> str:
        left = self.words_op("shl", value, by)
        return self.words_op("or", left, self.words_op("lshr", value, 64 - by))

    def next_word(self, state: list[str]) -> tuple[str, list[str]]:
        """A word of xoshiro256++ (Blackman and Vigna, 2019), and the state after it."""
        a, b, c, d = state
        total = self.rotated(self.words_op("add", a, d), 23)
        word = self.words_op("add", total, a)
        later = self.words_op("shl", b, 17)
        c, d = self.words_op("xor", c, a), self.words_op("xor", d, b)
        b, a = self.words_op("xor", b, c), self.words_op("xor", a, d)
        return word, [a, b, self.words_op("xor", c, later), self.rotated(d, 45)]


def fill_text(family: str) -> str:
    """`fill_family(buffer, key, second, counter)`: the buffer for the counter-th time.

    Eight sequences of xoshiro256++ side by side, whose states are words of the key and of counters
    that no other buffer has: multiplications of 64 bits are slow in vectors.
    """
    seeding = DrawText(lanes=_LANES)
    seeding.lines = []
    splats = []
    for name in ("key", "second", "counter"):
        one = f"insertelement <{_LANES} x i64> poison, i64 %{name}, i64 0"
        zero = f"<{_LANES} x i32> zeroinitializer"
        alone = seeding(one)
        vector = f"<{_LANES} x i64>"
        splats.append(seeding(f"shufflevector {vector} {alone}, {vector} poison, {zero}"))
    key, second, counter = splats
    lanes = "<" + ", ".join(f"i64 {i}" for i in range(_LANES)) + ">"
    base = seeding.words_op("add", seeding.words_op("shl", counter, 5), lanes)
    state = [seeding.word(key, second, seeding.words_op("add", base, _LANES * k)) for k in range(4)]
    body = DrawText(lanes=_LANES)
    body.lines = [""] * len(seeding.lines)  # numbers of registers go on
    first, now = body.next_word(["%s0", "%s1", "%s2", "%s3"])
    other, now = body.next_word(now)
    values = body.draws(family, [first, other])
    vector, kind = body.i64, body.double
    phis = "\n".join(
        f"  %s{k} = phi {vector} [{state[k]}, %entry], [{now[k]}, %loop]" for k in range(4)
    )
    return "\n".join(
        [
            f"define void @fill_{family}(ptr noalias %buffer, i64 %key, i64 %second, "
            "i64 %counter) noinline {",
            "entry:",
            *seeding.lines,
            "  br label %loop",
            "loop:",
            f"  %i = phi i64 [0, %entry], [%next, %loop]\n{phis}",
            *(line for line in body.lines if line),
            "  %p = getelementptr double, ptr %buffer, i64 %i",
            f"  store {kind} {values[0]}, ptr %p, align 8",
            f"  %q = getelementptr double, ptr %p, i64 {_LANES}",
            f"  store {kind} {values[1]}, ptr %q, align 8",
            f"  %next = add i64 %i, {2 * _LANES}",
            f"  %more = icmp ult i64 %next, {BUFFER}",
            "  br i1 %more, label %loop, label %end",
            "end:",
            "  ret void",
            "}\n",
        ]
    )


_UNARY = ("log", "exp", "sqrt", "rint", "floor", "ceil", "fabs", "trunc", "log2", "sin", "cos")
_LIBRARY = ("log1p", "expm1", "tanh", "log10", "atan", "erf")


def declarations(real: RealType) -> str:
    """What a kernel may call."""
    f, s = real.name, real.suffix
    lines = [f"declare {f} @llvm.{name}.{s}({f})" for name in _UNARY]
    lines += [f"declare {f} @{name}({f})" for name in _LIBRARY]
    lines += [f"declare {f} @llvm.{name}.{s}({f}, {f})" for name in ("pow", "copysign")]
    lines += [f"declare {f} @llvm.{name}.{s}({f}, {f})" for name in ("minnum", "maxnum")]
    lines += [
        f"declare {{i64, i1}} @llvm.{name}.with.overflow.i64(i64, i64)"
        for name in ("sadd", "ssub", "smul")
    ]
    lines.append("declare double @llvm.fmuladd.f64(double, double, double)")
    vector = f"<{_LANES} x double>"
    lines.append(f"declare {vector} @llvm.fmuladd.v{_LANES}f64({vector}, {vector}, {vector})")
    lines.append(f"declare {vector} @llvm.sqrt.v{_LANES}f64({vector})")
    if real.name != "double":
        lines += [f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "rint")]
    return "\n".join(lines) + "\n"


def all_fills() -> str:
    return declarations(DOUBLE) + "".join(fill_text(family) for family in FAMILIES)


class Fills:
    """The compiled fills, called from Python: what replay hands to the untouched function."""

    def __init__(self, address: Any) -> None:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint64] * 3)
        self._fills = {family: kind(address(f"fill_{family}")) for family in FAMILIES}

    def buffer(self, family: str, keys: NDArray[np.uint64], number: int) -> NDArray[np.float64]:
        """The buffer of a family that a block fills for the `number`-th time."""
        buffer = np.empty(BUFFER)
        place = 2 * FAMILIES.index(family)
        key, second = int(keys[place]), int(keys[place + 1])
        self._fills[family](buffer.ctypes.data, key, second, number)
        return buffer
