"""Read a text of YAML or JSON documents, each for itself: a broken one does not hide its neighbors."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import cast

import msgspec
from msgspec.structs import replace

from whysync.json_tree import Json, Object
from whysync.kubernetes.api.encoded_json import is_flat, split_texts
from whysync.kubernetes.api.yaml.errors import Invalid, YamlLimits
from whysync.kubernetes.api.yaml.fast_block_parser import quick
from whysync.kubernetes.api.yaml.scalars import as_json, whole_if_possible

DEFAULT_LIMITS = YamlLimits()


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One document; `line` is where it begins, from 1; `warnings` are those of the API server."""

    body: Json
    line: int = 1
    warnings: tuple[str, ...] = ()


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """A document that cannot be read; `line` and `column` count from 1, 0 is "unknown"."""

    problem: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


def documents(text: str | bytes, *, limits: YamlLimits = DEFAULT_LIMITS) -> Iterator[Document | Broken]:
    """The documents of a file in their order, empty ones left out.

    In valid YAML a line that starts with `---` always starts a document, so the text is split there, as
    kubectl does; with `%` directives, which stand before that line, it is read in one piece.
    """
    try:
        text = decoded(text)
    except Invalid as problem:
        yield Broken(problem=problem.problem, line=problem.line)
        return
    if text.lstrip()[:1] in ("{", "["):
        parsed_documents = list(_from_json(text, limits))
        if parsed_documents:
            yield from parsed_documents
            return
    if text.startswith("%") or "\n%" in text:
        yield from parsed(text, 0, limits)
        return
    for chunk, first_line in _chunks(text):
        parsed_documents = quick(chunk, limits)
        if parsed_documents is None:
            yield from parsed(chunk, first_line, limits)
        else:
            body, line = parsed_documents
            yield Document(body=body, line=first_line + line + 1)


def load(text: str | bytes) -> Json:
    """The value of the first document, `None` when there is none; `Invalid` when it cannot be read."""
    for document in documents(text):
        if isinstance(document, Broken):
            raise Invalid(document.problem, line=document.line, column=document.column)
        return document.body
    return None


def decoded(text: str | bytes) -> str:
    """As text, without a byte order mark. Without one it must be UTF-8."""
    if isinstance(text, str):
        return text.removeprefix("\ufeff")
    utf16 = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return text.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as problem:
        line = text.count(b"\n", 0, problem.start) + 1
        raise Invalid("this is not UTF-8 text", line=line) from None


def encoded_like(old_bytes: bytes, new_text: str) -> bytes:
    """The text in the encoding of the old bytes, with their byte order mark."""
    if old_bytes.startswith(codecs.BOM_UTF16_LE):
        return codecs.BOM_UTF16_LE + new_text.encode("utf-16-le")
    if old_bytes.startswith(codecs.BOM_UTF16_BE):
        return codecs.BOM_UTF16_BE + new_text.encode("utf-16-be")
    return (codecs.BOM_UTF8 if old_bytes.startswith(codecs.BOM_UTF8) else b"") + new_text.encode()


_SEPARATOR = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)


def _chunks(text: str) -> Iterator[tuple[str, int]]:
    """The text of each document with its separator, and the number of lines before it."""
    start = line = 0
    for separator in _SEPARATOR.finditer(text):
        position = separator.start()
        if position > start:
            chunk = text[start:position]
            yield chunk, line
            line += chunk.count("\n")
            start = position
    yield (text[start:] if start else text), line


def parsed(text: str, first_line: int, limits: YamlLimits) -> Iterator[Document | Broken]:
    """The documents of a text by the full YAML parser; `first_line` lines precede it."""
    # PyYAML is only loaded by those who read YAML.
    from yaml import YAMLError
    from yaml._yaml import CParser
    from yaml.events import DocumentStartEvent

    from whysync.kubernetes.api.yaml.construct import Builder, Event

    parser = None
    try:
        parser = CParser(text)
        next_event = cast("Callable[[], Event | None]", parser.get_event)
        builder = Builder(limits, source=text, check_escapes="\\/" in text)
        while (event := next_event()) is not None:
            if not isinstance(event, DocumentStartEvent):
                continue
            if event.version not in (None, (1, 1)):
                raise Invalid("found incompatible YAML document", line=first_line + 1, column=1)
            body = builder.build(cast("Callable[[], Event]", next_event), first_line=first_line)
            if body is not None:
                yield Document(body=body, line=builder.line, warnings=tuple(builder.warnings))
    except YAMLError as problem:
        yield _broken(problem, first_line)
    except Invalid as problem:
        yield Broken(problem=problem.problem, line=problem.line, column=problem.column)
    except (UnicodeError, MemoryError) as problem:
        yield Broken(problem=f"this is not readable text ({problem})", line=first_line + 1)
    finally:
        if parser is not None:
            parser.dispose()


