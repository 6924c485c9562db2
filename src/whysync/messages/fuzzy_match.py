"""Fuzzy matching of texts without quotes, in another case, or truncated, as in chats, UIs and events.

`tolerant` rewrites the regex of a pattern. An opening quote becomes optional. A closing quote may be the end
of a word instead, and the text between the quotes is matched lazily, so that a name ends with its word.
`match_truncated` matches a text that ends in the middle of the regex.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

QUOTES = "\"'`"
_WORD_END = r"(?=[\s:,;)\]]|\.?$|\.\s)"
_QUANTIFIER = re.compile(r"\{\d*,?\d*\}|[*+?]")
# How many of the literal characters of a pattern a truncated text must contain.
_FEWEST_FIXED = 10
_LEAST_SHARE = 0.35
_SHORTEST_WORDS = 3
_LONGEST_SENTENCE = 20
_SHORTEST_BEGINNING = 5
_SEPARATORS = ":;,.([{-=>\n\"'`"
_WORD_AT_THE_END = re.compile(r"\w+$")
_LONGEST_WORD = 100
"""Of what stands before a clause; more is not read, because a text may be long."""
_WITHOUT_QUOTES = str.maketrans("", "", QUOTES + "\\")


def fold(text: str) -> str:
    """Text in lower case and without quotes, for comparing hints."""
    return text.translate(_WITHOUT_QUOTES).lower()


@cache
def tolerant(regex: str) -> re.Pattern[str]:
    return re.compile("".join(_rewritten(list(_tokens(regex)))), re.DOTALL | re.IGNORECASE)


def _tokens(regex: str) -> Iterator[str]:
    """Escapes, character classes, quantifiers and group openings as one token each."""
    position = 0
    while position < len(regex):
        start = position
        character = regex[position]
        if character == "\\":
            position += 2
        elif character == "[":
            position = _end_of_class(regex, position)
        elif quantifier := _QUANTIFIER.match(regex, position):
            position = quantifier.end()
        elif regex.startswith("(?", position):
            position = _end_of_opening(regex, position)
        else:
            position += 1
        yield regex[start:position]


def _end_of_class(regex: str, start: int) -> int:
    position = start + 1
    position += regex.startswith("^", position)
    position += regex.startswith("]", position)
    while regex[position] != "]":
        position += 2 if regex[position] == "\\" else 1
    return position + 1


def _end_of_opening(regex: str, start: int) -> int:
    """`(?P<name>`, `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!`, `(?-i:` and the like."""
    opening = re.compile(r"\(\?(?:P<\w+>|P=\w+\)|<?[=!]|[a-zA-Z-]*:)").match(regex, start)
    return opening.end() if opening else start + 2


def _rewritten(tokens: list[str]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        after = tokens[index + 1] if index + 1 < len(tokens) else ""
        if _is_quote(token):
            if _QUANTIFIER.fullmatch(after):
                yield token  # the pattern itself says how often
            elif before.startswith(")") or _QUANTIFIER.fullmatch(before):
                yield f"(?:{token}|{_WORD_END})"
            else:
                yield f"{token}?"
        elif _QUANTIFIER.fullmatch(token) and _excludes_quotes(before) and not _QUANTIFIER.fullmatch(after):
            yield f"{token}?"
        else:
            yield token


def _is_quote(token: str) -> bool:
    if token.startswith("[") and not token.startswith("[^"):
        return all(character in QUOTES + "\\" for character in token[1:-1])
    return token.removeprefix("\\") in tuple(QUOTES)


def _excludes_quotes(token: str) -> bool:
    return token.startswith("[^") and any(quote in token for quote in QUOTES)


def match_truncated(pattern: str, text: str) -> tuple[regex.Match[str], int] | None:
    """The match of a truncated text, and how many literal characters of the pattern it contains."""
    match = _partial(pattern).search(text, partial=True)
    if match is None or not match.partial:
        return None
    fixed = _fixed_characters(pattern, match[0])
    if fixed < _LONGEST_SENTENCE and not _begins_clause(text, match.start()):
        return None  # a few words in the middle of another sentence
    total = sum(map(len, _fixed_words(pattern)))
    if _ends_in_anything(pattern, match[0]):
        return None
    if pattern.endswith("*") and fixed >= total - 1:
        return None  # only the introduction matches, its content is missing
    return (match, fixed) if fixed >= max(_FEWEST_FIXED, _LEAST_SHARE * total) else None


def match_beginning(pattern: str, text: str) -> regex.Match[str] | None:
    """The match of a text that is the beginning of a known phrase, and ends in the middle of a word.

    Few characters are enough: whether another phrase begins alike is for the caller to check.
    """
    match = _partial(pattern).match(text, partial=True)
    if match is None or not match.partial or match.end() < len(text):
        return None
    fixed = _fixed_characters(pattern, match[0])
    return match if fixed >= _SHORTEST_BEGINNING and _ends_inside(pattern, match[0]) else None


def _ends_inside(pattern: str, matched: str) -> bool:
    """Does it end between two characters of a literal piece, none of which is a space?"""
    return any(
        matched.endswith(words[:length]) and " " not in words[length - 1 : length + 1]
        for words in _fixed_words(pattern)
        for length in range(_SHORTEST_WORDS, len(words))
    )


def _begins_clause(text: str, position: int) -> bool:
    """Some patterns leave out the first letter, which may be a capital."""
    before = _WORD_AT_THE_END.sub("", text[max(0, position - _LONGEST_WORD) : position]).rstrip()
    return before[-1] in _SEPARATORS if before else position <= _LONGEST_WORD


def _ends_in_anything(pattern: str, matched: str) -> bool:
    """Does the text end where the pattern accepts any text, before its last literal words?

    Then the words that distinguish the pattern from others are missing, and the text may not be truncated.
    """
    anything = pattern.rfind(".*", 0, -2)
    words = _fixed_words(pattern[anything:]) if anything >= 0 else ()
    return bool(words) and words[0][:_SHORTEST_WORDS] not in matched


def ends_in_word(pattern: str, matched: str) -> bool:
    """Does a truncated match end in the middle of a literal word of the pattern?"""
    return any(
        matched.endswith(words[:length]) and words[length - 1].isalnum() and words[length].isalnum()
        for words in _fixed_words(pattern)
        for length in range(_SHORTEST_WORDS, len(words))
    )


def ends_in_phrase(pattern: str, matched: str) -> bool:
    """Does a truncated match end between two literal words of the pattern, after enough of them?

    `there are no clusters with` is no complete sentence. Fewer words may be one.
    """
    return any(
        matched.rstrip().endswith(words[:length].rstrip())
        for words in _fixed_words(pattern)
        for length in range(_LONGEST_SENTENCE, len(words))
        if words[length] == " " and words[length:].strip()
    )


def _fixed_characters(pattern: str, matched: str) -> int:
    """How many characters of a truncated match are literal words of the pattern, not names in between."""
    position = count = 0
    for words in _fixed_words(pattern):
        position_of_words = matched.find(words, position)
        if position_of_words >= 0:
            position = position_of_words + len(words)
            count += len(words)
        else:
            lengths = range(min(len(words), len(matched) - position), 0, -1)
            count += next((length for length in lengths if matched.endswith(words[:length])), 0)
    return count


@cache
def _partial(pattern: str) -> regex.Pattern[str]:
    import regex  # takes 15 ms, and is needed only for texts that nothing else matches

    return regex.compile(pattern, regex.DOTALL)


@cache
def _fixed_words(pattern: str) -> tuple[str, ...]:
    """The literal pieces of a regex that every match has, in order: not those of optional groups."""
    pieces = [""]
    for token in _without_optional_groups(tuple(_tokens(pattern))):
        if token.startswith("\\") and not token[1:].isalnum():
            pieces[-1] += token[1:]
        elif len(token) == 1 and token not in "()|.^$*+?":
            pieces[-1] += token
        else:
            if token == "?" or token == "*" or token.startswith("{0"):
                pieces[-1] = pieces[-1][:-1]  # the character before it is optional
            pieces.append("")
    return tuple(piece for piece in pieces if len(piece) >= _SHORTEST_WORDS)


def _without_optional_groups(tokens: tuple[str, ...]) -> Iterator[str]:
    """The tokens outside of `(…)?`, `(…)*` and `(…){0,n}`."""
    opened: list[int] = []
    optional: set[int] = set()
    for index, token in enumerate(tokens):
        if token.startswith("("):
            opened.append(index)
        elif token == ")" and opened:
            start = opened.pop()
            after = tokens[index + 1] if index + 1 < len(tokens) else ""
            if after in ("?", "*") or after.startswith("{0"):
                optional.update(range(start, index + 1))
    yield from (token for index, token in enumerate(tokens) if index not in optional)
