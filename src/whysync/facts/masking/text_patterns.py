"""Secrets in texts, found by the syntax around them: URLs, headers, flags, assignments, XML, messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from whysync.facts.masking import assignments, commands, tokens
from whysync.facts.masking.masks import is_mask
from whysync.facts.masking.secret_names import Secrecy, is_literal, is_password, secrecy_of, secrecy_of_path
from whysync.facts.masking.values import is_generated, is_literal_value, is_reference, looks_secret
from whysync.lazy_pattern import lazy_pattern

Mark = Callable[[str], str]

# A first look at the text in lower case decides which patterns are needed: few texts match any.
# Three patterns, because one with all alternatives is slower than the three together.
_NAMES = re.compile(
    r"pass|pwd?|token|secret|key|cred|auth|cookie|bearer|jwt|mnemonic|sig=|signature"
    r"|pat[\"'=:>\\ ]|--from-literal"
)
# Each alternative begins with a character that is rare in manifests: the search is four times as fast.
_SYNTAX = re.compile(
    r"@|-(?<=[\"' ]-)[upaw]|-user|login |unknown anchor|iteral value|\.value: |/webhook"
    r"|\.slack(?<=hooks\.slack)|\.office(?<=webhook\.office)"
)
SUSPECT: Final = (_NAMES, tokens.SUSPECT, _SYNTAX)
_KIND = lazy_pattern(r"kind\\*[\"']?\s{0,4}:\s{0,4}\\*[\"']?Secret(?:List)?(?![A-Za-z])")
_URL = lazy_pattern(
    r"(?P<scheme>(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,30}+://)(?P<user>[^\s/:@\"'<>]*+):"
    r"(?P<value>[^\s/\"'<>]+(?=@[^\s@])"
    # A slash or a blank in the password, but not `host:8080/path` and not a sentence.
    r"|(?!\d{1,5}(?:[/\s\"',?#]|$))[^\s\"'<>]{0,80}[/ ][^\"'<>\n@]{0,80}(?=@[A-Za-z0-9][\w.-]*(?::\d|/)))"
)
_URL_TOKEN = lazy_pattern(r"(?P<lead>https?://)(?P<value>(?=[^\s@/]*\d)[A-Za-z0-9_.~%-]{16,})(?=@)")
# GitHub accepts a token as the user with one of these as the password.
_FORMAL_PASSWORDS: Final = frozenset(("x-oauth-basic", "x-oauth", "oauth", "x", "api_token", ""))
_URL_USER_TOKEN = lazy_pattern(
    r"(?P<lead>https?://)(?P<value>[^\s/:@\"'<>]{4,}):(?=(?:x-oauth-basic|x-oauth|)@)"
)
_QUERY = lazy_pattern(
    r"(?P<lead>[?&;](?:access_token|private_token|auth_token|token|api_?key|key|password|passwd|secret"
    r"|client_secret|sig|signature|X-Amz-(?:Signature|Security-Token|Credential))=)(?P<value>[^\s&;#\"'<>]+)",
    re.IGNORECASE,
)
# URLs that are secret themselves.
_WEBHOOK = lazy_pattern(
    r"(?P<lead>https://(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
    r"|(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/\d+/|[a-z0-9-]+\.webhook\.office\.com/))"
    r"(?P<value>[^\s\"'<>]+)"
)
# user:password@tcp(host:3306)/db and user:password@host:5432/db, without a scheme.
_DSN = lazy_pattern(
    r"(?P<lead>(?<![\w/@.:%+-])[\w.+-]{1,64}+:)(?P<value>[^\s@\"'<>()/]{1,200}+)"
    r"(?=@(?:(?:tcp|udp|unix)\(|(?!sha\d)[\w-]+(?:\.[\w-]+)*:\d{2,5}(?:/|\b)))"
)
_BEARER = lazy_pattern(r"(?P<lead>[Bb]earer\s{1,4})(?P<value>(?=\S*\d)[A-Za-z0-9._~+/=-]{8,})")
# Everything that follows is a credential: a header with its scheme, or a header that is one.
_HEADER = lazy_pattern(
    r"(?P<lead>(?i:authorization)\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}\[?\\{0,7}[\"']?(?i:basic|bearer|token|digest|negotiate)\s{1,4})"
    r"(?P<value>[^\s\"'\\<>,]{4,})"
)
_KEY_HEADER = lazy_pattern(
    r"(?P<lead>(?i:x-api-key|x-auth-token|x-vault-token|private-token)\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}"
    r"\\{0,7}[\"']?)(?P<value>[^\s\"'\\<>,]{4,})"
)
_COOKIES = lazy_pattern(
    r"(?P<lead>(?i:(?:set-)?cookie)\\{0,7}[\"']?\s{0,4}[:=]\s{0,4}\[?\\{0,7}[\"']?)"
    r"(?P<value>(?:[^\r\n\"'\\<>,]|<masked \d{1,9}>){4,4000}+)"
)
_COOKIE = lazy_pattern(r"(?P<lead>(?:^|;)\s*(?:(?P<name>[^=;\s]++)=)?+)(?P<value><masked \d{1,9}>|[^;\s]++)")
_COOKIE_ATTRIBUTES: Final = frozenset(
    ("path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "priority", "version")
)
_WORDS_AFTER_A_FLAG = (
    r"(?:is|was|are|were|must|and|or|to|for|flag|option|options|argument|not|required|requires|cannot|should|from|in|of|file"
    r"|provided|given|set|has|have|with|without|but|if|when|can|may|will|needs|expects|takes|does|missing|value|on|as|by|at"
    r"|instead|before|after|via|the|a|an|it|you|please)\b"
)
_FLAG = lazy_pattern(
    r"(?P<lead>(?:^|(?<=[\s\"'`=(\[]))--?(?P<name>[A-Za-z][A-Za-z0-9-]{1,60}+)(?P<sep>\s{1,4}|=)[\"']?)"
    rf"(?P<value>(?!-|\$|<masked |{_WORDS_AFTER_A_FLAG}"
    r"|\*{1,20}+(?:[\s`]|$))"  # Argo CD writes asterisks there itself
    r"[^\s\"'<>,;]*[^\s\"'<>,;`])"  # the closing backtick of a command is not part of the password
)
# Flags whose value is a password even if it is a word.
_PASSWORD_FLAGS: Final = frozenset(
    [
        "password",
        "passwd",
        "passphrase",
        "token",
        "auth-token",
        "api-key",
        "client-secret",
        "requirepass",
        "masterauth",
        "pass",
    ]
)
_FROM_LITERAL = lazy_pattern(r"(?P<lead>--from-literal[= ][\"']?[\w.-]{1,253}=[\"']?)(?P<value>[^\s\"'<>]+)")
_USER = lazy_pattern(
    r"(?P<lead>\s(?:-u|--user|--basic-auth|--proxy-user)[ =][\"']?[^\s:\"']{1,200}:)"
    r"(?P<value>(?!\d+\b|//)[^\s\"';|&<>=-][^\s\"';|&<>]*)"
)
_PASS = lazy_pattern(r"(?P<lead>(?<![\w-])-?-?pass(?:in|out|wd)?[ =:]pass:)(?P<value>[^\s\"'<>]+)")
# Reported for a field: `spec.password: Invalid value: "x"`.
_INVALID = lazy_pattern(
    r"(?P<lead>(?<![\w.\[\]/-])(?P<path>[\w.\[\]/-]{1,200}+): "
    r"(?:Invalid|Unsupported|Duplicate) value: \\{0,7}\")"
    r"(?P<value>(?:[^\"\\]|\\[^\"])+)"
)
_INVALID_NUMBER = lazy_pattern(
    r"(?P<lead>(?<![\w.\[\]/-])(?P<path>[\w.\[\]/-]{1,200}+): Invalid value: )(?P<value>\d[\d.]*)(?=[:,\s]|$)"
)
# `ValidationError(Secret.data.password): invalid type …: got "x"`, `at '/auth/password': 'x' does not match`.
_REFUSED = lazy_pattern(
    r"(?P<lead>(?:ValidationError\((?P<path>[\w.\[\]/-]{1,200}+)\):[^\n]{0,300}?\bgot "
    r"|at '(?P<pointer>/[^'\s]{1,200}+)': )"
    r"\\{0,7}(?P<quote>[\"']))(?P<value>[^\"'\\\n]{1,2000}+)"
)
_TYPES: Final = frozenset(
    ("string", "integer", "number", "boolean", "array", "map", "object", "null", "float")
)
_NAME = lazy_pattern(r"[A-Za-z_][\w.-]*+")
# `DB_PASSWORD has literal value 'x'`.
_LITERAL = lazy_pattern(
    r"(?P<lead>(?<![A-Za-z0-9_.-])[A-Za-z_][\w.-]{1,80}+[\"'`]?[^\n\"'`;]{1,40}?\b(?:value|set to)[ :=]{1,3}"
    r"\\{0,7}(?P<quote>[\"'`]))(?P<value>[^\"'`\\\n]{1,2000}+)"
)
# Go's JSON decoder quotes the text around an error.
_CONTEXT = lazy_pattern(
    r"(?P<lead>error found in #\d+ byte of \.\.\.\|)(?P<value>.{0,500}?)"
    r"(?P<next>\|\.\.\., bigger context \.\.\.\|)(?P<more>.{0,2000}?)(?=\|\.\.\.|\Z)",
    re.DOTALL,
)
_KEY = lazy_pattern(r"(?<!\\)(\"[\w./-]{1,253}\")\s*:")
# A password that starts with an asterisk, which YAML parses as an alias.
_ANCHOR = lazy_pattern(r"(?P<lead>unknown anchor ')(?P<value>(?![A-Za-z_-]+')[^']+)(?=')")
_MIXED = lazy_pattern(r"(?=.*[A-Za-z])(?=.*[0-9])(?=.*[A-Z!@#$%^&*+=~?])")
# In running text a password may also be `password x` and `password is x`, a token `token x`.
_STATED = lazy_pattern(
    r"(?P<lead>\b(?<!nexpected )(?i:password|passwd|passphrase|pwd|token)(?: is| was)? {1,2}[\"'(]?)"
    r"(?P<value>[^\s\"'<>,;/()]{8,})"
)
# A line of a configuration file: `password: x`, `password = x`.
_LINE = lazy_pattern(
    r"^(?P<lead>[ \t]*+(?:- |export )?[\"']?"
    r"(?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60}+)[\"']?[ \t]*+[:=][ \t]*+[\"']?)"
    r"(?P<value>[^\s\"'|>{\[&*!#][^\r\n\"']*)",
    re.MULTILINE,
)

# `requirepass x`, in files that have no separator.
_DIRECTIVE = lazy_pattern(
    r"^(?P<lead>[ \t]*+(?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60}+)[ \t]++[\"']?)"
    r"(?P<value>[^\s\"'=:]++)(?=[\"']?[ \t]*+$)",
    re.MULTILINE,
)


def masked(text: str, mark: Mark) -> str:
    """The text with every secret masked that is recognized by syntax or format."""
    lower = text.lower()
    is_named = _NAMES.search(lower) is not None
    has_token = tokens.SUSPECT.search(lower) is not None
    if not is_named and not has_token and not _SYNTAX.search(lower):
        return text
    if has_token and "-----BEGIN" in text:
        text = tokens.PRIVATE_KEY.sub(lambda match: mark(match[0]), text)
    for needle, pattern, replaced in _RULES:
        if needle in text:
            text = pattern.sub(lambda match, replaced=replaced: replaced(match, mark), text)
    if " -" in text or text[:1] == "-" or " login " in text:
        text = _spliced(text, commands.in_text(text), mark)
    if has_token:
        text = tokens.TOKEN.sub(lambda match: mark(match[0]), text)
    if not is_named:
        return text
    text = _spliced(text, assignments.assigned(text), mark)
    if "</" in text or "/>" in text:
        text = _spliced(text, assignments.in_elements(text), mark)
    return _STATED.sub(lambda match: _stated(match, mark), text)


def masked_lines(text: str, mark: Mark) -> str:
    """As `masked`, and also values that lines of a configuration file assign to a name that indicates a
    secret.
    """
    text = masked(text, mark)
    if not _NAMES.search(text.lower()):
        return text
    text = _LINE.sub(lambda match: _in_line(match, mark), text)
    return _DIRECTIVE.sub(lambda match: _in_line(match, mark), text)


def is_suspect(text: str) -> bool:
    lower = text.lower()
    return any(pattern.search(lower) for pattern in SUSPECT)


def contains_secret(text: str) -> bool:
    """Does a text contain a manifest of kind Secret: an annotation, a patch, a message, a log?"""
    return "Secret" in text and "ata" in text and _KIND.search(text) is not None


def _spliced(text: str, spans: Iterator[tuple[int, int]], mark: Mark) -> str:
    chunks: list[str] = []
    position = 0
    for start, end in spans:
        if start < position or "<masked " in text[start:end]:
            continue
        chunks += (text[position:start], mark(text[start:end]))
        position = end
    return "".join([*chunks, text[position:]]) if chunks else text


# Replacements, one per syntax


def _value(match: re.Match[str], mark: Mark) -> str:
    value = match["value"]
    return match[0] if is_mask(value) else f"{match['lead']}{mark(value)}"


def _url(match: re.Match[str], mark: Mark) -> str:
    user, value = match["user"], match["value"]
    if is_mask(value):
        return match[0]
    return f"{match['scheme']}{user}:{value if value in _FORMAL_PASSWORDS else mark(value)}"


def _cookies(match: re.Match[str], mark: Mark) -> str:
    def cookie(pair: re.Match[str]) -> str:
        name = (pair["name"] or pair["value"]).lower()
        is_plain = name in _COOKIE_ATTRIBUTES or not is_literal_value(pair["value"])
        return pair[0] if is_plain else _value(pair, mark)

    return f"{match['lead']}{_COOKIE.sub(cookie, match['value'])}"


def _flag(match: re.Match[str], mark: Mark) -> str:
    name, value = match["name"], match["value"]
    secrecy = secrecy_of(name)
    if secrecy is Secrecy.NONE or not is_literal_value(value) or is_reference(value):
        return match[0]
    if name.lower() in _PASSWORD_FLAGS:
        is_secret = len(value) >= 4
    elif match["sep"] == "=" or secrecy is not Secrecy.SURE:
        return match[0] if secrecy is Secrecy.SURE or not looks_secret(value) else _value(match, mark)
    else:
        is_secret = len(value) >= (4 if is_password(name) else 8) and not re.match(r"[a-z]+\b", value)
    return _value(match, mark) if is_secret else match[0]


def _context(match: re.Match[str], mark: Mark) -> str:
    del mark
    if not _is_about_secret(match):
        return match[0]
    return f"{match['lead']}{_keys(match['value'])}{match['next']}{_keys(match['more'])}"


def _is_about_secret(match: re.Match[str]) -> bool:
    """Does the text mention a Secret before? `Secret "a" is invalid: data[x]: Invalid value`."""
    return "Secret" in match.string[max(0, match.start() - 20_000) : match.start()]


def _keys(context: str) -> str:
    """Of a fragment of JSON only the field names, because it is unknown where its values start."""
    return "…" + "…".join(f"{key}:" for key in _KEY.findall(context))


def _of_field(match: re.Match[str], mark: Mark) -> str:
    """The refused value, if its field contains a secret."""
    groups = match.groupdict()
    path = groups["path"] or groups.get("pointer") or ""
    value = match["value"]
    below = path.removeprefix("Secret.")
    is_data = below.startswith(("data.", "data[", "stringData.", "stringData["))
    of_secret = is_data and (path != below or _is_about_secret(match))
    if value in _TYPES and groups.get("pointer") is None and "quote" in groups:
        return match[0]
    secrecy = secrecy_of_path(path.rstrip("]"))
    is_secret = secrecy is Secrecy.SURE or (secrecy is not Secrecy.NONE and looks_secret(value))
    return _value(match, mark) if of_secret or is_secret else match[0]


def _literal(match: re.Match[str], mark: Mark) -> str:
    secrecy = max(map(secrecy_of, _NAME.findall(match["lead"])))
    is_secret = secrecy is Secrecy.SURE and is_literal(match["value"], secrecy)
    return _value(match, mark) if is_secret or (secrecy and looks_secret(match["value"])) else match[0]


_RULES: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], Mark], str]], ...]] = (
    ("@", _URL_USER_TOKEN, _value),
    ("@", _URL, _url),
    ("@", _URL_TOKEN, _value),
    ("@", _DSN, _value),
    ("earer", _BEARER, _value),
    ("uthorization", _HEADER, _value),
    ("AUTHORIZATION", _HEADER, _value),
    ("-", _KEY_HEADER, _value),
    ("ookie", _COOKIES, _cookies),
    ("COOKIE", _COOKIES, _cookies),
    ("--from-literal", _FROM_LITERAL, _value),
    ("-", _FLAG, _flag),
    (" -", _USER, _value),
    ("pass:", _PASS, _value),
    ("=", _QUERY, _value),
    ("https://", _WEBHOOK, _value),
    ("unknown anchor", _ANCHOR, _value),
    ("error found in #", _CONTEXT, _context),
    (" value: ", _INVALID, _of_field),
    (" value: ", _INVALID_NUMBER, _of_field),
    ("ValidationError(", _REFUSED, _of_field),
    ("at '/", _REFUSED, _of_field),
    (" value ", _LITERAL, _literal),
    ("set to ", _LITERAL, _literal),
)


def _stated(match: re.Match[str], mark: Mark) -> str:
    value = match["value"]
    is_mixed = _MIXED.match(value) is not None
    is_secret = (
        is_mixed or is_generated(value) if match["lead"][:1] in "pP" else is_mixed and is_generated(value)
    )
    return _value(match, mark) if is_secret else match[0]


def _in_line(match: re.Match[str], mark: Mark) -> str:
    secrecy, value = secrecy_of(match["name"]), match["value"]
    if secrecy is Secrecy.NONE or "<masked " in value or not is_literal(value, secrecy):
        return match[0]
    is_secret = secrecy is Secrecy.SURE or looks_secret(value)
    return f"{match['lead']}{mark(value)}" if is_secret else match[0]
