"""Secrets that are known by their shape, anywhere in a text: tokens, keys, passwords in URLs."""

from __future__ import annotations

import re
from collections.abc import Callable

from whysync.sources.masking.marks import is_mark
from whysync.sources.masking.names import Promise, is_literal, is_password, promise_of

Mark = Callable[[str], str]

# One look decides whether the others are needed: nearly every string passes here.
_SUSPECT = re.compile(
    r"://[^\s/]*@|-----BEGIN|eyJ|gh[opsur]_|github_pat_|gl(?:pat|dt|rt)-|A[KS]IA|xox|AIza|sk[-_]|npm_|dop_v1|hv[sb]\."
    r"|SG\.|ya29\.|dckr_|[Bb]earer|[Aa]uthorization|[Cc]ookie|[Ss]ig"
    r"|hooks\.slack|/webhooks/|webhook\.office|mysql| -u |unknown anchor|"
    r"[Pp][Aa][Ss][Ss]|[Pp][Ww][Dd]|[Tt][Oo][Kk][Ee][Nn]|[Ss][Ee][Cc][Rr][Ee][Tt]|[Kk][Ee][Yy]|[Cc]redential"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.*?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|.*\Z)",
    re.DOTALL,
)
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_])(?:"
    r"gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|dt|rt)-[A-Za-z0-9_-]{15,}"
    r"|A[KS]IA[A-Z0-9]{16}|xox[abeoprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}"
    r"|sk_(?:live|test)_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{32,}|npm_[A-Za-z0-9]{30,}|dop_v1_[a-f0-9]{40,}"
    r"|hv[sb]\.[A-Za-z0-9_-]{20,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|dckr_pat_[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)"
)
_URL_PASSWORD = re.compile(
    r"(?P<lead>[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"'<>]*:)(?P<value>[^\s/\"'<>]+)(?=@[^\s@])"
)
_URL_TOKEN = re.compile(r"(?P<lead>https?://)(?P<value>(?=[^\s@/]*\d)[A-Za-z0-9_.~%-]{16,})(?=@)")
_BEARER = re.compile(r"(?P<lead>[Bb]earer\s{1,4})(?P<value>(?=\S*\d)[A-Za-z0-9._~+/=-]{8,})")
# Whatever stands there is a credential: a header with its scheme, a header that is one, a flag for one.
_HEADER = re.compile(
    r"(?P<lead>(?i:authorization)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?(?i:basic|bearer|token|digest)\s{1,4})"
    r"(?P<value>[^\s\"'\\<>,]{4,})"
)
_KEY_HEADER = re.compile(
    r"(?P<lead>(?i:x-api-key|x-auth-token|x-vault-token|private-token|(?:set-)?cookie)\\?[\"']?\s{0,4}[:=]\s{0,4}"
    r"\\?[\"']?)(?P<value>[^\s\"'\\<>,]{4,})"
)
_PASSWORD_FLAG = re.compile(
    r"(?P<lead>(?:^|\s)--(?i:password|passwd|passphrase|token|auth-token|api-key|client-secret)[ =][\"']?)"
    r"(?P<value>(?!-|\$|(?:is|was|must|and|or|to|for|flag|option|not|required|cannot|should|from|in|of|file)\b"
    r"|\*{1,20}[\s`])"  # Argo CD has put stars there itself
    r"[^\s\"'<>,;]{3,}[^\s\"'<>,;`])"  # a command stands in backticks: the last is not the password's
)
_QUERY = re.compile(
    r"(?P<lead>[?&;](?:access_token|private_token|auth_token|token|api_?key|key|password|passwd|secret"
    r"|client_secret|sig|signature|X-Amz-(?:Signature|Security-Token|Credential))=)(?P<value>[^\s&;#\"'<>]+)",
    re.IGNORECASE,
)
# Addresses that are their own password.
_WEBHOOK = re.compile(
    r"(?P<lead>https://(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
    r"|(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks/\d+/|[a-z0-9-]+\.webhook\.office\.com/))"
    r"(?P<value>[^\s\"'<>]+)"
)
# curl -u name:password, mysql -ppassword, sshpass -p password, docker login -p password.
_SHELL = re.compile(
    r"(?P<lead>\s(?:-u|--user)[ =][\"']?[^\s:\"']+:"
    r"|\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n;|&]{0,200}?\s-p"
    r"|\b(?:sshpass|login)\b[^\n;|&]{0,200}?\s-p[ =]?)[\"']?"
    r"(?P<value>(?!\d+\b)[^\s\"';|&<>=-][^\s\"';|&<>]*)"
)
# Said of a field: `spec.password: Invalid value: "x"`.
_INVALID = re.compile(
    r"(?P<lead>(?<![\w.\[\]/-])(?P<path>[\w.\[\]/-]{1,200}): (?:Invalid|Unsupported|Duplicate) value: \\?\")"
    r"(?P<value>(?:[^\"\\]|\\[^\"])+)"
)
# What Go's JSON decoder shows around an error: the text that it could not read.
_CONTEXT = re.compile(
    r"(?P<lead>error found in #\d+ byte of \.\.\.\|)(?P<value>.{0,500}?)"
    r"(?P<next>\|\.\.\., bigger context \.\.\.\|)(?P<more>.{0,2000}?)(?=\|\.\.\.|\Z)",
    re.DOTALL,
)
_KEY = re.compile(r"(?<!\\)(\"[\w./-]{1,253}\")\s*:")
# A password that begins with a star, as YAML reads it.
_ANCHOR = re.compile(r"(?P<lead>unknown anchor ')(?P<value>(?![A-Za-z_-]+')[^']+)(?=')")
_LETTER_AND_MORE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9!@#$%^&*+=~?])")
_MIXED = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])(?=.*[A-Z!@#$%^&*+=~?])")
# name=value and --name=value; --name value.
_ASSIGNED = re.compile(
    r"(?P<lead>(?<![A-Za-z0-9_.-])(?P<name>-{0,2}[A-Za-z_][A-Za-z0-9_.-]{1,60})[\"']?=(?!=)[\"']?)"
    r"(?P<value>[^\s\"'&;,<>]+)"
)
_FLAG = re.compile(
    r"(?P<lead>(?:^|\s)--?(?P<name>[A-Za-z][A-Za-z0-9-]{1,60})\s{1,4})"
    r"(?P<value>(?![a-z]+\b|<masked |\*{1,20}[\s`])[^\s\"'-](?:\S*[^\s`])?)"
)
# "name": "value", also inside JSON that is itself a string, where each quote has a backslash.
_NAME = r"(?P<name>[A-Za-z0-9_.-]{0,50}(?i:pass|pwd|token|secret|key|data)[A-Za-z0-9_.-]{0,20})"
_MEMBER = re.compile(rf"(?P<lead>\"{_NAME}\"\s{{0,4}}:\s{{0,4}}\")(?P<value>(?:[^\"\\]|\\.)+)", re.DOTALL)
_QUOTED_MEMBER = re.compile(
    rf"(?P<lead>\\\"{_NAME}\\\"\s{{0,4}}:\s{{0,4}}\\\")"
    r"(?P<value>(?:[^\"\\]|\\\\(?:\\\"|.))+)",
    re.DOTALL,
)
_PYTHON_MEMBER = re.compile(rf"(?P<lead>'{_NAME}'\s{{0,4}}:\s{{0,4}}')(?P<value>(?:[^'\\]|\\.)+)", re.DOTALL)
# In running text: `password: x`; a password is also told as `password x` and `password is x`.
_SAID = re.compile(
    rf"(?P<lead>(?<![A-Za-z0-9_.-]){_NAME}[\"']?: {{1,2}}[\"']?)"
    r"(?P<value>[^\s\"'<>,;]{6,})"
)
_TOLD = re.compile(
    r"(?P<lead>\b(?i:password|passwd|passphrase|pwd)(?: is| was)? {1,2}[\"'(]?)"
    r"(?P<value>[^\s\"'<>,;/()]{8,})"
)
# A line of a configuration file: `password: x`, `password = x`.
_LINE = re.compile(
    r"^(?P<lead>[ \t]*(?:- |export )?[\"']?"
    r"(?P<name>[A-Za-z][A-Za-z0-9_.-]{1,60})[\"']?[ \t]*[:=][ \t]*[\"']?)"
    r"(?P<value>[^\s\"'|>{\[&*!#][^\r\n\"']*)",
    re.MULTILINE,
)


_ANYWHERE = (
    _URL_PASSWORD,
    _URL_TOKEN,
    _BEARER,
    _HEADER,
    _KEY_HEADER,
    _PASSWORD_FLAG,
    _QUERY,
    _WEBHOOK,
    _SHELL,
    _ANCHOR,
)


def masked(text: str, mark: Mark) -> str:
    """The text with every secret in it that its shape gives away replaced by its mark."""
    if not _SUSPECT.search(text):
        return text
    text = _PRIVATE_KEY.sub(lambda found: mark(found[0]), text)
    for pattern in _ANYWHERE:
        text = pattern.sub(lambda found: _value(found, mark), text)
    is_about_secret = "Secret" in text
    if "error found in #" in text and is_about_secret:
        text = _CONTEXT.sub(
            lambda found: f"{found['lead']}{_keys(found['value'])}{found['next']}{_keys(found['more'])}", text
        )
    if " value: " in text:
        text = _INVALID.sub(lambda found: _of_field(found, mark, is_about_secret=is_about_secret), text)
    text = _TOKEN.sub(lambda found: mark(found[0]), text)
    for pattern in (_ASSIGNED, _FLAG):
        text = pattern.sub(lambda found: _named(found, mark), text)
    for pattern in (_MEMBER, _QUOTED_MEMBER, _PYTHON_MEMBER):
        text = pattern.sub(lambda found: _named(found, mark, shortest=1), text)
    text = _SAID.sub(lambda found: _said(found, mark), text)
    return _TOLD.sub(lambda found: _value(found, mark) if _MIXED.match(found["value"]) else found[0], text)


def masked_lines(text: str, mark: Mark) -> str:
    """As `masked`, and also what lines of a configuration file assign to a name that promises a secret."""
    text = masked(text, mark)
    if not _SUSPECT.search(text):
        return text
    return _LINE.sub(lambda found: _named(found, mark, shortest=1), text)


def is_suspect(text: str) -> bool:
    return _SUSPECT.search(text) is not None


def _value(found: re.Match[str], mark: Mark) -> str:
    value = found["value"]
    return found[0] if is_mark(value) else f"{found['lead']}{mark(value)}"


def _keys(context: str) -> str:
    """Of a piece of JSON only the names of its fields: nobody knows where the values in it begin."""
    return "…" + "…".join(f"{key}:" for key in _KEY.findall(context))


def _of_field(found: re.Match[str], mark: Mark, *, is_about_secret: bool) -> str:
    """The value that an API server refused, of a field that holds a secret."""
    path = found["path"]
    of_secret = is_about_secret and path.startswith(("data.", "data[", "stringData.", "stringData["))
    last = re.split(r"[.\[\]/]+", path.rstrip("]"))[-1]
    return _value(found, mark) if of_secret or promise_of(last) is Promise.SURE else found[0]


def _said(found: re.Match[str], mark: Mark) -> str:
    """`unexpected token: x1` is a parser's complaint; words alone are an explanation, not a value."""
    value, name = found["value"], found["name"]
    before = found.string[max(0, found.start() - 12) : found.start()]
    told = len(value) >= (6 if is_password(name) else 8) and _LETTER_AND_MORE.match(value)
    return _named(found, mark, shortest=1) if told and not before.endswith("nexpected ") else found[0]


def _named(found: re.Match[str], mark: Mark, *, shortest: int = 0) -> str:
    name, value = found["name"].lstrip("-"), found["value"]
    promise = promise_of(name)
    # In running text a name alone proves little: `token=invalid` is an error's words.
    shortest = shortest or (4 if is_password(name) else 8)
    if promise is not Promise.SURE or len(value) < shortest or "<masked " in value:
        return found[0]
    return f"{found['lead']}{mark(value)}" if is_literal(value, promise) else found[0]
