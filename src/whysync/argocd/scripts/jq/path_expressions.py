"""Compiled `jqPathExpressions`: applies `del(<expression>)` to an object.

Mirrors the jq part of `util/argo/normalizers/diff_normalizer.go`, Argo CD 3.6. Upstream uses gojq; here libjq
runs in a child process with a limit of one second. Differences:

- functions that gojq lacks are refused here too: `input`, `debug`, `stderr`, `keys_unsorted`, …;
- `env` and `$ENV` are empty in both; modules cannot be imported inside `del(…)`;
- error messages are gojq's for plain expressions and libjq's for others;
- dates, some regular expressions and the order of keys can differ; deletions do not depend on these.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import cast

from whysync.argocd.scripts.jq import plain
from whysync.golang.duration import seconds_text
from whysync.json_tree import Json
from whysync.processes.sandbox import Worker, WorkerDied, WorkerTooSlow

DEFAULT_SECONDS = 1.0
_SECONDS_TO_COMPILE = 10.0
# Several times the need of the largest possible object; the child itself takes 20 MiB.
MEMORY = 256 << 20
_WORKER = Worker("whysync.argocd.scripts.jq.child", memory=MEMORY)

# Functions of libjq that are a compile error in gojq.
_UNKNOWN_TO_GOJQ = (
    "debug",
    "stderr",
    "keys_unsorted",
    "input_line_number",
    "input_filename",
    "get_search_list",
    "get_jq_origin",
    "get_prog_origin",
    "have_literal_numbers",
    "have_decnum",
    "lgamma_r",
    "modulemeta",
)
_STRINGS = r'(?s)"(?:[^"\\]|\\.)*"'
_CALL = rf"(?<![.$\w@])(?P<name>inputs?|{'|'.join(_UNKNOWN_TO_GOJQ)})(?![\w:])"


# Common error messages of libjq, and gojq's equivalents.
_ERROR = r"(JQ patch returned error: )"
_GOJQ_MESSAGES = (
    (_ERROR + r"Cannot iterate over null \(null\)", r"\1cannot iterate over: null"),
    (_ERROR + r"Cannot iterate over (.*)", r"\1cannot iterate over: \2"),
    (
        _ERROR + r'Cannot index array with (string \(".*"\))',
        r"\1expected a number for indexing an array but got: \2",
    ),
    (_ERROR + r"Cannot index object with (number \(.*\))", r"\1expected a string for object key but got: \2"),
    (_ERROR + r"Cannot index (\w+) with string .*", r"\1expected an object but got: \2"),
    (_ERROR + r"Cannot index (\w+) with number.*", r"\1expected an array but got: \2"),
    (_ERROR + r"(.*) \(while parsing '(.*)'\)", r'\1fromjson cannot be applied to "\3": \2'),
)


class BadExpression(ValueError):
    """The expression does not compile, which fails the comparison of the whole app in Argo CD."""


class DeletionFailed(ValueError):
    """The expression failed on an object, with Argo CD's message; the object stays unchanged."""


class Deletion:
    """`Deletion(".spec.replicas").apply(obj)`."""

    __slots__ = ("_plain", "_seconds", "expression")

    def __init__(self, expression: str, *, seconds: float = DEFAULT_SECONDS) -> None:
        self.expression = expression
        self._seconds = seconds
        self._plain = plain.parse(expression)
        if self._plain is None:
            _check(expression)

    @property
    def program(self) -> plain.Program | None:
        """The steps, where the expression is a plain path."""
        return self._plain

    def apply(self, tree: Json) -> Json:
        """The object after the deletion; the argument is not changed."""
        if self._plain is None:
            return self._ask(tree)
        try:
            return plain.deleted(tree, self._plain)
        except plain.PlainFailure as problem:
            raise DeletionFailed(f"JQ patch returned error: {problem}") from problem

    def _ask(self, tree: Json) -> Json:
        try:
            document = json.dumps(tree, allow_nan=False)
        except (ValueError, RecursionError) as problem:
            raise DeletionFailed(f"JQ patch returned error: {problem}") from problem
        try:
            response = _WORKER.ask(f"{_program(self.expression)}\0{document}".encode(), seconds=self._seconds)
        except WorkerTooSlow as problem:
            limit = seconds_text(self._seconds)
            raise DeletionFailed(f"JQ patch execution timed out ({limit})") from problem
        except WorkerDied as problem:  # Argo CD has no such limit
            raise DeletionFailed(
                f"whysync stopped the jq expression at its memory limit of {MEMORY >> 20} MiB"
            ) from problem
        if response[:1] != b"v":
            raise DeletionFailed(_as_gojq_error(response[1:].decode(errors="replace")))
        return cast(Json, json.loads(response[1:]))


@lru_cache(maxsize=1024)
def _check(expression: str) -> None:
    if "\0" in expression:
        raise BadExpression("unexpected token: a zero byte")
    for call in re.finditer(_CALL, re.sub(_STRINGS, '""', expression)):
        name = call["name"]
        if name in ("input", "inputs"):
            raise BadExpression("input(s)/0 is not allowed")
        raise BadExpression(f"function not defined: {name}/0")
    try:
        response = _WORKER.ask(_program(expression).encode(errors="replace"), seconds=_SECONDS_TO_COMPILE)
    except WorkerTooSlow as problem:
        raise BadExpression("the expression cannot be compiled within the limits") from problem
    except WorkerDied:  # libjq computes constants here; Argo CD compiles it, and `apply` reports the limit
        return
    if response[:1] == b"b":
        raise BadExpression(_first_line(response[1:].decode(errors="replace")))


def _program(expression: str) -> str:
    return f"del({expression})"


def _first_line(problem: str) -> str:
    return problem.partition("\n")[0].removeprefix("jq: error: ").rstrip(":")


def _as_gojq_error(problem: str) -> str:
    for pattern, replacement in _GOJQ_MESSAGES:
        matched = re.fullmatch(pattern, problem, re.DOTALL)
        if matched is not None:
            return matched.expand(replacement)
    return problem
