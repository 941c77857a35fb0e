"""Streams of draws by counters: words from a key and a number, and standard draws from words.

A word is a function of a key of two words and a counter: the mixing of SplitMix64 (Steele, Lea and
Flood, 2014) with a second key between its two multiplications, so that the streams of two keys are
not parts of one sequence. A block of runs has keys of its own for each family, by SeedSequence; what
is drawn there does not depend on other blocks, on who runs it, or when.

A core draws into buffers, in loops that its vector units take; a GPU draws where it needs to.
"""

from __future__ import annotations

import ctypes
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
    return seed.generate_state(2 * len(FAMILIES), np.uint64)


class DrawText:
    """Instructions that make draws, as text; `real` is the type that they are handed out in."""

    def __init__(self, real: RealType = DOUBLE, prefix: str = "d") -> None:
        self.lines: list[str] = []
        self.real = real
        self._prefix = prefix

    def __call__(self, text: str) -> str:
        register = f"%{self._prefix}{len(self.lines)}"
        self.lines.append(f"  {register} = {text}")
        return register

    def constant(self, value: float) -> str:
        return DOUBLE.constant(value)

    def word(self, key: str, second: str, counter: str) -> str:
        z = self(f"mul i64 {counter}, {_signed(_GOLDEN)}")
        z = self(f"add i64 {z}, {key}")
        z = self(f"xor i64 {z}, {self(f'lshr i64 {z}, 30')}")
        z = self(f"mul i64 {z}, {_signed(_FIRST)}")
        z = self(f"add i64 {z}, {second}")
        z = self(f"xor i64 {z}, {self(f'lshr i64 {z}, 27')}")
        z = self(f"mul i64 {z}, {_signed(_SECOND)}")
        return self(f"xor i64 {z}, {self(f'lshr i64 {z}, 31')}")

    def unit(self, word: str) -> str:
        """[0, 1) in steps of 2^-52."""
        bits = self(f"or i64 {self(f'lshr i64 {word}, 12')}, {_ONE}")
        double = self(f"bitcast i64 {bits} to double")
        return self(f"fadd double {double}, {self.constant(-1.0)}")

    def open_unit(self, word: str) -> str:
        """(0, 1): the middles of those steps."""
        return self(f"fadd double {self.unit(word)}, {self.constant(2.0**-53)}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        result = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self(
                f"call double @llvm.fmuladd.f64(double {result}, double {x}, "
                f"double {self.constant(c)})"
            )
        return result

    def minus_log(self, u: str) -> str:
        """-log u of 0 < u < 1: u = 2^k·m with √½ ≤ m < √2, and log m by its series in m-1."""
        bits = self(f"bitcast double {u} to i64")
        shifted = self(f"add i64 {bits}, {_ONE - _ROOT_HALF}")
        k = self(f"sub i64 {self(f'lshr i64 {shifted}, 52')}, 1023")
        mantissa = self(f"add i64 {self(f'and i64 {shifted}, {(1 << 52) - 1}')}, {_ROOT_HALF}")
        m = self(f"bitcast i64 {mantissa} to double")
        f = self(f"fadd double {m}, {self.constant(-1.0)}")
        s = self(f"fdiv double {f}, {self(f'fadd double {f}, {self.constant(2.0)}')}")
        z = self(f"fmul double {s}, {s}")
        rest = self(f"fmul double {self.polynomial(z, _LOG)}, {z}")
        half = self(f"fmul double {self(f'fmul double {f}, {f}')}, {self.constant(0.5)}")
        part = self(f"fmul double {s}, {self(f'fadd double {half}, {rest}')}")
        log_m = self(f"fsub double {self(f'fsub double {half}, {part}')}, {f}")
        exponent = self(f"sitofp i64 {k} to double")
        scaled = self(f"fmul double {exponent}, {self.constant(-0.6931471805599453)}")
        return self(f"fadd double {scaled}, {log_m}")

    def signed(self, value: str, word: str) -> str:
        """With the sign of the last bit of a word, which `unit` does not use."""
        bits = self(f"bitcast double {value} to i64")
        flipped = self(f"xor i64 {bits}, {self(f'shl i64 {word}, 63')}")
        return self(f"bitcast i64 {flipped} to double")

    def normals(self, first: str, second: str) -> tuple[str, str]:
        """Two normal draws of two words (Box and Muller), by quarters of the circle."""
        twice = self(f"fmul double {self.minus_log(self.open_unit(first))}, {self.constant(2.0)}")
        radius = self(f"call double @llvm.sqrt.f64(double {twice})")
        four = self(f"fmul double {self.unit(second)}, {self.constant(4.0)}")
        quarter = self(f"call double @llvm.rint.f64(double {four})")
        angle = self(f"fsub double {four}, {quarter}")
        angle = self(f"fmul double {angle}, {self.constant(1.5707963267948966)}")
        square = self(f"fmul double {angle}, {angle}")
        sine = self(f"fmul double {self.polynomial(square, _SIN)}, {angle}")
        cosine = self.polynomial(square, _COS)
        number = self(f"fptosi double {quarter} to i64")
        odd = self(f"trunc i64 {number} to i1")
        one = self(f"select i1 {odd}, double {sine}, double {cosine}")
        two = self(f"select i1 {odd}, double {cosine}, double {sine}")
        # cos and sin of the whole angle: signs by the quarter.
        later = self(f"add i64 {number}, 1")
        one_sign = self(f"shl i64 {self(f'and i64 {later}, 2')}, 62")
        two_sign = self(f"shl i64 {self(f'and i64 {number}, 2')}, 62")
        values = []
        for value, sign in ((one, one_sign), (two, two_sign)):
            bits = self(f"bitcast double {value} to i64")
            turned = self(f"bitcast i64 {self(f'xor i64 {bits}, {sign}')} to double")
            values.append(self(f"fmul double {turned}, {radius}"))
        return values[0], values[1]

    def draws(self, family: str, words: Sequence[str]) -> list[str]:
        """One draw of a family from each of two words."""
        if family == "uniform":
            return [self.unit(w) for w in words]
        if family == "exponential":
            return [self.minus_log(self.open_unit(w)) for w in words]
        if family == "laplace":
            return [self.signed(self.minus_log(self.open_unit(w)), w) for w in words]
        if family == "normal":
            return list(self.normals(words[0], words[1]))
        return [self(f"bitcast i64 {w} to double") for w in words]


