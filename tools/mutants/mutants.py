"""Mutants of a module: edits of its source text.

A mutant is one edit, so that a survivor can be shown as a diff of the real file. Docstrings, decorators,
annotations, imports and the inside of f-strings (which have no positions before Python 3.12) are not mutated.
"""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

INVERTED: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//"}
SKIPPED = (ast.Import, ast.ImportFrom, ast.JoinedStr)
NOT_MUTATED = ("decorator_list", "annotation", "returns", "bases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    kind: str
    line: int
    source: str

    def diff(self, original: str) -> str:
        lines = difflib.unified_diff(original.splitlines(), self.source.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def mutants(source: str) -> list[Mutant]:
    """All mutants that compile, in source order."""
    candidates = (
        Mutant(kind=edit.kind, line=edit.node.lineno, source=_edited(source, edit))
        for edit in _edits(ast.parse(source))
    )
    return [mutant for mutant in candidates if _compiles(mutant.source)]


def sample(candidates: list[Mutant], size: int, *, seed: str) -> list[Mutant]:
    """A deterministic sample, with every kind once before any kind is repeated."""
    generator = random.Random(seed)
    kinds: dict[str, list[Mutant]] = {}
    for mutant in generator.sample(candidates, len(candidates)):
        kinds.setdefault(mutant.kind, []).append(mutant)
    positions = ((index, kind) for kind, of_kind in kinds.items() for index in range(len(of_kind)))
    order = sorted(positions, key=lambda position: position[0])
    chosen = [kinds[kind][index] for index, kind in order[:size]]
    return sorted(chosen, key=lambda mutant: (mutant.line, mutant.kind, mutant.source))


@dataclass(frozen=True, slots=True)
class _Edit:
    kind: str
    node: ast.stmt | ast.expr
    text: str


def _edits(tree: ast.AST) -> Iterator[_Edit]:
    for node in _mutable(tree):
        if isinstance(node, ast.expr):
            yield from _expression_edits(node)
        elif isinstance(node, ast.stmt):
            yield from _statement_edits(node)
        yield from _condition_edits(node)


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in NOT_MUTATED or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        for child in cast("list[object]", value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not _is_skipped(child):
                yield from _mutable(child)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    return isinstance(node, SKIPPED) or _is_docstring(node)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _expression_edits(node: ast.expr) -> Iterator[_Edit]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in INVERTED:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield _Edit("comparison", node, f"({left} {INVERTED[type(op)]} {right})")
        case ast.BoolOp(op=op, values=values):
            operator, inverted = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            parts = [f"({ast.unparse(value)})" for value in values]
            yield _Edit("and/or", node, f"({f' {inverted} '.join(parts)})")
            for index in range(len(parts)):
                rest = parts[:index] + parts[index + 1 :]
                yield _Edit("operand removed", node, f"({f' {operator} '.join(rest)})")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Edit("negation", node, f"bool({ast.unparse(operand)})")
        case ast.BinOp(op=op) if type(op) in ARITHMETIC and not _has_text(node):
            left, right = ast.unparse(node.left), ast.unparse(node.right)
            yield _Edit("arithmetic", node, f"(({left}) {ARITHMETIC[type(op)]} ({right}))")
        case ast.Constant(value=bool(value)):
            yield _Edit("constant", node, str(not value))
        case ast.Constant(value=int(value)):
            yield _Edit("constant", node, str(value + 1))
        case ast.Constant(value=str(value)):
            yield _Edit("text", node, '"mutant"' if not value else '""')
        case _:
            return


def _statement_edits(node: ast.stmt) -> Iterator[_Edit]:
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield _Edit("statement removed", node, "pass")
        case ast.Continue() | ast.Break() | ast.Return(value=None):
            yield _Edit("jump removed", node, "pass")
        case ast.Return(value=value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _Edit("return value removed", node, "return None")
        case _:
            return


def _condition_edits(node: ast.AST) -> Iterator[_Edit]:
    """Inverted conditions; comparisons and `not` are already inverted as expressions."""
    tests: list[ast.expr] = []
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        tests = [node.test]
    elif isinstance(node, ast.comprehension):
        tests = node.ifs
    for test in tests:
        if not isinstance(test, ast.Compare | ast.UnaryOp | ast.JoinedStr):
            yield _Edit("condition", test, f"(not ({ast.unparse(test)}))")


def _has_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _edited(source: str, edit: _Edit) -> str:
    """The source with one edit; positions in a syntax tree count bytes."""
    data = source.encode()
    starts = [0, *accumulate(len(line) for line in data.splitlines(keepends=True))]
    node = edit.node
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    return (data[:begin] + edit.text.encode() + data[end:]).decode()


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
