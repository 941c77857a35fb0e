"""From a Python function to a program of the while language.

The function's syntax tree is walked with an environment. Numbers live in the program's memory;
lists, loop counters and parameters are known while reading. `for` loops over data of a given length
are unrolled, `while` loops stay loops. Where a branch returns, leaves a loop or changes a list,
what follows is read once for each branch. Everything else is refused, with its line.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpest.ask.declaration import Mechanism
from dpest.errors import UntraceableError
from dpest.kernel.judgments.assertions import FALSE, TRUE, number, variable
from dpest.kernel.judgments.programs import Assign, DrawStatement, If, Program, Statement, While
from dpest.kernel.judgments.skeletons import ReturnSkeleton, output_names
from dpest.reading.programs.expressions import ProgramExpressions
from dpest.reading.programs.outputs import ProgramReturn, finished, in_table
from dpest.reading.programs.values import (
    FLOAT,
    Continue,
    ProgramConstant,
    ProgramGenerator,
    ProgramNumber,
    ProgramState,
    ProgramTruth,
    Sequence_,
    Value,
    of_variable,
    plain_value,
)

_MOST = 20_000
_DEEPEST = 12


@dataclass(frozen=True)
class ProgramCode:
    """A function as a program: its input variables, its statements, its source, what it returns.

    `skeletons` are those that it may return, and `table` those that the variable of the skeleton
    counts in: where two programs are compared, those of both.
    """

    function: str
    argument: str
    inputs: tuple[str, ...]
    program: Program
    source: str
    skeletons: tuple[ReturnSkeleton, ...]
    table: tuple[ReturnSkeleton, ...]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The output variables."""
        return output_names(self.table)

    def among(self, table: tuple[ReturnSkeleton, ...]) -> ProgramCode:
        """The same with the outputs of a longer table."""
        return replace(self, program=in_table(self.program, self.table, table), table=table)


def translated(
    mechanism: Mechanism, length: int | None, *, products: bool = False, curves: bool = False
) -> ProgramCode:
    """The program of a function of one number (`length` None), or of a list of `length` numbers.

    With `products`, numbers may be multiplied, and with `curves` divided, raised to powers and
    handed to exp, log and sqrt, by statements that the kernel doesn't know.
    """
    try:
        return _translated(mechanism, length, Translator(products, curves))
    except (SyntaxError, RecursionError, TypeError, ValueError, AttributeError) as error:
        # Something about the function that nobody has thought of: it is refused.
        raise UntraceableError(
            f"{mechanism.name} can't be read as a program ({type(error).__name__})",
            "Write it as a plain def.",
            "",
        ) from None


def _translated(mechanism: Mechanism, length: int | None, reader: Translator) -> ProgramCode:
    function = mechanism.function
    with reader.place(function):
        node, source = reader.definition(function)
        argument = node.args.args[0].arg
        if argument == "out":
            reader.refuse(node, "an input called out, as outputs are", "Rename it.")
        data: Value
        if length is None:
            inputs: tuple[str, ...] = (argument,)
            data = of_variable(argument, FLOAT)
        else:
            inputs = tuple(f"{argument}.{i}" for i in range(length))
            data = Sequence_(tuple(of_variable(name, FLOAT) for name in inputs), "list")
        names: dict[str, Value] = {argument: data}
        for name, value in mechanism.all_params.items():
            names[name] = reader.known(value)
        for parameter in [*node.args.args[1:], *node.args.kwonlyargs]:
            if parameter.arg == "rng":
                names["rng"] = ProgramConstant(ProgramGenerator())
            elif parameter.arg not in names:
                reader.refuse(node, f"the parameter {parameter.arg} has no value", "Give params=.")
        state = ProgramState(
            names, "", {**inspect.getclosurevars(function).builtins, **_names(function)}
        )
        program = reader.body(node, state)
    skeletons, code = finished(program, function.__name__)
    return ProgramCode(
        function.__name__, argument, inputs, code, source, skeletons, table=skeletons
    )


def _names(function: Callable[..., Any]) -> dict[str, Any]:
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


