"""Decodes text into Kubernetes objects as the repo-server does, with its error messages.

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
# `{{ .Values.x }}` in an unrendered template is a map used as the key of a map.
_TEMPLATE: Final = re.compile(r"\{\{\s*(?P<inside>[^{}]{1,300}?)\s*\}\}")
_FAILED: Final = "failed to unmarshal manifest: "
_MAX_OUTLINE: Final = 300


class NotAnObject(Exception):
    """A document that is not a Kubernetes object, with Go's message; `line` is one-based in the text."""

    def __init__(self, text: str, *, line: int = 0) -> None:
        super().__init__(text)
        self.text = text
        self.line = line


class DecodedObject(NamedTuple):
    body: Object
    line: int


def objects_in(data: bytes | str) -> Iterator[DecodedObject]:
    """The objects of a text. Raises `NotAnObject` at the first document that is not one."""
    is_json = data.lstrip()[:1] in ("{", b"{")
    for document in yaml.documents(data):
        if isinstance(document, Broken):
            raise NotAnObject(f"{_FAILED}{_go_error(data, document)}", line=document.line)
        if document.body is None:
            continue
        yield DecodedObject(as_object(document.body, document.line, is_json=is_json), document.line)


def as_object(body: Json, line: int = 0, *, is_json: bool = False) -> Object:
    prefix = _FAILED if is_json else f"{_FAILED}error unmarshaling JSON: while decoding JSON: "
    if not isinstance(body, dict):
        problem = f"json: cannot unmarshal {json_kind(body)} into Go value of type map[string]interface {{}}"
        raise NotAnObject(prefix + problem, line=line)
    if not text(body.get("kind")):
        raise NotAnObject(f"{prefix}Object 'Kind' is missing in '{outline(body)}'", line=line)
    return body


def outline(body: Object) -> str:
    """An outline of an object without values, which may be secret; Go prints the whole object."""
    shown = {
        key: value if key in ("apiVersion", "kind") and isinstance(value, str) else _shape(value)
        for key, value in sorted(body.items())
    }
    name = fields(body.get("metadata")).get("name")
    if isinstance(name, str):
        shown["metadata"] = {"name": name}
    encoded = msgspec.json.encode(shown).decode()
    return encoded if len(encoded) <= _MAX_OUTLINE else f"{encoded[:_MAX_OUTLINE]}…"


def _shape(value: Json) -> Json:
    if isinstance(value, dict):
        return dict.fromkeys(sorted(value)[:20], "…")
    return ["…"] if isinstance(value, list) else "…"


def _go_error(data: bytes | str, broken: Broken) -> str:
    """The error of Go's decoders; an unrendered template is decoded as JSON."""
    try:
        content = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "error converting YAML to JSON: yaml: invalid leading UTF-8 octet"
    if content.lstrip().startswith("{{"):
        return (
            f"json: offset {content.index('{') + 2}: "
            "invalid character '{' looking for beginning of object key string"
        )
    return f"error converting YAML to JSON: {_go_yaml_error(content, broken)}"


def _go_yaml_error(content: str, broken: Broken) -> str:
    """The error of go-yaml, whose line number is relative to the document and sometimes zero-based."""
    from yaml import YAMLError
    from yaml._yaml import CParser
    from yaml.scanner import ScannerError

    parser = None
    try:
        parser = CParser(_document_at(content, broken.line))
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
    lines = content.split("\n")
    source_line = lines[broken.line - 1] if 0 < broken.line <= len(lines) else ""
    if "unknown anchor" in broken.problem:
        alias = _ALIAS.search(source_line)
        return f"yaml: unknown anchor '{alias['name'] if alias else ''}' referenced"
    template = _TEMPLATE.search(source_line)
    if "map key" in broken.problem and template is not None:
        quoted = msgspec.json.encode(template["inside"]).decode()
        return f"yaml: invalid map key: map[interface {{}}]interface {{}}{{{quoted}:interface {{}}(nil)}}"
    return f"yaml: line {broken.line}: {broken.problem}" if broken.line else f"yaml: {broken.problem}"


def _document_at(content: str, line: int) -> str:
    start = 0
    first_line = 1
    for separator in _SEPARATOR.finditer(content):
        separator_start = separator.start()
        if separator_start == start:
            continue
        next_line = first_line + content.count("\n", start, separator_start)
        if line < next_line:
            return _bare(content[start:separator_start])
        start, first_line = separator_start, next_line
    return _bare(content[start:])


def _bare(document: str) -> str:
    """Without a leading separator line."""
    first, newline, body = document.partition("\n")
    return body if newline and first.rstrip() == "---" else document
