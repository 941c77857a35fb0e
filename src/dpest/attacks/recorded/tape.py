"""The tape of a run: every draw, and every place where noise met a value.

A run on x writes the tape. A run on x2 plays it: each draw returns what it returned on x, and each
noisy value is the one of x, whatever the value before the noise is now. Two things come out of it.
The values before noise of both runs lie side by side. And whatever differs apart from them is not
protected by any of the noise.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpest.errors import located

Floats = NDArray[np.float64]
Atoms = NDArray[np.int64]
Kind = Literal["sum", "coin", "choice", "primitive", "seed"]

_PACKAGE = str(Path(__file__).parents[2])
# Code between a person's line and a hook: places are given outside of it.
_PASSED_OVER = ("/numpy/", "/scipy/", "/torch/", "/random.py", "/secrets.py", "/contextlib.py")


@dataclass(frozen=True)
class TapedPlace:
    """A line of code, and the line of the user's own code that led there."""

    file: str
    line: int
    function: str
    text: str = ""
    user: str = ""

    def __str__(self) -> str:
        here = f"{located(f'{self.file}:{self.line}')} in {self.function}"
        return f"{here}, called at {self.user}" if self.user else here


def place() -> TapedPlace:
    """Where the audited code stands: the innermost frame that is not ours, NumPy's or torch's."""
    frame: FrameType | None = sys._getframe(1)
    found: TapedPlace | None = None
    while frame is not None:
        file = frame.f_code.co_filename
        ours = file.startswith(_PACKAGE) and "/zoo/" not in file
        made = file.startswith("<") and not file.startswith(("<string>", "<stdin>", "<ipython"))
        skipped = ours or made or any(part in file for part in _PASSED_OVER)
        if not skipped:
            if found is None:
                text = linecache.getline(file, frame.f_lineno).strip()
                found = TapedPlace(file, frame.f_lineno, frame.f_code.co_name, text)
                if "site-packages" not in file:
                    return found
            elif "site-packages" not in file and "/dpest/" not in file:
                user = f"{file}:{frame.f_lineno}"
                return TapedPlace(found.file, found.line, found.function, found.text, user)
        frame = frame.f_back
    return found or TapedPlace("?", 0, "?")


@dataclass
class TapedDraw:
    """One call that drew noise: its law, its scale for each number, the numbers themselves."""

    law: str
    scale: Floats
    words: str
    place: TapedPlace
    first: int  # the number of its first atom; each number that is drawn is an atom
    values: NDArray[Any]
    followed: bool = False  # whether the noise was seen to meet a value

    @property
    def size(self) -> int:
        return int(self.values.size)


@dataclass
class Use:
    """Noise met a value, or a primitive of a library was called.

    `sum`: `value` + noise = `noisy`, for the noise Σ factor·atom of `terms`. `coin`: noise was
    compared with `value`. `choice`: one of the candidates with probabilities `value`. `primitive`:
    a library's own mechanism, with its `parameters`. `seed`: a generator was seeded.
    """

    kind: Kind
    value: Any
    noisy: Any
    place: TapedPlace
    terms: tuple[tuple[Atoms, Floats], ...] = ()
    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    replaces: tuple[int, ...] = ()  # earlier uses of the same noise, of which this one goes on
    handled: bool = False  # whether its result was used otherwise than by going on
    released: bool = False  # whether its result is in the output as it is
    settles: bool = True  # whether the value was one, and not the zero that a sum begins with


@dataclass(frozen=True)
class Divergence:
    """The run on x2 did something else than the run on x."""

    words: str
    first: TapedPlace | None
    second: TapedPlace | None
    sampling: bool = False  # uniform draws, one for each record: how records are sampled


class Diverged(BaseException):
    """Ends a run that can't be played any further. (Not an Exception: user code catches those.)"""

    def __init__(self, divergence: Divergence) -> None:
        super().__init__(divergence.words)
        self.divergence = divergence


