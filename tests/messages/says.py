"""One row of a table test: a text, the failure that it names, and the parts of it."""

from __future__ import annotations

from whysync.messages.failure import Failure
from whysync.messages.parse import understand


def says(text: str, kind: type[Failure], /, **parts: object) -> None:
    """`text` names exactly one failure, of this kind, with these parts (others are not looked at)."""
    failures = understand(text).failures
    assert [type(failure) for failure in failures] == [kind], failures
    actual = {name: getattr(failures[0], name) for name in parts}
    assert actual == parts
    assert failures[0].text in text


Row = tuple[str, type[Failure], dict[str, object]]
