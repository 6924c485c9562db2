"""Static checks of CEL expressions: types and estimated cost.

Mirrors cel-go `checker` with its cost estimates, and apiserver `cel/library`, as Kubernetes 1.36 uses them.
What is not modeled raises `UnknownValue`: such a rule is neither rejected nor estimated.
"""

from __future__ import annotations

from math import ceil
from typing import Final, NamedTuple

from whysync.kubernetes.cel.schema_types import BOOL, DOUBLE, DYN, INT, KEY, NULL, Shape
from whysync.kubernetes.cel.syntax_tree import BadSyntax, Node, tree_of, unquoted
from whysync.kubernetes.cel.values import UnknownValue

MOST: Final = 2**64 - 1
_NUMBERS: Final = frozenset({"int", "uint", "double"})
_ORDERED: Final = frozenset({*_NUMBERS, "string", "bytes", "bool", "timestamp", "duration"})
_TYPE_NAMES: Final = frozenset({"int", "uint", "double", "string", "bool", "bytes", "type"})
_LOOPS: Final = {"all": 2, "exists": 3, "exists_one": 0, "filter": 0, "map": 0}
"""Cost per iteration of a macro's loop condition."""


class Value(NamedTuple):
    shape: Shape
    size: int
    cost: int


class CheckedExpression(NamedTuple):
    cost: int = 0
    problem: str = ""
    uses_old: bool = False


def check_expression(expression: str, root: Shape) -> CheckedExpression:
    """Checks a rule for values of this shape."""
    try:
        tree = tree_of(expression)
        checker = _Checker()
        root_value = Value(root, root.most, 1)
        result = checker.value(tree, {"self": root_value, "oldSelf": root_value})
    except BadSyntax as bad:
        problems = "\n".join(_error_text(expression, *problem) for problem in sorted(bad.problems))
        return CheckedExpression(problem=f"compilation failed: {problems}", uses_old="oldSelf" in expression)
    except (UnknownValue, RecursionError):
        return CheckedExpression(uses_old="oldSelf" in expression)
    uses_old = _uses_name(tree, "oldSelf")
    if checker.problems:
        problems = "\n".join(
            _error_text(expression, position, problem) for position, problem in sorted(checker.problems)
        )
        return CheckedExpression(problem=f"compilation failed: {problems}", uses_old=uses_old)
    if result.shape.kind not in {"bool", "dyn"}:
        return CheckedExpression(problem="cel expression must evaluate to a bool", uses_old=uses_old)
    return CheckedExpression(result.cost, uses_old=uses_old)


def _uses_name(node: Node, name: str) -> bool:
    return (node.form == "name" and node.word == name) or any(_uses_name(part, name) for part in node.parts)


def _error_text(expression: str, position: int, problem: str) -> str:
    """The problem with its source line and a marker below."""
    before = expression[:position]
    line = expression.split("\n")[before.count("\n")]
    column = position - (before.rfind("\n") + 1)
    dots = "." * column
    return f"ERROR: <input>:{before.count(chr(10)) + 1}:{column + 1}: {problem}\n | {line}\n | {dots}^"


def _traversed(size: int, factor: float = 0.1) -> int:
    return min(ceil(size * factor), MOST)


