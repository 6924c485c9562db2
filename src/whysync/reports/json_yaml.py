"""Reports as JSON and YAML; unsafe characters are escaped, so that the data stays the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

import msgspec

from whysync.json_tree import Json
from whysync.reports.output import Safe
from whysync.unsafe_text import CI_MARK, escaped


def as_json(value: object) -> Safe:
    """Indented JSON, to be read and compared line by line."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # half a surrogate pair, in the name of a file for example
        text = json.dumps(tree(value), ensure_ascii=False, indent=2)
    return Safe(CI_MARK.sub(r"\\u0023", escaped(text)) + "\n")


def as_yaml(*documents: object) -> Safe:
    from whysync.kubernetes.api.yaml import dump

    return yaml_text(dump(tree(document)) for document in documents)


def yaml_text(dumped: Iterable[str]) -> Safe:
    """Documents that `dump` wrote: it escapes what is unsafe."""
    return Safe("---\n".join(dumped))


def tree(value: object) -> Json:
    """A struct as JSON values."""
    return _listed(cast("object", msgspec.to_builtins(value)))


def _listed(value: object) -> Json:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_listed(item) for item in cast("Iterable[object]", value)]
    return cast("Json", value)
