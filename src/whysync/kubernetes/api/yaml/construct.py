"""Build the JSON value of one document from the events of libyaml.

A loop with a stack of its own, so that no nesting can exhaust Python's. Mirrors `decode.go` of go-yaml v2
where it surprises: a merge key (`<<`) overwrites what stands before it, keys of different types are different
keys until both become text, and a duplicate is reported at the line of its value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Protocol, cast

from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from whysync.json_tree import Json, Object, copy
from whysync.kubernetes.api.yaml.errors import Invalid, YamlLimits
from whysync.kubernetes.api.yaml.scalars import HINTS, Scalar, as_json, as_key, plain, tagged

_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_NO_KEY: Final = "\0no key yet"
_MERGE: Final = "\0merge"
_MOST_REMEMBERED: Final = 50_000


class Mark(Protocol):
    line: int
    column: int
    index: int


class _Start:
    line = column = index = 0


class Event(Protocol):
    """The parts of PyYAML's events that are read here; each kind has only some of them."""

    start_mark: Mark
    end_mark: Mark
    anchor: str | None
    tag: str | None
    implicit: tuple[bool, bool]
    value: str
    style: str | None
    version: tuple[int, int] | None


class Frame:
    """A mapping or sequence that is still open."""

    __slots__ = ("anchor", "before", "height", "into", "key", "key_type", "line", "lines", "merging", "types")

    def __init__(self, into: Object | list[Json], *, line: int, anchor: str | None, before: int) -> None:
        self.into = into
        self.line = line
        self.anchor = anchor
        self.before = before  # how many values the document had when this one began
        self.height = 1
        self.key = _NO_KEY
        self.key_type: type = str
        # Only on request: the line of each value (for merge errors), the Go type of each non-string key.
        self.lines: dict[str, int] | None = None
        self.types: dict[str, set[type]] | None = None
        self.merging: list[Frame] | None = None  # the mappings of a `<<: [*a, *b]`


def _is_excessive(repeated: int, decoded: int) -> bool:
    """Do aliases add too large a share of the values? Mirrors go-yaml v2 `allowedAliasRatio`."""
    if repeated <= 100 or decoded <= 1000:
        return False
    share = min(max(decoded - 400_000, 0) / 3_600_000, 1.0)
    return repeated / decoded > 0.99 - 0.89 * share


class Anchored:
    """The value of an alias, and how many values it contains."""

    __slots__ = ("frame", "open", "size", "value")

    def __init__(self) -> None:
        self.value: Json = None
        self.frame: Frame | None = None
        self.size = 1
        self.open = True


