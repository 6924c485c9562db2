"""Manifests of kind Secret inside text: an annotation, a patch, a message, a log."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_KIND = re.compile(r"kind\\*[\"']?\s{0,4}:\s{0,4}\\*[\"']?Secret(?:List)?(?![A-Za-z])")
_START = re.compile(r"\s*(?:[{\[]|---|- |(?:apiVersion|kind|metadata|type|data|stringData):)")
_LARGEST: Final = 2 << 20  # more than an API server accepts; a long log is not a manifest
# `"data": {…}`, in JSON, in JSON inside a text, in YAML's flow style
_BRACES = re.compile(
    r"(?P<lead>\b(?:data|stringData)\\*[\"']?\s{0,4}:\s{0,4}\{)(?P<body>[^{}]*[^{}\s][^{}]*)"
)
_BLOCK = re.compile(
    r"^(?P<lead>(?P<indent>[ \t]*)(?:- )?[\"']?(?:data|stringData)[\"']?:[ \t]*\r?\n)"
    r"(?P<body>(?:(?P=indent)[ \t]+\S[^\n]*\n?|[ \t]*\r?\n)+)",
    re.MULTILINE,
)


def holds_secret(text: str) -> bool:
    return "Secret" in text and "ata" in text and _KIND.search(text) is not None


def may_be_an_object(text: str) -> bool:
    """Is it worth parsing?"""
    return len(text) <= _LARGEST and _START.match(text) is not None


def masked_data(text: str, mark: Callable[[str], str]) -> str:
    """Mask everything below `data` and `stringData`, each value as one mask."""
    text = _BRACES.sub(lambda found: f"{found['lead']}{_marked(found['body'], mark)}", text)
    return _BLOCK.sub(
        lambda found: f"{found['lead']}{found['indent']}  {_marked(found['body'], mark)}\n", text
    )


def _marked(body: str, mark: Callable[[str], str]) -> str:
    return mark(body.strip())
