"""Regular expressions of Go templates, in a child process with a time limit.

Go's RE2 takes linear time; Python's `re` may take forever on patterns that users write.
"""

from __future__ import annotations

import json
import re
from typing import Final

from whysync.golang.regexp_syntax import regex_problem
from whysync.golang.template.errors import NotEvaluated, TemplateError
from whysync.json_tree import Json
from whysync.processes.sandbox import Worker, WorkerDied, WorkerTooSlow

_SECONDS: Final = 2.0
_SIMPLE: Final = re.compile(r"[^()*+{]*(?:[*+][^()*+{]*){0,2}")
_POSIX: Final = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": r"\t ", "digit": "0-9", "lower": "a-z",
    "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": r"0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NOT_IN_PYTHON: Final = re.compile(r"\\[pPQEC]|\(\?[imsU]*U|\[\[:\^|\(\?[imsU-]+\)(?!^)")
_REFERENCE: Final = re.compile(r"\$(?:\$|\{(\w+)\}|(\w+))")
_WORKER = Worker("whysync.argocd.application_sets.regex", memory=512 << 20)


def matches(pattern: str, text: str, *, strict: bool = True) -> bool:
    try:
        return bool(_run("find", pattern, text, 1, ""))
    except TemplateError:
        if strict:
            raise
        return False


def find_all(pattern: str, text: str, count: int) -> list[Json]:
    return [found for found, *_ in _spans(pattern, text, count)] if count else []


def _spans(pattern: str, text: str, count: int) -> list[list[str]]:
    return _run("find", pattern, text, count, "")


def replace_all(pattern: str, text: str, new: str, *, literal: bool = False) -> str:
    return "".join(_run("literal" if literal else "replace", pattern, text, -1, new)[0])


def split(pattern: str, text: str, count: int) -> list[Json]:
    return [*_run("split", pattern, text, count, "")[0]] if count else []


def _run(operation: str, pattern: str, text: str, count: int, new: str) -> list[list[str]]:
    problem = regex_problem(pattern)
    if problem:
        raise TemplateError(f"error parsing regexp: {problem}")
    translated = _translated(pattern)
    if _SIMPLE.fullmatch(pattern):
        return _computed(operation, translated, text, count, new)
    request = json.dumps([operation, translated, text, count, new]).encode()
    try:
        return json.loads(_WORKER.ask(request, seconds=_SECONDS))
    except (WorkerTooSlow, WorkerDied):
        raise NotEvaluated("a regular expression of a template takes too long") from None


def handle(request: bytes) -> bytes:
    """The child's side."""
    return json.dumps(_computed(*json.loads(request))).encode()


def _computed(operation: str, pattern: str, text: str, count: int, new: str) -> list[list[str]]:
    compiled = re.compile(pattern, re.ASCII)
    found = [match for number, match in enumerate(compiled.finditer(text)) if count < 0 or number < count]
    match operation:
        case "find":
            return [[match[0]] for match in found]
        case "literal":
            return [[compiled.sub(lambda _: new, text)]]
        case "replace":
            return [[compiled.sub(lambda match: _expanded(new, match), text)]]
        case _:
            return [_split(compiled, text, count)]


def _split(compiled: re.Pattern[str], text: str, count: int) -> list[str]:
    """Mirrors `Regexp.Split`: an empty match at the end separates nothing."""
    parts: list[str] = []
    begin = end = 0
    if compiled.pattern and not text:
        return [""]
    for match in compiled.finditer(text):
        if count > 0 and len(parts) == count - 1:
            break
        end = match.start()
        if match.end() != 0:
            parts.append(text[begin:end])
        begin = match.end()
    if end != len(text):
        parts.append(text[begin:])
    return parts


def _expanded(template: str, match: re.Match[str]) -> str:
    """`$1`, `${name}` and `$$`, as in `Regexp.Expand`; an unknown group is empty."""

    def group(reference: re.Match[str]) -> str:
        name = reference[1] or reference[2]
        if name is None:
            return "$"
        try:
            return match[int(name) if name.isdecimal() else name] or ""
        except IndexError:
            return ""

    return _REFERENCE.sub(group, template)


def _translated(pattern: str) -> str:
    """The pattern in Python's syntax. Raises `NotEvaluated` for what differs."""
    if _NOT_IN_PYTHON.search(pattern):
        raise NotEvaluated("a template uses a regular expression that only Go can evaluate")
    pattern = re.sub(r"\[:(\w+):\]", lambda name: _POSIX.get(name[1], ""), pattern)
    pattern = pattern.replace(r"\z", r"\Z").replace("(?<", "(?P<")
    return re.sub(r"(?<!\\)\$(?![^\[]*\])", r"\\Z", pattern) if "(?m" not in pattern else pattern