class Builder:
    """Reads documents one by one; `line` and `warnings` (what a server would warn of) are of the last."""

    def __init__(self, limits: YamlLimits, *, source: str = "", check_escapes: bool = False) -> None:
        self.warnings: list[str] = []
        self.line = 0
        self._limits = limits
        self._source = source
        self._check_escapes = check_escapes
        self._seen: dict[str, Scalar] = {}
        self._anchors: dict[str, Anchored] = {}
        self._count = 0
        self._repeated = 0
        self._counted_before = 0
        self._first_line = 0
        self._at: Mark = _Start()

    def build(self, next_event: Callable[[], Event], *, first_line: int = 0) -> Json:
        """The value up to the end of the document whose start event was just taken."""
        self._anchors.clear()
        self._repeated = 0
        self._counted_before = self._count
        self.warnings = []
        self._first_line = first_line
        event = next_event()
        self.line = first_line + event.start_mark.line + 1
        try:
            return self._build(event, next_event)
        except Invalid as problem:
            line, column = first_line + self._at.line + 1, self._at.column + 1
            raise Invalid(problem.problem, line=line, column=column) from None

    def _build(self, event: Event, next_event: Callable[[], Event]) -> Json:
        stack: list[Frame] = []
        top: Frame | None = None
        seen, deepest = self._seen, self._limits.depth
        while True:
            kind: type = event.__class__
            if kind is ScalarEvent:
                self._at = event.start_mark
                text = event.value
                tag = event.tag
                if tag is None:
                    if not event.implicit[0]:
                        value = text
                        if self._check_escapes and event.style == '"':
                            self._refuse_json_escape(event)
                    elif text and text[0] not in HINTS:
                        value = text
                    elif text in seen:
                        value = seen[text]
                    else:
                        value = plain(text)
                        if len(seen) < _MOST_REMEMBERED:
                            seen[text] = value
                else:
                    value = tagged(tag, text)
                self._count += 1
                if event.anchor is not None:
                    self._remember(event.anchor, value)
                if top is not None and top.key is _NO_KEY and type(top.into) is dict:
                    if text == "<<" and (event.implicit[0] or tag == _MERGE_TAG):
                        top.key = _MERGE
                    else:
                        self._set_key(top, value)
                    event = next_event()
                    continue
                if type(value) is not str and value is not None:
                    value = as_json(value)
                closed: Frame | None = None
                line = event.start_mark.line
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._at = event.start_mark
                if len(stack) >= deepest:
                    raise Invalid(f"nested deeper than {deepest} levels")
                self._count += 1
                into: Object | list[Json] = {} if kind is MappingStartEvent else []
                line = event.start_mark.line
                frame = Frame(into, line=line, anchor=event.anchor, before=self._count - 1)
                if event.anchor is not None:
                    self._anchors[event.anchor] = Anchored()
                    frame.lines = {}
                if top is not None and top.key is _MERGE:
                    frame.lines = {}
                    if type(into) is list:
                        frame.merging = []
                elif top is not None and top.merging is not None:
                    frame.lines = {}
                stack.append(frame)
                top = frame
                event = next_event()
                continue
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                closed = stack.pop()
                value = closed.into
                line = closed.line
                top = stack[-1] if stack else None
                if top is not None and top.height <= closed.height:
                    top.height = closed.height + 1
                if closed.anchor is not None:
                    self._close_anchor(closed)
            elif kind is AliasEvent:
                self._at = event.start_mark
                line = event.start_mark.line
                anchored = self._alias(cast("str", event.anchor))
                if top is not None and top.key is _NO_KEY and type(top.into) is dict:
                    if isinstance(anchored.value, (dict, list)):
                        raise Invalid("a map key must be a plain value, not a map or a list")
                    self._set_key(top, anchored.value)
                    event = next_event()
                    continue
                closed = anchored.frame
                value = anchored.value
                if closed is not None and top is not None:
                    top.height = max(top.height, closed.height + 1)
                    if len(stack) + closed.height > deepest:
                        raise Invalid(f"nested deeper than {deepest} levels")
                if top is None or (top.key is not _MERGE and top.merging is None):
                    value = copy(value)
                if type(value) is not str and not isinstance(value, (dict, list)):
                    value = as_json(value)
            else:
                raise Invalid("the document ends too early")

            if top is None:
                event = next_event()  # the end of the document
                return value
            into = top.into
            if type(into) is list:
                if top.merging is not None:
                    if closed is None or type(closed.into) is not dict:
                        raise Invalid("map merge requires map or sequence of maps as the value")
                    top.merging.append(closed)
                into.append(value)
            elif top.key is _NO_KEY:
                raise Invalid("a map key must be a plain value, not a map or a list")
            elif top.key is _MERGE:
                self._merge(top, closed)
                top.key = _NO_KEY
            else:
                mapping = cast("Object", into)
                key = top.key
                if key in mapping or top.types is not None:
                    self._note_duplicate(top, key, top.key_type, line)
                if top.lines is not None:
                    top.lines[key] = line
                mapping[key] = value
                top.key = _NO_KEY
            event = next_event()

    def _set_key(self, top: Frame, value: Scalar) -> None:
        if type(value) is str:
            top.key = value
            top.key_type = str
            return
        top.key = as_key(value)
        top.key_type = type(value)
        if top.types is None:
            top.types = {key: {str} for key in top.into if isinstance(key, str)}

    def _note_duplicate(self, top: Frame, key: str, kind: type, line: int) -> None:
        if top.types is not None:
            kinds = top.types.setdefault(key, set())
            if kind not in kinds:
                kinds.add(kind)
                return
        name = key if kind is not str else json.dumps(key, ensure_ascii=False)
        self.warnings.append(f"line {self._first_line + line + 1}: key {name} already set in map")

    def _merge(self, top: Frame, merged: Frame | None) -> None:
        if merged is None:
            raise Invalid("map merge requires map or sequence of maps as the value")
        # Backwards, as earlier mappings win over later ones.
        sources = [merged] if type(merged.into) is dict else list(reversed(merged.merging or []))
        if type(merged.into) is list and len(sources) != len(merged.into):
            raise Invalid("map merge requires map or sequence of maps as the value")
        mapping = cast("Object", top.into)
        for source in sources:
            lines = source.lines or {}
            for key, value in cast("Object", source.into).items():
                line = lines.get(key, source.line)
                kinds = source.types.get(key, {str}) if source.types is not None else {str}
                if any(kind is not str for kind in kinds) and top.types is None:
                    top.types = {name: {str} for name in mapping}
                if key in mapping or top.types is not None:
                    for kind in kinds:
                        self._note_duplicate(top, key, kind, line)
                if top.lines is not None:
                    top.lines[key] = line
                mapping[key] = copy(value)

    def _remember(self, anchor: str, value: Scalar) -> None:
        anchored = Anchored()
        # Unconverted: the same scalar may also be used as a key, where Go looks at the type.
        anchored.value = value
        anchored.open = False
        self._anchors[anchor] = anchored

    def _close_anchor(self, frame: Frame) -> None:
        anchored = self._anchors.get(cast("str", frame.anchor))
        if anchored is None or not anchored.open:
            return  # the name was given again inside
        anchored.value = frame.into
        anchored.frame = frame
        anchored.size = self._count - frame.before
        anchored.open = False

    def _alias(self, name: str) -> Anchored:
        anchored = self._anchors.get(name)
        if anchored is None:
            # Without its name: most often it is a password that begins with a star.
            raise Invalid("unknown anchor referenced (a text that begins with * must be quoted)")
        if anchored.open:
            raise Invalid("anchor value contains itself")
        self._count += anchored.size + 1
        self._repeated += anchored.size
        decoded = self._count - self._counted_before
        if _is_excessive(self._repeated, decoded):
            raise Invalid("document contains excessive aliasing")
        if self._repeated > self._limits.repeated:
            raise Invalid(f"document contains excessive aliasing (more than {self._limits.repeated} values)")
        return anchored

    def _refuse_json_escape(self, event: Event) -> None:
        """libyaml takes JSON's escaped slash, go-yaml does not."""
        written = self._source[event.start_mark.index : event.end_mark.index]
        if "\\/" in written.replace("\\\\", ""):
            raise Invalid("found unknown escape character")
