"""Statements: assignments, loops and returns."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba.core import types

from chasles.kernel.translate.choice import Choices
from chasles.kernel.translate.expression import UntranslatedError, Value
from chasles.kernel.translate.syntax import ARITHMETIC, names_in


class WiderError(Exception):
    """A variable of a loop has another type at its end than at its beginning: once more, with the common type."""


class Loop:
    """A loop: where it goes on, and where in memory its variables are."""

    def __init__(self, node: ast.For | ast.While, header: ir.Block, after: ir.Block):
        self.node, self.header, self.after = node, header, after
        self.kept: dict[str, tuple[Any, Any]] = {}  # what was set before: memory and type
        self.sets: list[str] = []  # what else it sets that is read after it, and
        self.new: dict[str, tuple[Any, Any]] = {}  # the same for these
        self.outer: dict[str, Value] = {}  # all variables at the beginning of a round
        self.left = False  # whether anything goes to `after`


class Statements(Choices):
    """Writes the statements of a function."""

    def __init__(self, typing: Any, context: Any, function: FunctionType, tree: ast.FunctionDef):
        super().__init__(typing, context, function)
        self.tree = tree
        self.loops: list[Loop] = []
        self.returned: list[tuple[ir.Block, Value]] = []
        self.wider: dict[tuple[ast.AST, str], Any] = {}  # types of variables of loops, found when it was tried before
        reads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
        changes = [node.target for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
        self.last_read: dict[str, tuple[int, int]] = {}
        for one in [*reads, *changes]:
            if isinstance(one, ast.Name):
                place = one.lineno, one.col_offset
                self.last_read[one.id] = max(place, self.last_read.get(one.id, place))

    def statements(self, nodes: Sequence[ast.stmt]) -> bool:
        """Write statements; gives whether the end of them is reached."""
        return all(self.statement(node) for node in nodes)

    def statement(self, node: ast.stmt) -> bool:
        """Write a statement; gives whether what follows is reached."""
        found = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        if found is None:
            raise UntranslatedError(type(node).__name__)
        return found(node) is not False

    def used_after(self, node: ast.AST) -> Any:
        """Whether a variable is read after a statement, or before it in a loop that comes back."""
        end = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]

        def used(name: str) -> bool:
            if self.last_read.get(name, (0, 0)) > end:
                return True
            return any(name in names_in(loop.node)[0] for loop in self.loops)

        return used

    # ------------------------------------------------------------ assignments

    def _on_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.expression(node.value)

    def _on_pass(self, node: ast.Pass) -> None:
        pass

    def _on_assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Tuple) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            plain = len(node.value.elts) == len(node.targets[0].elts)
            starred = any(isinstance(one, ast.Starred) for one in [*node.value.elts, *node.targets[0].elts])
            if plain and not starred:
                values = [self.expression(one) for one in node.value.elts]
                for target, value in zip(node.targets[0].elts, values, strict=True):
                    self.assign(target, value)
                return
        value = self.expression(node.value)
        for target in node.targets:
            self.assign(target, value)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Set a variable, several, or elements of an array."""
        if isinstance(target, ast.Name):
            self.scope[target.id] = value
        elif isinstance(target, ast.Tuple):
            if not isinstance(value.kind, types.BaseTuple) or len(value.kind) != len(target.elts):
                raise UntranslatedError("names for something else than a tuple of so many")
            for k, one in enumerate(target.elts):
                self.assign(one, self.element(value, k))
        elif isinstance(target, ast.Subscript):
            self.set_item(self.expression(target.value), self.index(target.slice), value)
        else:
            raise UntranslatedError(type(target).__name__)

    def set_item(self, whole: Value, index: Value, value: Value) -> None:
        """Write to an array."""
        if (place := self.element_of(whole, index)) is not None and whole.kind.mutable:
            kind = whole.kind.dtype
            self.context.pack_value(self.builder, kind, self.cast(value, kind), place)
            return
        kinds = self.kind(whole), types.unliteral(self.kind(index)), types.unliteral(self.kind(value))
        found = self.rule(operator.setitem, kinds)[1]
        implement = self.context.get_function(*self.rule(operator.setitem, found.args))
        values = self.code(whole), self.cast(index, found.args[1]), self.cast(value, found.args[2])
        implement(self.builder, values)

    def _on_augassign(self, node: ast.AugAssign) -> None:
        function = ARITHMETIC[type(node.op)]
        if isinstance(node.target, ast.Name):
            old = self._name(ast.Name(node.target.id, ast.Load()))
            if isinstance(self.kind(old), types.Array):
                raise UntranslatedError("an array that is changed as a whole")
            self.scope[node.target.id] = self.operate(function, old, self.expression(node.value))
        elif isinstance(node.target, ast.Subscript):
            whole, index = self.expression(node.target.value), self.index(node.target.slice)
            old = self.item(whole, index)
            if isinstance(old.kind, types.Array):
                raise UntranslatedError("a part of an array that is changed as a whole")
            self.set_item(whole, index, self.operate(function, old, self.expression(node.value)))
        else:
            raise UntranslatedError(type(node.target).__name__)

    # ------------------------------------------------------------ branches

    def _on_if(self, node: ast.If) -> bool:
        yes, no = self.block("then"), self.block("else")
        taken = self.branch(node.test, yes, no)
        before, ways = self.scope, []
        for block, body, reached in ((yes, node.body, taken[0]), (no, node.orelse, taken[1])):
            if reached:
                self.begin(block)
                self.scope = dict(before)
                if self.statements(body):
                    ways.append((self.builder.block, self.scope))
        if ways:
            self.meet(ways, self.used_after(node))
        return bool(ways)

    def _on_return(self, node: ast.Return) -> bool:
        value = self.constant(None) if node.value is None else self.expression(node.value)
        self.returned.append((self.builder.block, value))
        return False

    # ------------------------------------------------------------ loops

    def _on_for(self, node: ast.For) -> bool:
        call = node.iter
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not node.orelse):
            raise UntranslatedError("a loop over something else than a range")
        function = self.expression(call.func)
        if function.known is not range:
            raise UntranslatedError("a loop over something else than a range")
        steps = self.call(function, self.listed(call.args))
        begun = self.rule("getiter", (steps.kind,))[1]
        iterator = self.context.get_function("getiter", begun)(self.builder, (self.code(steps),))
        following = self.rule("iternext", (begun.return_type,))[1]
        loop, body = self._enter(node), self.block("body")
        pair = self.context.get_function("iternext", following)(self.builder, (iterator,))
        kind = following.return_type
        item = self.context.pair_first(self.builder, pair, kind)
        self.builder.cbranch(self.context.pair_second(self.builder, pair, kind), body, loop.after)
        loop.left = True
        self.begin(body)
        self.assign(node.target, Value(kind.first_type, item))
        return self._repeat(loop)

    def _on_while(self, node: ast.While) -> bool:
        if node.orelse:
            raise UntranslatedError("else of a loop")
        loop, body = self._enter(node), self.block("body")
        taken = self.branch(node.test, body, loop.after)
        loop.left = taken[1]
        if not taken[0]:
            raise UntranslatedError("a loop that is never entered")
        self.begin(body)
        return self._repeat(loop)

    def _enter(self, node: ast.For | ast.While) -> Loop:
        """Keep the variables that the loop sets in memory, and begin its header."""
        loop = Loop(node, self.block("loop"), self.block("after"))
        reads, sets = names_in(node)
        used = self.used_after(node)
        for name in sorted(sets & self.scope.keys()):
            value = self.scope.pop(name)
            if not (name in reads or used(name)):
                continue
            kind = self.wider.get((node, name), types.unliteral(self.kind(value)))
            if kind is not None:
                slot = self.slot(kind)
                self.builder.store(self.cast(value, kind), slot)
                loop.kept[name] = slot, kind
        self.builder.branch(loop.header)
        self.begin(loop.header)
        for name, (slot, kind) in loop.kept.items():
            self.scope[name] = Value(kind, self.builder.load(slot))
        loop.outer = dict(self.scope)
        loop.sets = [name for name in sorted(sets - loop.kept.keys()) if used(name)]
        self.loops.append(loop)
        return loop

    def _repeat(self, loop: Loop) -> bool:
        """The body of a loop, and what is after it."""
        if self.statements(loop.node.body):
            self._keep(loop, self.scope)
            self.builder.branch(loop.header)
        self.loops.pop()
        if not loop.left:
            return False
        self.begin(loop.after)
        self.scope = {name: value for name, value in loop.outer.items() if name not in loop.kept}
        for name, (slot, kind) in {**loop.kept, **loop.new}.items():
            self.scope[name] = Value(kind, self.builder.load(slot))
        return True

    def _keep(self, loop: Loop, scope: dict[str, Value]) -> None:
        """Write the variables of a loop to memory."""
        for name, (slot, kind) in loop.kept.items():
            value = scope.get(name)
            if value is None:
                raise UntranslatedError(f"{name} may not be set")
            if self.kind(value) != kind and (common := self._common(kind, value.kind)) != kind:
                self.wider[loop.node, name] = common
                raise WiderError
            self.builder.store(self.cast(value, kind), slot)
        for name in loop.sets:
            if name in scope:
                kind = types.unliteral(self.kind(scope[name]))
                slot, known = loop.new.setdefault(name, (self.slot(kind), kind))
                if known != kind:
                    raise UntranslatedError(f"{name} has two types")
                self.builder.store(self.cast(scope[name], kind), slot)

    def _common(self, one: Any, other: Any) -> Any:
        try:
            return self.common([one, types.unliteral(other)])
        except UntranslatedError:
            return None

    def _on_break(self, node: ast.Break) -> bool:
        loop = self.loops[-1]
        self._keep(loop, self.scope)
        self.builder.branch(loop.after)
        loop.left = True
        return False

    def _on_continue(self, node: ast.Continue) -> bool:
        loop = self.loops[-1]
        self._keep(loop, self.scope)
        self.builder.branch(loop.header)
        return False
