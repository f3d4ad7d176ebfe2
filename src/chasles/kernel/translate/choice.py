"""Choices: conditions, `a if c else b`, and what variables are where two ways meet."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from chasles.kernel.numba_private import alloca_once
from chasles.kernel.translate.expression import Expressions, UntranslatedError, Value

Way = tuple[ir.Block, Value | None]  # where a way ends, and what a variable is there


class Choices(Expressions):
    """Writes branches. A variable that is not the same on two ways is kept in memory where they meet; LLVM makes
    registers of it."""

    def block(self, name: str) -> ir.Block:
        """A block that begins later."""
        return ir.Block(self.builder.function, name=self.builder.function.scope.deduplicate(name))

    def begin(self, block: ir.Block) -> None:
        """Write to this block from now on."""
        self.builder.function.blocks.append(block)
        self.builder.position_at_end(block)

    def branch(self, test: ast.expr, yes: ir.Block, no: ir.Block) -> tuple[bool, bool]:
        """Go to one of two blocks; gives which of them can be reached."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.branch(test.operand, no, yes)[::-1]
        if isinstance(test, ast.BoolOp):
            return self._branch_on_several(test, yes, no)
        value = self.expression(test)
        if isinstance(value.known, bool | int | float):
            self.builder.branch(yes if value.known else no)
            return bool(value.known), not value.known
        self.builder.cbranch(self.truth(value), yes, no)
        return True, True

    def _branch_on_several(self, test: ast.BoolOp, yes: ir.Block, no: ir.Block) -> tuple[bool, bool]:
        both = isinstance(test.op, ast.And)
        left = False  # whether a part has decided
        for one in test.values[:-1]:
            following = self.block("next")
            goes_on, decides = self.branch(one, following, no) if both else self.branch(one, yes, following)[::-1]
            left |= decides
            if not goes_on:
                return (False, True) if both else (True, False)
            self.begin(following)
        last = self.branch(test.values[-1], yes, no)
        return (last[0], last[1] or left) if both else (last[0] or left, last[1])

    def truth(self, value: Value) -> Any:
        """A value as a bit."""
        kind = self.kind(value)
        if kind != types.boolean:
            value = self.call(self.from_outside(bool), [value])
        return self.cast(value, types.boolean)

    def _ifexp(self, node: ast.IfExp) -> Value:
        yes, no = self.block("yes"), self.block("no")
        taken = self.branch(node.test, yes, no)
        ways: list[Way] = []
        for block, arm, reached in ((yes, node.body, taken[0]), (no, node.orelse, taken[1])):
            if reached:
                self.begin(block)
                value = self.expression(arm)
                ways.append((self.builder.block, value))
        return self._met(ways)

    def _boolop(self, node: ast.BoolOp) -> Value:
        """`a and b` as a value: the first that decides, or the last."""
        return self._first(node.values, isinstance(node.op, ast.And), self.expression)

    def _compare(self, node: ast.Compare) -> Value:
        """`a < b < c`: each comparison after the first only if those before it hold."""
        left = self.expression(node.left)
        if len(node.ops) == 1:
            return self.compare(node.ops[0], left, self.expression(node.comparators[0]))
        last = [left]

        def following(pair: tuple[ast.cmpop, ast.expr]) -> Value:
            last.append(self.expression(pair[1]))
            return self.compare(pair[0], last[-2], last[-1])

        return self._first(list(zip(node.ops, node.comparators, strict=True)), True, following)

    def _first(self, parts: Sequence[Any], both: bool, value_of: Any) -> Value:
        """The first of some parts that is false (`both`) or true, or the last."""
        ways, end = [], self.block("end")
        for one in parts[:-1]:
            value, following = value_of(one), self.block("next")
            bit = self.truth(value)
            ways.append((self.builder.block, value))
            self.builder.cbranch(bit, *((following, end) if both else (end, following)))
            self.begin(following)
        value = value_of(parts[-1])
        ways.append((self.builder.block, value))
        kind = self.common([self.kind(one) for _, one in ways])
        slot = self.slot(kind)
        for block, one in ways:
            if block.is_terminated:
                self.builder.position_before(block.terminator)
            else:
                self.builder.position_at_end(block)
            self.builder.store(self.cast(one, kind), slot)
        self.builder.branch(end)
        self.begin(end)
        return Value(kind, self.builder.load(slot))

    def _met(self, ways: Sequence[Way]) -> Value:
        """The value after several ways."""
        if len(ways) == 1:
            assert ways[0][1] is not None
            return ways[0][1]
        after = self.block("after")
        kind = self.common([self.kind(one) for _, one in ways if one])
        slot = self.slot(kind)
        for block, one in ways:
            assert one is not None
            self.builder.position_at_end(block)
            self.builder.store(self.cast(one, kind), slot)
            self.builder.branch(after)
        self.begin(after)
        return Value(kind, self.builder.load(slot))

    def common(self, kinds: Sequence[Any]) -> Any:
        """The type that all of these become."""
        if all(kind == kinds[0] for kind in kinds):
            return kinds[0]
        found = self.typing.unify_types(*kinds)
        if found is None or not found.is_precise() or isinstance(found, types.Optional):
            raise UntranslatedError(f"no common type of {kinds}")
        return found

    def slot(self, kind: Any) -> Any:
        """Memory for a variable."""
        return alloca_once(self.builder, self.context.get_value_type(kind))

    def meet(self, ways: Sequence[tuple[ir.Block, dict[str, Value]]], used: Any) -> None:
        """Go on after several ways with the variables that are used later."""
        if len(ways) == 1:
            block, self.scope = ways[0]
            self.builder.position_at_end(block)
            return
        after = self.block("after")
        joined: dict[str, Any] = {}
        names = {name: None for _, scope in ways for name in scope}
        for name in names:
            values = [scope.get(name) for _, scope in ways]
            if all(value is values[0] for value in values):
                joined[name] = values[0]
            elif used(name):
                slot, kind = self._kept([(block, value) for (block, _), value in zip(ways, values, strict=True)])
                if slot is not None:
                    joined[name] = slot, kind
        for block, _ in ways:
            self.builder.position_at_end(block)
            self.builder.branch(after)
        self.begin(after)
        self.scope = {
            name: Value(one[1], self.builder.load(one[0])) if isinstance(one, tuple) else one
            for name, one in joined.items()
            if one is not None
        }

    def _kept(self, ways: Sequence[Way]) -> tuple[Any, Any]:
        """Memory of a variable that is set on these ways, and its type; nothing if its types do not fit."""
        try:
            kind = self.common([self.kind(value) for _, value in ways if value is not None])
        except UntranslatedError:
            return None, None
        slot = self.slot(kind)
        for block, value in ways:
            if value is not None:
                self.builder.position_at_end(block)
                self.builder.store(self.cast(value, kind), slot)
        return slot, kind
