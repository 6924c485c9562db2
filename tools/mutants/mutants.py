"""What a mutant is, and which ones a module has.

A mutant is one edit of the source text, so that what survives can be shown as a diff of the real file.
Nothing is changed in docstrings, decorators, annotations, imports, and inside f-strings (before Python 3.12
their parts have no place in the text).
"""

from __future__ import annotations

import ast
import difflib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import cast

SWAPPED: dict[type[ast.cmpop], str] = {
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
COUNTED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//"}
SKIPPED = (ast.Import, ast.ImportFrom, ast.JoinedStr)
UNTOUCHED = ("decorator_list", "annotation", "returns", "bases")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    kind: str
    line: int
    source: str

    def diff(self, original: str) -> str:
        lines = difflib.unified_diff(original.splitlines(), self.source.splitlines(), n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def mutants(source: str) -> list[Mutant]:
    """All of them, in the order of the text; only those that are Python."""
    found = (
        Mutant(kind=edit.kind, line=edit.node.lineno, source=_edited(source, edit))
        for edit in _edits(ast.parse(source))
    )
    return [mutant for mutant in found if _is_python(mutant.source)]


def sample(found: list[Mutant], size: int, *, seed: str) -> list[Mutant]:
    """Some of them: the same ones each time, and of every kind before two of one kind."""
    chance = random.Random(seed)
    kinds: dict[str, list[Mutant]] = {}
    for mutant in chance.sample(found, len(found)):
        kinds.setdefault(mutant.kind, []).append(mutant)
    turns = ((place, kind) for kind, of_kind in kinds.items() for place in range(len(of_kind)))
    order = sorted(turns, key=lambda turn: turn[0])
    chosen = [kinds[kind][place] for place, kind in order[:size]]
    return sorted(chosen, key=lambda mutant: (mutant.line, mutant.kind, mutant.source))


@dataclass(frozen=True, slots=True)
class _Edit:
    kind: str
    node: ast.stmt | ast.expr
    text: str


def _edits(tree: ast.AST) -> Iterator[_Edit]:
    for node in _mutable(tree):
        if isinstance(node, ast.expr):
            yield from _of_expression(node)
        elif isinstance(node, ast.stmt):
            yield from _of_statement(node)
        yield from _of_condition(node)


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in UNTOUCHED or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        for child in cast("list[object]", value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and not _is_skipped(child):
                yield from _mutable(child)


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    return isinstance(node, SKIPPED) or _is_remark(node)


def _is_remark(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_expression(node: ast.expr) -> Iterator[_Edit]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            yield _Edit("comparison", node, f"({left} {SWAPPED[type(op)]} {right})")
        case ast.BoolOp(op=op, values=values):
            word, other = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            parts = [f"({ast.unparse(value)})" for value in values]
            yield _Edit("and/or", node, f"({f' {other} '.join(parts)})")
            for place in range(len(parts)):
                rest = parts[:place] + parts[place + 1 :]
                yield _Edit("part dropped", node, f"({f' {word} '.join(rest)})")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Edit("negation", node, f"bool({ast.unparse(operand)})")
        case ast.BinOp(op=op) if type(op) in COUNTED and not _has_text(node):
            left, right = ast.unparse(node.left), ast.unparse(node.right)
            yield _Edit("arithmetic", node, f"(({left}) {COUNTED[type(op)]} ({right}))")
        case ast.Constant(value=bool(value)):
            yield _Edit("constant", node, str(not value))
        case ast.Constant(value=int(value)):
            yield _Edit("constant", node, str(value + 1))
        case ast.Constant(value=str(value)):
            yield _Edit("text", node, '"mutant"' if not value else '""')
        case _:
            return


def _of_statement(node: ast.stmt) -> Iterator[_Edit]:
    match node:
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield _Edit("statement removed", node, "pass")
        case ast.Continue() | ast.Break() | ast.Return(value=None):
            yield _Edit("goes on", node, "pass")
        case ast.Return(value=value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _Edit("nothing returned", node, "return None")
        case _:
            return


def _of_condition(node: ast.AST) -> Iterator[_Edit]:
    """An `if` turned round; a comparison or a `not` alone is turned round as such."""
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
    """Places in a tree are counted in bytes."""
    data = source.encode()
    starts = [0, *accumulate(len(line) for line in data.splitlines(keepends=True))]
    node = edit.node
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    return (data[:begin] + edit.text.encode() + data[end:]).decode()


def _is_python(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