class Tape:
    """What one run did. With `master`, the run plays what the run on x had recorded."""

    def __init__(self, master: Tape | None = None) -> None:
        self.master = master
        self.draws: list[TapedDraw] = []
        self.uses: list[Use] = []
        self.atoms = 0
        self.muted = 0  # > 0 inside a library's primitive, which is hooked as a whole
        self.ended = False
        self.divergence: Divergence | None = None

    # Draws ---------------------------------------------------------------------------------------

    def draw(self, law: str, scale: Any, words: str, values: Any) -> tuple[TapedDraw, NDArray[Any]]:
        """Write down a draw; in a replay its numbers are those of the record."""
        numbers = np.asarray(values)
        scales = np.broadcast_to(np.asarray(scale, dtype=float), numbers.shape)
        where = place()
        if self.master is not None:
            numbers = self._played(law, words, numbers, where)
        made = TapedDraw(law, scales, words, where, self.atoms, numbers)
        self.draws.append(made)
        self.atoms += made.size
        return made, numbers

    def _played(
        self, law: str, words: str, numbers: NDArray[Any], where: TapedPlace
    ) -> NDArray[Any]:
        assert self.master is not None
        at = len(self.draws)
        if at >= len(self.master.draws):
            raise self._diverged(Divergence(f"draws {words}, which x did not draw", None, where))
        before = self.master.draws[at]
        if before.law != law:
            said = f"draws {words}, where x drew {before.words}"
            raise self._diverged(Divergence(said, before.place, where))
        if before.values.shape != numbers.shape:
            said = f"draws {numbers.size} numbers ({words}), where x drew {before.values.size}"
            sampling = law == "uniform"
            raise self._diverged(Divergence(said, before.place, where, sampling))
        return before.values.copy()

    def _diverged(self, divergence: Divergence) -> Diverged:
        """From here on nothing is played: user code may catch everything and go on."""
        self.divergence, self.ended = divergence, True
        return Diverged(divergence)

    def atom_scale(self, atoms: Atoms) -> tuple[list[str], Floats]:
        """The law and the scale of each of these atoms."""
        starts = np.array([d.first for d in self.draws])
        owners = np.searchsorted(starts, atoms.ravel(), side="right") - 1
        laws, scales = [], []
        for owner, atom in zip(owners, atoms.ravel(), strict=True):
            draw = self.draws[owner]
            laws.append(draw.law)
            scales.append(float(draw.scale.ravel()[atom - draw.first]))
        return laws, np.array(scales, dtype=float)

    def follow(self, atoms: Atoms) -> None:
        """These atoms are accounted for: they met a value."""
        if not self.draws:
            return
        starts = np.array([d.first for d in self.draws])
        for owner in np.unique(np.searchsorted(starts, atoms.ravel(), side="right") - 1):
            self.draws[owner].followed = True

    # Uses ----------------------------------------------------------------------------------------

    def use(self, made: Use) -> Any:
        """Write down a use; in a replay its result is the one of the record."""
        for atoms, _ in made.terms:
            self.follow(atoms)
        if self.master is not None:
            made.noisy = self._frozen(made)
        self.uses.append(made)
        return made.noisy

    def expected(self, name: str) -> Any:
        """The frozen result of a primitive that is about to be called again."""
        assert self.master is not None
        return self._frozen(Use("primitive", None, None, place(), name=name))

    def _frozen(self, made: Use) -> Any:
        assert self.master is not None
        at = len(self.uses)
        if at >= len(self.master.uses):
            said = f"{_deed(made)}, which x did not"
            raise self._diverged(Divergence(said, None, made.place))
        before = self.master.uses[at]
        shapes = made.kind == "sum" and np.shape(before.noisy) != np.shape(made.noisy)
        if before.kind != made.kind or before.name != made.name or shapes:
            said = f"{_deed(made)}, where x {_deed(before)}"
            raise self._diverged(Divergence(said, before.place, made.place))
        return before.noisy

    def missing(self) -> Divergence | None:
        """What the run on x did after this run had ended."""
        assert self.master is not None
        if len(self.uses) < len(self.master.uses):
            lost = self.master.uses[len(self.uses)]
            return Divergence(f"ends where x {_deed(lost)}", lost.place, None)
        if len(self.draws) < len(self.master.draws):
            draw = self.master.draws[len(self.draws)]
            return Divergence(f"ends where x draws {draw.words}", draw.place, None)
        return None


def _deed(use: Use) -> str:
    if use.kind == "sum":
        size = int(np.size(use.noisy))
        return f"adds noise to {size} number{'s' if size > 1 else ''}"
    if use.kind == "primitive":
        return f"calls {use.name}"
    if use.kind == "choice":
        return "chooses at random"
    if use.kind == "seed":
        return "seeds a generator"
    return "compares noise with a number"
