"""Line numbers of fields in YAML text, computed only for what is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from whysync.kubernetes.api import pointer as pointers
from whysync.kubernetes.api.yaml.errors import Invalid
from whysync.kubernetes.api.yaml.load import decoded


def position(text: str | bytes, pointer: str, *, document: int = 0) -> int | None:
    """The line (from 1) of the key or list item that `pointer` names, in the n-th non-empty document.

    `None` when it is not written there, which includes what a merge key or an alias brings in.
    """
    from yaml import YAMLError
    from yaml._yaml import CParser

    from whysync.kubernetes.api.yaml.construct import Event

    try:
        parser = CParser(decoded(text))
    except (Invalid, UnicodeError):
        return None
    try:
        return _find(cast("Callable[[], Event | None]", parser.get_event), pointers.split(pointer), document)
    except YAMLError:
        return None
    finally:
        parser.dispose()


def _find(next_event: Callable[[], object], path: tuple[str, ...], document: int) -> int | None:
    from yaml.events import (
        AliasEvent,
        CollectionEndEvent,
        DocumentStartEvent,
        MappingStartEvent,
        NodeEvent,
        ScalarEvent,
        SequenceStartEvent,
    )

    from whysync.kubernetes.api.yaml.scalars import as_key, plain, tagged

    def key_of(event: ScalarEvent) -> str:
        try:
            if event.tag is not None:
                return as_key(tagged(event.tag, event.value))
            return as_key(plain(event.value)) if event.implicit[0] else event.value
        except Invalid:
            return ""

    seen = -1
    wanted = False  # inside the document that was asked for
    # One entry for each open collection: its current key (mappings) or index (lists).
    steps: list[str | int | None] = []
    key_line = 0
    found_line: int | None = None
    while (event := next_event()) is not None:
        if isinstance(event, DocumentStartEvent):
            if wanted:
                return found_line
            continue
        if isinstance(event, CollectionEndEvent):
            steps.pop()
        elif isinstance(event, NodeEvent):
            at = event.start_mark
            line = cast("int", at.line) if at is not None else 0
            if not steps:
                empty = (
                    isinstance(event, ScalarEvent) and event.value in ("", "~", "null") and not event.style
                )
                seen += not empty
                wanted = seen == document and not empty
                if wanted and not path:
                    return line + 1
            elif steps[-1] is None:  # a key of a mapping
                steps[-1] = key_of(event) if isinstance(event, ScalarEvent) else ""
                key_line = line
                if isinstance(event, (ScalarEvent, AliasEvent)):
                    continue
            else:
                if isinstance(steps[-1], int):
                    steps[-1] += 1
                    key_line = line
                # The last of several equal keys is the one that counts.
                if wanted and len(steps) == len(path) and tuple(map(str, steps)) == path:
                    found_line = key_line + 1
            if isinstance(event, MappingStartEvent):
                steps.append(None)
                continue
            if isinstance(event, SequenceStartEvent):
                steps.append(-1)
                continue
        else:
            continue
        if steps and isinstance(steps[-1], str):
            steps[-1] = None  # the value is complete: next comes a key
    return found_line