def fill_text(family: str) -> str:
    """`fill_family(buffer, half, key, second, counter)`: 2·half draws of the words from 2·counter.

    The two draws of a step go to the two halves of the buffer.
    """
    text = DrawText()
    at = text("add i64 %i, %counter")
    even = text(f"shl i64 {at}, 1")
    odd = text(f"or i64 {even}, 1")
    words = [text.word("%key", "%second", w) for w in (even, odd)]
    first, second = text.draws(family, words)
    body = "\n".join(text.lines)
    return f"""
define void @fill_{family}(ptr noalias %buffer, i64 %half, i64 %key, i64 %second, i64 %counter) noinline {{
entry:
  %upper = getelementptr double, ptr %buffer, i64 %half
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{body}
  %p = getelementptr double, ptr %buffer, i64 %i
  store double {first}, ptr %p
  %q = getelementptr double, ptr %upper, i64 %i
  store double {second}, ptr %q
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %half
  br i1 %more, label %loop, label %end
end:
  ret void
}}
"""


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
    if real.name != "double":
        lines += [f"declare double @llvm.{name}.f64(double)" for name in ("sqrt", "rint")]
    return "\n".join(lines) + "\n"


def all_fills() -> str:
    return declarations(DOUBLE) + "".join(fill_text(family) for family in FAMILIES)


class Fills:
    """The compiled fills, called from Python: what replay hands to the untouched function."""

    def __init__(self, address: Any) -> None:
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint64] * 4)
        self._fills = {family: kind(address(f"fill_{family}")) for family in FAMILIES}

    def buffer(self, family: str, keys: NDArray[np.uint64], number: int) -> NDArray[np.float64]:
        """The buffer of a family that a block fills for the `number`-th time."""
        buffer = np.empty(BUFFER)
        place = 2 * FAMILIES.index(family)
        half = BUFFER // 2
        key, second = int(keys[place]), int(keys[place + 1])
        self._fills[family](buffer.ctypes.data, half, key, second, number * half)
        return buffer