def _broken(problem: Exception, first_line: int) -> Broken:
    reason = getattr(problem, "problem", None) or getattr(problem, "reason", None) or "this is not YAML"
    mark = getattr(problem, "problem_mark", None) or getattr(problem, "context_mark", None)
    if mark is None:
        return Broken(problem=str(reason), line=first_line + 1)
    context = getattr(problem, "context", None)
    message = f"{context}: {reason}" if context else str(reason)
    return Broken(problem=message, line=first_line + mark.line + 1, column=mark.column + 1)


_NO_BLANK = re.compile(r"\S")
# A number of 19 digits may lie beyond int64.
_LONG_NUMBER = re.compile(r"[0-9]{19}")
_LONG_NUMBER_BYTES = re.compile(rb"[0-9]{19}")


def _float(digits: str) -> int | float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise Invalid("a number is too large")
    return whole_if_possible(number)


def _from_json(text: str, limits: YamlLimits) -> Iterator[Document | Broken]:
    """The text as JSON: one value, or several concatenated values (as `jq` writes them).

    Yields nothing for text that Go does not accept as JSON: it may still be YAML in flow style.
    """
    try:
        value = cast("Json", _json_decoder().decode(text))
    except (msgspec.DecodeError, UnicodeEncodeError):
        for piece, first_line in _json_pieces(text):
            for document in list(_from_json(piece, limits)) or parsed(piece, 0, limits):
                yield replace(document, line=document.line + first_line)
        return
    except RecursionError:
        yield Broken(problem=f"nested deeper than {limits.depth} levels", line=1)
        return
    except Invalid:
        return
    try:
        encoded = msgspec.json.encode(value)
        structure = split_texts(encoded)[::2]
        if not is_flat(b"".join(structure), limits.depth) and _depth_beyond(value, limits.depth):
            yield Broken(problem=f"nested deeper than {limits.depth} levels", line=1)
            return
        # Equal text after encoding means the same numbers and no duplicate keys. Escapes may differ too.
        compact = msgspec.json.format(text, indent=-1)
        is_same_text = encoded.decode() == compact
        if _has_long_number(structure) if is_same_text else _LONG_NUMBER.search(text):
            value = _within_int64(value)
            is_same_text = msgspec.json.encode(value).decode() == compact
        warnings = () if is_same_text else _duplicates(text)
    except (OverflowError, ValueError):
        return  # a number too large for a float, which YAML takes for text
    line = text[: len(text) - len(text.lstrip())].count("\n") + 1
    yield Document(body=value, line=line, warnings=warnings)


def _json_pieces(text: str) -> list[tuple[str, int]]:
    """Concatenated JSON values and the number of lines before each; empty if the text is not JSON."""
    pieces: list[tuple[str, int]] = []
    decoder = json.JSONDecoder()
    position = line = 0
    while position < len(text):
        start = _NO_BLANK.search(text, position)
        if start is None:
            break
        try:
            _, end = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return []
        pieces.append((text[position:end], line))
        line += text.count("\n", position, end)
        position = end
    return pieces if len(pieces) > 1 else []


def _json_decoder() -> msgspec.json.Decoder[object]:
    return msgspec.json.Decoder(float_hook=_float)


def _has_long_number(structure: list[bytes]) -> bool:
    """Nearly all parts of JSON between its texts are equal to others, so each is searched once."""
    return _LONG_NUMBER_BYTES.search(b",".join(set(structure))) is not None


def _depth_beyond(value: Json, limit: int) -> bool:
    """Is the value nested deeper than `limit`? Iterative, because recursion would fail on such values."""
    level: list[Object | list[Json]] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(limit + 1):
        if not level:
            return False
        children = chain.from_iterable([node.values() if isinstance(node, dict) else node for node in level])
        level = [child for child in children if isinstance(child, (dict, list)) and child]
    return bool(level)


def _within_int64(value: Json) -> Json:
    if isinstance(value, dict):
        return {key: _within_int64(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_within_int64(item) for item in value]
    if type(value) is int and not -(1 << 63) <= value < 1 << 63:
        return float(value)
    return value if type(value) is not float else cast("Json", as_json(value))


def _duplicates(text: str) -> tuple[str, ...]:
    """The keys that a JSON object has twice, with their lines where YAML can read the text too."""
    names: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        if len({name for name, _ in pairs}) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    names.append(name)
                seen.add(name)

    json.loads(text, object_pairs_hook=note)
    if not names:
        return ()
    for document in parsed(text, 0, DEFAULT_LIMITS):
        if isinstance(document, Document) and document.warnings:
            return document.warnings
        break
    return tuple(f"key {json.dumps(name, ensure_ascii=False)} already set in map" for name in names)
