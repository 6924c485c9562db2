"""Text into objects as the repo-server reads it, with its words for what is none.

Mirrors `splitYAMLOrJSON`, `kube.SplitYAML` and the decoders of apimachinery below them, Argo CD 3.6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, cast

import msgspec

from whysync.json_tree import Json, Object, fields, json_kind, text
from whysync.kubernetes.api import yaml
from whysync.kubernetes.api.yaml import Broken

_SEPARATOR: Final = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_ALIAS: Final = re.compile(r"\*(?P<name>[^\s,\]}]{1,100})")
# `{{ .Values.x }}` of a template that was not rendered is a map as the key of a map.
_TEMPLATE: Final = re.compile(r"\{\{\s*(?P<inside>[^{}]{1,300}?)\s*\}\}")
_FAILED: Final = "failed to unmarshal manifest: "
_LONGEST_OUTLINE: Final = 300


class NotAnObject(Exception):
    """Something that is no Kubernetes object, in Go's words; `line` counts in the whole text, from 1."""

    def __init__(self, text: str, *, line: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.line = line


class Found(NamedTuple):
    body: Object
    line: int


def objects_in(data: bytes | str) -> Iterator[Found]:
    """The objects of a text up to the first that is none, which raises `NotAnObject`."""
    is_json = data.lstrip()[:1] in ("{", b"{")
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            raise NotAnObject(f"{_FAILED}{_words(data, document)}", line=document.line)
        if document.body is None:
            continue
        yield Found(as_object(document.body, document.line, is_json=is_json), document.line)


def as_object(body: Json, line: int = 0, *, is_json: bool = False) -> Object:
    where = _FAILED if is_json else f"{_FAILED}error unmarshaling JSON: while decoding JSON: "
    if not isinstance(body, dict):
        what = f"json: cannot unmarshal {json_kind(body)} into Go value of type map[string]interface {{}}"
        raise NotAnObject(where + what, line=line)
    if not text(body.get("kind")):
        raise NotAnObject(f"{where}Object 'Kind' is missing in '{outline(body)}'", line=line)
    return body


def outline(body: Object) -> str:
    """An object as far as it can be shown: Go prints it whole, but its values may be secret."""
    shown = {
        key: value if key in ("apiVersion", "kind") and isinstance(value, str) else _shape(value)
        for key, value in sorted(body.items())
    }
    name = fields(body.get("metadata")).get("name")
    if isinstance(name, str):
        shown["metadata"] = {"name": name}
    encoded = msgspec.json.encode(shown).decode()
    return encoded if len(encoded) <= _LONGEST_OUTLINE else f"{encoded[:_LONGEST_OUTLINE]}…"


def _shape(value: Json) -> Json:
    if isinstance(value, dict):
        return dict.fromkeys(sorted(value)[:20], "…")
    return ["…"] if isinstance(value, list) else "…"


def _words(data: bytes | str, broken: Broken) -> str:
    """What Go's decoders say of the same text; a template that was not rendered is taken for JSON."""
    try:
        whole = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "error converting YAML to JSON: yaml: invalid leading UTF-8 octet"
    if whole.lstrip().startswith("{{"):
        return (
            f"json: offset {whole.index('{') + 2}: "
            "invalid character '{' looking for beginning of object key string"
        )
    return f"error converting YAML to JSON: {_yaml_words(whole, broken)}"


def _yaml_words(whole: str, broken: Broken) -> str:
    """The words of go-yaml: its line counts in that document, and sometimes from 0."""
    from yaml import YAMLError
    from yaml._yaml import CParser
    from yaml.scanner import ScannerError

    parser = None
    try:
        parser = CParser(_document_at(whole, broken.line))
        while cast("object", parser.get_event()) is not None:
            pass
    except YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = cast("int", mark.line) if mark is not None else 0
        if line:
            line += isinstance(problem, ScannerError)
        else:
            context = getattr(problem, "context_mark", None)
            line = cast("int", context.line) if context is not None else 0
        detail = getattr(problem, "problem", None) or getattr(problem, "reason", None) or broken.problem
        return f"yaml: line {line}: {detail}" if line else f"yaml: {detail}"
    except (UnicodeError, MemoryError):
        return f"yaml: {broken.problem}"
    finally:
        if parser is not None:
            parser.dispose()
    lines = whole.split("\n")
    there = lines[broken.line - 1] if 0 < broken.line <= len(lines) else ""
    if "unknown anchor" in broken.problem:
        alias = _ALIAS.search(there)
        return f"yaml: unknown anchor '{alias['name'] if alias else ''}' referenced"
    template = _TEMPLATE.search(there)
    if "map key" in broken.problem and template is not None:
        quoted = msgspec.json.encode(template["inside"]).decode()
        return f"yaml: invalid map key: map[interface {{}}]interface {{}}{{{quoted}:interface {{}}(nil)}}"
    return f"yaml: line {broken.line}: {broken.problem}" if broken.line else f"yaml: {broken.problem}"


def _document_at(whole: str, line: int) -> str:
    start = 0
    begun = 1
    for separator in _SEPARATOR.finditer(whole):
        at = separator.start()
        if at == start:
            continue
        ends = begun + whole.count("\n", start, at)
        if line < ends:
            return _bare(whole[start:at])
        start, begun = at, ends
    return _bare(whole[start:])


def _bare(document: str) -> str:
    """Without the separator above it, when that is alone on its line."""
    first, newline, rest = document.partition("\n")
    return rest if newline and first.rstrip() == "---" else document