class _Checker:
    def __init__(self) -> None:
        self.problems: list[tuple[int, str]] = []

    def value(self, node: Node, env: dict[str, Value]) -> Value:
        computed = self._value(node, env)
        return Value(computed.shape, min(computed.size, MOST), min(computed.cost, MOST))

    def _value(self, node: Node, env: dict[str, Value]) -> Value:
        match node.form:
            case "number":
                return Value(DOUBLE if "." in node.word else INT, 1, 0)
            case "text":
                return Value(Shape("string", 0, 2), len(unquoted(node.word)), 0)
            case "constant":
                return Value(NULL if node.word == "null" else BOOL, 1, 0)
            case "name":
                return self._name(node, env)
            case "field":
                return self._field(node, env)
            case "has":
                return Value(BOOL, 1, self.value(node.parts[0], env).cost)
            case "choice":
                return self._choice(node, env)
            case "list":
                parts = [self.value(part, env) for part in node.parts]
                of = parts[0].shape if parts else DYN
                return Value(Shape("list", len(parts), 2, of), len(parts), 10 + sum(p.cost for p in parts))
            case "index":
                return self._index(node, env)
            case "macro":
                return self._macro(node, env)
            case "operator":
                return self._operator(node, [self.value(part, env) for part in node.parts])
            case _:
                return self._call(node, [self.value(part, env) for part in node.parts])

    def _name(self, node: Node, env: dict[str, Value]) -> Value:
        if node.word in env:
            return env[node.word]._replace(cost=1)
        if node.word in _TYPE_NAMES:
            return Value(DYN, 1, 1)
        if node.word[:1].islower():
            self.problems.append((node.at, f"undeclared reference to '{node.word}' (in container '')"))
            return Value(DYN, MOST, 1)
        raise UnknownValue(node.word)

    def _field(self, node: Node, env: dict[str, Value]) -> Value:
        if node.parts[0].form == "name" and node.parts[0].word not in env:
            raise UnknownValue(node.word)  # perhaps a name of a library
        holder = self.value(node.parts[0], env)
        match holder.shape.kind:
            case "object":
                member = holder.shape.members.get(node.word)
                if member is None:
                    self.problems.append((node.at, f"undefined field '{node.word}'"))
                    return Value(DYN, MOST, holder.cost)
                return Value(member, member.most, holder.cost + 1)
            case "map":
                of = holder.shape.of or DYN
                return Value(of, of.most, holder.cost + 1)
            case "dyn":
                return Value(DYN, MOST, holder.cost)
            case other:
                self.problems.append((node.at, f"type '{other}' does not support field selection"))
                return Value(DYN, MOST, holder.cost)

    def _choice(self, node: Node, env: dict[str, Value]) -> Value:
        condition, yes, no = (self.value(part, env) for part in node.parts)
        return Value(yes.shape, max(yes.size, no.size), condition.cost + max(yes.cost, no.cost))

    def _index(self, node: Node, env: dict[str, Value]) -> Value:
        holder, key = (self.value(part, env) for part in node.parts)
        if holder.shape.kind not in {"list", "map", "dyn"}:
            raise UnknownValue("index")
        of = holder.shape.of or DYN
        return Value(of, of.most, 1 + holder.cost + key.cost)

    def _macro(self, node: Node, env: dict[str, Value]) -> Value:
        target = self.value(node.parts[0], env)
        if target.shape.kind not in {"list", "map", "dyn"}:
            message = f"expression of type '{target.shape}' cannot be range of a comprehension"
            self.problems.append((node.parts[0].at, f"{message} (must be list, map, or dynamic)"))
            return Value(DYN, MOST, 0)
        item = target.shape.of if target.shape.kind == "list" else KEY if target.shape.kind == "map" else None
        item_value = Value(item or DYN, MOST if item is None else item.most, 1)
        body = self.value(node.parts[2], {**env, node.parts[1].word: item_value})
        kind, loop_cost = node.word, _LOOPS[node.word]
        if kind in {"all", "exists"}:
            return Value(BOOL, 1, target.cost + 1 + target.size * (loop_cost + 1 + body.cost))
        if kind == "exists_one":
            return Value(BOOL, 1, target.cost + 2 + target.size * (body.cost + 2))
        of = body.shape if kind == "map" else item
        item_cost = body.cost + (12 if kind == "map" else 13)
        return Value(
            Shape("list", target.size, 2, of), target.size, target.cost + 11 + target.size * item_cost
        )

    def _operator(self, node: Node, operands: list[Value]) -> Value:
        cost = sum(operand.cost for operand in operands)
        kinds = [operand.shape.kind for operand in operands]
        if len(operands) == 1:
            accepted = {"bool"} if node.word == "!_" else _NUMBERS
            self._require(kinds[0] in {*accepted, "dyn"}, node, operands)
            return Value(operands[0].shape, 1, cost + 1)
        left, right = operands
        is_dyn = "dyn" in kinds
        match node.word:
            case "&&" | "||":
                self._require(all(kind in {"bool", "dyn"} for kind in kinds), node, operands)
                return Value(BOOL, 1, cost)
            case "==" | "!=":
                mismatched = kinds[0] != kinds[1] and all(kind in _ORDERED for kind in kinds)
                self._require(not mismatched, node, operands)
                return Value(BOOL, 1, cost + _traversed(min(left.size, right.size)))
            case "<" | "<=" | ">" | ">=":
                numbers = all(kind in _NUMBERS for kind in kinds)
                same_type = kinds[0] == kinds[1] and kinds[0] in _ORDERED
                self._require(is_dyn or numbers or same_type, node, operands)
                is_text = kinds[0] in {"string", "bytes"}
                return Value(BOOL, 1, cost + (_traversed(min(left.size, right.size)) if is_text else 1))
            case "in":
                self._require(kinds[1] in {"list", "map", "dyn"}, node, operands)
                return Value(BOOL, 1, cost + (right.size if kinds[1] == "list" else 1))
            case "+" if kinds[0] in {"string", "bytes"} and kinds[0] == kinds[1]:
                total_size = left.size + right.size
                return Value(left.shape, total_size, cost + _traversed(total_size))
            case "+" if kinds == ["list", "list"]:
                return Value(left.shape, left.size + right.size, cost + 1)
            case _:
                time_types = {"timestamp", "duration"} & {*kinds}
                fits = is_dyn or time_types or (kinds[0] == kinds[1] and kinds[0] in _NUMBERS)
                self._require(bool(fits), node, operands)
                return Value(left.shape, 1, cost + 1)

    def _require(self, fits: bool, node: Node, operands: list[Value]) -> None:
        if fits or any(operand.shape.kind in {"object", "null_type"} for operand in operands):
            return
        sign = node.word if len(operands) == 1 else "@in" if node.word == "in" else f"_{node.word}_"
        types = ", ".join(str(operand.shape) for operand in operands)
        self.problems.append((node.at, f"found no matching overload for '{sign}' applied to '({types})'"))

    def _call(self, node: Node, operands: list[Value]) -> Value:
        cost = sum(argument.cost for argument in operands)
        match node.word, len(operands):
            case "size", 1:
                return Value(INT, 1, cost + 1)
            case (("int" | "double" | "string" | "type" | "dyn"), 1):
                shape = {"int": INT, "double": DOUBLE}.get(node.word, DYN)
                return Value(shape, MOST if shape is DYN else 1, cost + 1)
            case (("startsWith" | "endsWith"), 2):
                self._require_strings(node, operands)
                return Value(BOOL, 1, cost + _traversed(operands[1].size))
            case "contains", 2:
                self._require_strings(node, operands)
                return Value(BOOL, 1, cost + _traversed(operands[0].size) * _traversed(operands[1].size))
            case "matches", 2:
                self._require_strings(node, operands)
                text_cost = _traversed(operands[0].size + 1)
                return Value(BOOL, 1, cost + text_cost * _traversed(operands[1].size, 0.25))
            case _:
                raise UnknownValue(node.word)

    def _require_strings(self, node: Node, operands: list[Value]) -> None:
        target, argument = operands
        if {target.shape.kind, argument.shape.kind} <= {"string", "dyn"}:
            return
        message = f"found no matching overload for '{node.word}' applied to"
        self.problems.append((node.at, f"{message} '{target.shape}.({argument.shape})'"))