class Translator(ProgramExpressions):
    """Walks statements; `Expressions` walks expressions. One object for one function."""

    def __init__(self, products: bool = False, curves: bool = False) -> None:
        super().__init__(products, curves)
        self._files: list[str] = []
        self._size = 0

    @contextmanager
    def place(self, function: Callable[..., Any]) -> Iterator[None]:
        code = getattr(function, "__code__", None)
        self._files.append(getattr(code, "co_filename", "?"))
        if len(self._files) > _DEEPEST:
            raise UntraceableError("calls are too deep", "Write the program flat.", self._files[0])
        yield
        self._files.pop()

    def refuse(self, node: ast.AST, what: str, advice: str = "") -> Any:
        place = f"{self._files[-1]}:{self._first + getattr(node, 'lineno', 1) - 1}"
        raise UntraceableError(what, advice or "A judgment needs plain numeric code.", place)

    def definition(self, function: Callable[..., Any]) -> tuple[ast.FunctionDef, str]:
        if not isinstance(function, types.FunctionType) or hasattr(function, "__wrapped__"):
            raise UntraceableError(f"{function!r} is no plain function", "Give a def.", "")
        try:
            lines, self._first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise UntraceableError(
                f"{function.__name__} has no source", "Use a file.", ""
            ) from None
        source = inspect.cleandoc("\n" + "".join(lines))
        tree = ast.parse(source).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise UntraceableError(f"{function.__name__} is no def", "Give a def.", "")
        return tree, source

    def known(self, value: Any) -> Value:
        """A parameter's value."""
        if type(value) in (list, tuple):
            return Sequence_(tuple(map(self.known, value)), type(value).__name__)
        return plain_value(value)

    # Statements, each followed by what comes next

    def body(self, node: ast.FunctionDef, state: ProgramState) -> tuple[Any, ...]:
        def end(_: ProgramState) -> tuple[Any, ...]:
            return (ProgramReturn((ProgramConstant(None),), "scalar"),)

        return self.block(node.body, state, end, None, None)

    def block(
        self,
        statements: list[ast.stmt],
        state: ProgramState,
        then: Continue,
        leave: Continue | None,
        again: Continue | None,
    ) -> tuple[Any, ...]:
        if not statements:
            return tuple(then(state))
        self._size += 1
        head, rest = statements[0], statements[1:]
        if self._size > _MOST:
            self.refuse(head, "the program is too long", "Take a smaller length.")

        def go_on(after: ProgramState) -> tuple[Any, ...]:
            return self.block(rest, after, then, leave, again)

        if isinstance(head, ast.Return):
            return self._return(head, state)
        if isinstance(head, ast.Break) and leave is not None:
            return tuple(leave(state))
        if isinstance(head, ast.Continue) and again is not None:
            return tuple(again(state))
        if isinstance(head, ast.If):
            return self._if(head, state, go_on, leave, again)
        if isinstance(head, ast.For):
            return self._for(head, state, go_on)
        if isinstance(head, ast.While):
            return self._while(head, state, go_on)
        return self._simple(head, state, go_on)

    def _simple(self, head: ast.stmt, state: ProgramState, go_on: Continue) -> tuple[Any, ...]:
        if isinstance(head, ast.Pass) or _is_text(head):
            return tuple(go_on(state))
        if isinstance(head, ast.Assign) and len(head.targets) == 1:
            return self._assign(head.targets[0], head.value, state, go_on)
        if isinstance(head, ast.AnnAssign) and head.value is not None:
            return self._assign(head.target, head.value, state, go_on)
        if isinstance(head, ast.AugAssign) and isinstance(head.target, ast.Name):
            left = ast.copy_location(ast.Name(head.target.id, ast.Load()), head)
            value = ast.copy_location(ast.BinOp(left, head.op, head.value), head)
            return self._assign(head.target, value, state, go_on)
        if isinstance(head, ast.Expr) and isinstance(head.value, ast.Call):
            call = head.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
                return self._append(call, state, go_on)
        return self.refuse(head, f"`{ast.unparse(head).splitlines()[0]}` is not known to judgments")

    def _assign(
        self, target: ast.expr, value: ast.expr, state: ProgramState, go_on: Continue
    ) -> tuple[Any, ...]:
        before: list[Statement] = []
        found = self.value(value, state, before)
        shared = isinstance(found, Sequence_) and found.mutable and not isinstance(value, ast.List)
        if shared and not isinstance(target, ast.Tuple):
            self.refuse(target, "a second name for a list", "Use one name for it.")
        pairs: list[tuple[ast.expr, Value]] = [(target, found)]
        if isinstance(target, ast.Tuple):
            items = found.items if isinstance(found, Sequence_) else ()
            if len(items) != len(target.elts):
                self.refuse(target, "an assignment of several values that can't be told apart")
            if any(isinstance(v, (ProgramNumber, ProgramTruth)) and _depends(v) for v in items):
                self.refuse(target, "several numbers are assigned at once", "Use a line for each.")
            pairs = list(zip(target.elts, items, strict=True))
        for name, item in pairs:
            if not isinstance(name, ast.Name):
                self.refuse(target, f"an assignment to `{ast.unparse(target)}`", "Use plain names.")
            assert isinstance(name, ast.Name)
            state = self.store(name.id, item, state, before)
        return (*before, *go_on(state))

    def store(
        self, name: str, value: Value, state: ProgramState, before: list[Statement]
    ) -> ProgramState:
        """A number goes to the memory under its name; what is no number is known here alone."""
        if isinstance(value, ProgramTruth) and value.test not in (TRUE, FALSE):
            memory = state.memory(name)
            ways = (Assign(memory, number(Fraction(v))) for v in (1, 0))
            before.append(If(value.test, (next(ways),), (next(ways),)))
            return state.with_(name, of_variable(memory, value.kind))
        if isinstance(value, Sequence_) and any(_is_free(item) for item in value.items):
            items = (
                self.settled(f"{name}.{i}", item, state, before)
                for i, item in enumerate(value.items)
            )
            return state.with_(name, Sequence_(tuple(items), value.kind, value.mutable))
        if not isinstance(value, ProgramNumber):
            return state.with_(name, value)
        memory = state.memory(name)
        last = before[-1] if before else None
        if isinstance(last, DrawStatement) and value.form == of_variable(last.name, "").form:
            before[-1] = DrawStatement(memory, last.centre, last.noise)
        elif value.form != of_variable(memory, "").form:
            before.append(Assign(memory, value.form))
        if value.constant is not None:
            return state.with_(name, value)  # known, and in the memory as well
        return state.with_(name, of_variable(memory, value.kind))

    def _append(self, call: ast.Call, state: ProgramState, go_on: Continue) -> tuple[Any, ...]:
        assert isinstance(call.func, ast.Attribute)
        name = call.func.value
        found = state.names.get(name.id) if isinstance(name, ast.Name) else None
        if not isinstance(found, Sequence_) or not found.mutable or len(call.args) != 1:
            return self.refuse(call, "append to what is no list made here")
        assert isinstance(name, ast.Name)
        before: list[Statement] = []
        item = self.value(call.args[0], state, before)
        item = self.settled(f"{name.id}.{len(found.items)}", item, state, before)
        longer = Sequence_((*found.items, item), "list", True)
        return (*before, *go_on(state.with_(name.id, longer)))

    def settled(
        self, name: str, item: Value, state: ProgramState, before: list[Statement]
    ) -> Value:
        """A number that is kept in a list: in a variable of its own, so that it stays."""
        if isinstance(item, ProgramNumber) and item.constant is None:
            return self.store(name, item, state, before).names[name]
        if isinstance(item, ProgramTruth) and item.test not in (TRUE, FALSE):
            return self.store(name, item, state, before).names[name]
        return item

    def _return(self, head: ast.Return, state: ProgramState) -> tuple[Any, ...]:
        if isinstance(head.value, ast.Call):
            inner = self.inlined(head.value, state)
            if inner is not None:
                return inner
        before: list[Statement] = []
        if head.value is None:
            return (ProgramReturn((ProgramConstant(None),), "scalar"),)
        found = self.value(head.value, state, before)
        if isinstance(found, Sequence_):
            return (*before, ProgramReturn(found.items, found.kind))
        return (*before, ProgramReturn((found,), "scalar"))

    def inlined(self, call: ast.Call, state: ProgramState) -> tuple[Any, ...] | None:
        """`return helper(…)`: the helper's body in place of the call."""
        function = state.globals.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if not isinstance(function, types.FunctionType):
            return None
        before: list[Statement] = []
        first = self._first
        positional = [self.value(a, state, before) for a in call.args]
        named = {k.arg: self.value(k.value, state, before) for k in call.keywords if k.arg}
        if len(named) != len(call.keywords):
            self.refuse(call, "a call with **")
        try:
            bound = inspect.signature(function).bind(*positional, **named)
        except TypeError as error:
            self.refuse(call, str(error))
        names: dict[str, Value] = {k: _passed(v) for k, v in bound.arguments.items()}
        prefix = f"{function.__name__}."
        if state.prefix.startswith(prefix):
            self.refuse(call, "a recursion")
        with self.place(function):
            node, _ = self.definition(function)
            for name, parameter in inspect.signature(function).parameters.items():
                if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                    self.refuse(call, "a helper with * or **")
                if name not in names:
                    names[name] = self.known(parameter.default)
            builtins = inspect.getclosurevars(function).builtins
            found = self.body(node, ProgramState(names, prefix, {**builtins, **_names(function)}))
        self._first = first
        return (*before, *found)

    # Branches and loops

    def _if(
        self,
        head: ast.If,
        state: ProgramState,
        go_on: Continue,
        leave: Continue | None,
        again: Continue | None,
    ) -> tuple[Any, ...]:
        before: list[Statement] = []
        test = self.test(head.test, state, before)
        if test in (TRUE, FALSE):
            chosen = head.body if test == TRUE else head.orelse
            return (*before, *self.block(chosen, state, go_on, leave, again))
        joined_ways = self._merged(head, state) if _stays(head) else None
        if joined_ways is not None:
            merged, then, other = joined_ways
            return (*before, If(test, then, other), *go_on(merged))
        then = self.block(head.body, state, go_on, leave, again)
        other = self.block(head.orelse, state, go_on, leave, again)
        return (*before, If(test, then, other))

    def _merged(
        self, head: ast.If, state: ProgramState
    ) -> tuple[ProgramState, Program, Program] | None:
        """Both branches, and the names after them: what differs is in the memory.

        None if they leave lists of different lengths or values of different types behind.
        """
        ends: list[ProgramState] = []

        def end(after: ProgramState) -> tuple[Any, ...]:
            ends.append(after)
            return ()

        then = self.block(head.body, state, end, None, None)
        between = len(ends)
        other = self.block(head.orelse, state, end, None, None)
        if between != 1 or len(ends) != 2:
            return None
        one, two = ends
        merged = ProgramState(
            {k: v for k, v in state.names.items() if k in one.names and k in two.names},
            state.prefix,
            state.globals,
        )
        for name in one.names.keys() & two.names.keys():
            found = self._joined(name, one.names[name], two.names[name], state)
            if found is None:
                return None
            value, left, right = found
            merged, then, other = merged.with_(name, value), (*then, *left), (*other, *right)
        return merged, then, other

    def _joined(
        self, name: str, left: Value, right: Value, state: ProgramState
    ) -> tuple[Value, tuple[Statement, ...], tuple[Statement, ...]] | None:
        """One value for two, and what each branch has to store for it."""
        if left == right:
            return left, (), ()
        memory = state.memory(name)
        if isinstance(left, Sequence_) and isinstance(right, Sequence_):
            if len(left.items) != len(right.items) or left.kind != right.kind:
                return None
            items: list[Value] = []
            stores: tuple[list[Statement], list[Statement]] = ([], [])
            for i, (a, b) in enumerate(zip(left.items, right.items, strict=True)):
                found = self._joined(f"{name}.{i}", a, b, state)
                if found is None:
                    return None
                items.append(found[0])
                stores[0].extend(found[1])
                stores[1].extend(found[2])
            both = Sequence_(tuple(items), left.kind, left.mutable and right.mutable)
            return both, tuple(stores[0]), tuple(stores[1])
        one, two = _plain(left), _plain(right)
        if one is None or two is None or one.kind != two.kind:
            return None
        ways = (
            () if value.form == variable(memory) else (Assign(memory, value.form),)
            for value in (one, two)
        )
        return of_variable(memory, one.kind), next(ways), next(ways)

    def _for(self, head: ast.For, state: ProgramState, go_on: Continue) -> tuple[Any, ...]:
        if head.orelse:
            self.refuse(head, "for … else")
        before: list[Statement] = []
        over = self.value(head.iter, state, before)
        if not isinstance(over, Sequence_):
            self.refuse(head, "a loop over what is no list of known length")
        assert isinstance(over, Sequence_)
        if over.mutable and any(_appends(inner, head.iter) for inner in ast.walk(head)):
            self.refuse(head, "a loop over a list that grows in it")
        items = tuple(self._kept(item, state, before) for item in over.items)

        def turn(i: int, now: ProgramState) -> tuple[Any, ...]:
            if i == len(items):
                return tuple(go_on(now))
            inside = self._bound(head.target, items[i], now)

            def next_turn(after: ProgramState) -> tuple[Any, ...]:
                return turn(i + 1, after)

            return self.block(head.body, inside, next_turn, go_on, next_turn)

        return (*before, *turn(0, state))

    def _kept(self, item: Value, state: ProgramState, before: list[Statement]) -> Value:
        """What a loop goes over stays as it was before the loop."""
        if isinstance(item, Sequence_):
            inner = (self._kept(part, state, before) for part in item.items)
            return Sequence_(tuple(inner), item.kind)
        if isinstance(item, ProgramNumber) and all("." in name for name in item.form.terms):
            return item  # inputs, and items of lists: they are assigned once
        return self.settled(self.fresh(state), item, state, before)

    def _bound(self, target: ast.expr, item: Value, state: ProgramState) -> ProgramState:
        if isinstance(target, ast.Name):
            return state.with_(target.id, item)
        if isinstance(target, ast.Tuple) and isinstance(item, Sequence_):
            for part, value in zip(target.elts, item.items, strict=True):
                state = self._bound(part, value, state)
            return state
        return self.refuse(target, "an unknown loop variable")

    def _while(self, head: ast.While, state: ProgramState, go_on: Continue) -> tuple[Any, ...]:
        if head.orelse or not _stays(head) or _grows(head):
            self.refuse(head, "a while loop with break, continue, return, else or a list")
        inside = state
        entry: list[Statement] = []
        for name in _assigned(head):
            value = state.names.get(name)
            if value is None:
                continue  # made in the body, and not known before or after
            if not isinstance(value, ProgramNumber):
                self.refuse(head, f"{name} is no number before the loop", "Give it one.")
            assert isinstance(value, ProgramNumber)
            memory = state.memory(name)
            if value.form != variable(memory):
                entry.append(Assign(memory, value.form))
            inside = inside.with_(name, of_variable(memory, value.kind))
        before: list[Statement] = []
        test = self.test(head.test, inside, before)
        if before:
            self.refuse(head, "a loop whose test draws or chooses", "Draw before the test.")
        ends: list[ProgramState] = []

        def end(after: ProgramState) -> tuple[Any, ...]:
            ends.append(after)
            return ()

        body = self.block(head.body, inside, end, None, None)
        for name in _assigned(head):
            if name not in inside.names:
                continue
            was, now = inside.names[name], ends[0].names[name]
            if (
                not isinstance(now, ProgramNumber)
                or not isinstance(was, ProgramNumber)
                or now.kind != was.kind
            ):
                self.refuse(head, f"{name} changes its type in the loop", "Start with that type.")
        return (*entry, While(test, body), *go_on(inside))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _appends(node: ast.AST, to: ast.expr) -> bool:
    is_append = isinstance(node, ast.Attribute) and node.attr == "append"
    return is_append and ast.unparse(node.value) == ast.unparse(to)  # type: ignore[attr-defined]


