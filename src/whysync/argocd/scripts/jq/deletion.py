"""One `jqPathExpression`, compiled: what is left of an object when `del(<expression>)` has run.

Mirrors the jq half of `util/argo/normalizers/diff_normalizer.go`, Argo CD 3.6. Upstream runs gojq, here
libjq does the work (in a child process, one second each). Where the two differ:

- what gojq's library lacks is refused here too: `input`, `debug`, `stderr`, `keys_unsorted`, …;
- `env` and `$ENV` are empty in both; modules cannot be named inside `del(…)`;
- texts of errors are gojq's for plain expressions and libjq's for the rest;
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
# Several times what the largest object of a cluster needs; the child itself takes 20 MiB.
MEMORY = 256 << 20
_WORKER = Worker("whysync.argocd.scripts.jq.child", memory=MEMORY)

# In libjq and not in gojq's library: there each is a compile error.
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


# What libjq says often, and how gojq puts it.
_ERROR = r"(JQ patch returned error: )"
_WORDS = (
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
    """The expression does not compile: with Argo CD that fails the comparison of the whole app."""


class DeletionFailed(ValueError):
    """The expression failed on one object, in Argo CD's words; the object stays as it was."""


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
        """What is left; the tree itself is not changed."""
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
            answer = _WORKER.ask(f"{_program(self.expression)}\0{document}".encode(), seconds=self._seconds)
        except WorkerTooSlow as problem:
            limit = seconds_text(self._seconds)
            raise DeletionFailed(f"JQ patch execution timed out ({limit})") from problem
        except WorkerDied as problem:  # Argo CD has no such limit
            raise DeletionFailed(
                f"whysync stopped the jq expression at its memory limit of {MEMORY >> 20} MiB"
            ) from problem
        if answer[:1] != b"v":
            raise DeletionFailed(_in_gojq_words(answer[1:].decode(errors="replace")))
        return cast(Json, json.loads(answer[1:]))


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
        answer = _WORKER.ask(_program(expression).encode(errors="replace"), seconds=_SECONDS_TO_COMPILE)
    except WorkerTooSlow as problem:
        raise BadExpression("the expression cannot be compiled within the limits") from problem
    except WorkerDied:  # libjq computes constants here; Argo CD compiles it, and `apply` reports the limit
        return
    if answer[:1] == b"b":
        raise BadExpression(_first_line(answer[1:].decode(errors="replace")))


def _program(expression: str) -> str:
    return f"del({expression})"


def _first_line(problem: str) -> str:
    return problem.partition("\n")[0].removeprefix("jq: error: ").rstrip(":")


def _in_gojq_words(problem: str) -> str:
    for pattern, words in _WORDS:
        matched = re.fullmatch(pattern, problem, re.DOTALL)
        if matched is not None:
            return matched.expand(words)
    return problem
