"""Regular expressions that are compiled on first use: compiling takes longer than most matches."""

from __future__ import annotations

import re
from typing import cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split", "pattern", "flags")


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> object:
        """Called once: then the instance has the attributes of the compiled expression."""
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(*self._source)
        vars(self).update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, for an expression that most runs do not need."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