def _passed(value: Value) -> Value:
    """A list that a helper is handed is not changed there."""
    return Sequence_(value.items, value.kind) if isinstance(value, Sequence_) else value


def _is_free(item: Value) -> bool:
    """A number that may change after it was put into a list: all but inputs and constants."""
    if isinstance(item, ProgramTruth):
        return item.test not in (TRUE, FALSE)
    return isinstance(item, ProgramNumber) and item.constant is None


def _depends(value: ProgramNumber | ProgramTruth) -> bool:
    return isinstance(value, ProgramTruth) or value.constant is None


def _stays(node: ast.stmt) -> bool:
    """Nothing inside leaves the statement, so that what follows may be read once."""
    leaves = (ast.Return, ast.Break, ast.Continue, ast.For)
    return not any(isinstance(inner, leaves) for inner in ast.walk(node))


def _grows(node: ast.stmt) -> bool:
    """Whether a list is made or changed inside."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr == "append":
            return True
        if isinstance(inner, ast.Assign) and isinstance(inner.value, (ast.List, ast.Tuple)):
            return True
    return False


def _plain(value: Value) -> ProgramNumber | None:
    """A number, or a bool that is known, as one."""
    if isinstance(value, ProgramTruth) and value.test in (TRUE, FALSE):
        return ProgramNumber(number(Fraction(int(value.test == TRUE))), value.kind)
    return value if isinstance(value, ProgramNumber) else None


def _assigned(node: ast.stmt) -> list[str]:
    found: dict[str, None] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found[inner.id] = None
    return list(found)
