"""A hostile value, and what may not be left of it in the output of each medium."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from xml.etree import ElementTree

from whysync.kubernetes.api import yaml

HOSTILE = (
    "x\x00\x1b]52;c;aGk=\x07\x1b[2J\x1b[8m\x9b31m\x7f\u202e\u2066\u200e\u061c\u200b\u00ad\ufeff\u2028\x85\u3164"
    "\U000e0041\r\n::error::a\nFORGED\n  ::set-output name=a::b\n##[error]c ##vso[task.complete]d"
    "\nsection_start:1:s\r\x1b[0Ke [l](http://evil.example) ![i](http://evil.example/i) @admin &#64;admin"
    " see#12 <script>alert(1)</script> <img src='x' onerror=\"y\"/> ]]> | ` ``` ~~~ ~~z~~ */ \\"
)
HALF = "\ud800"
"""Half of a surrogate pair, as in names of files that are not UTF-8."""
_OBEYED = re.compile(r"^\s*::[A-Za-z]|##[a-z]*\[", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[(?:0|[12]|3[1-6])(?:;3[1-6])?m")
_INVISIBLE = "\u115f\u1160\u3164\uffa0\u034f"


def check_text(text: str) -> None:
    """Nothing that a terminal obeys, a reader cannot see, or a CI runner takes for a command."""
    for line in _COLOUR.sub("", text).split("\n"):
        _check_line(line)


@lru_cache(maxsize=100_000)  # most reports of one test differ in a few lines
def _check_line(line: str) -> None:
    characters = set(line)
    odd = {
        hex(ord(character))
        for character in characters
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }
    assert not odd, (odd, line[:300])
    assert not characters & set(_INVISIBLE), line[:300]
    assert not _OBEYED.search(line), line[:300]


def check_lines(text: str) -> None:
    """No value begins a line of its own; only where nothing is wrapped."""
    check_text(text)
    assert "\nFORGED" not in text, text[text.index("\nFORGED") - 300 :][:600]


def check_markdown(text: str) -> None:
    check_lines(text)
    alive = _without_code(text)
    for pattern in (r"\]\(", r"!\[", r"\[[^\]]*\]", r"<(?!/?(details|summary|sub|br)\b)[a-z/!]", r"(?<!\s)~"):
        assert not re.search(pattern, alive), (pattern, alive[:2_000])
    assert not re.search(r"(?<![0-9A-Za-z])@[0-9A-Za-z]", alive), alive[:2_000]
    assert not re.search(r"&#\w+;", alive), alive[:2_000]
    assert not re.search(r"#[0-9]", alive), alive[:2_000]


def _without_code(text: str) -> str:
    """Without fences, code spans and escaped characters, as a renderer reads them."""
    out: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,})", line)
        if fence:
            if mark and mark[1] == fence and line.strip() == fence:
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        out.append(line)
    assert not fence, "a fence is not closed"
    spans = re.compile(r"\\[!-/:-@\[-`{-~]|(?<!`)(`+)(?!`)(?:.*?)(?<!`)\1(?!`)")
    return "\n".join(spans.sub(" ", line) for line in out)


def check_xml(text: str) -> None:
    check_text(text)
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert not element.tag.endswith(("script", "img")), element.tag
        assert not [name for name in element.attrib if name.startswith("on")]


def check_json(text: str) -> None:
    check_lines(text)
    json.loads(text)
    text.encode()


def check_yaml(text: str) -> None:
    check_lines(text)
    assert not [document for document in yaml.documents(text) if isinstance(document, yaml.Broken)], text[
        :2_000
    ]
    text.encode()


def check_github(text: str) -> None:
    """Each line is one command, and its values cannot begin another."""
    for line in text.splitlines():
        assert re.match(r"::(error|warning|notice) ", line), line
        check_text(line.removeprefix("::"))


CHECKS = {
    "json": check_json,
    "sarif": check_json,
    "gitlab": check_json,
    "yaml": check_yaml,
    "markdown": check_markdown,
    "html": check_xml,
    "svg": check_xml,
    "junit": check_xml,
    "github": check_github,
    "narrow": check_text,
}


def check(format: str, text: str) -> None:
    CHECKS.get(format, check_lines)(text)
