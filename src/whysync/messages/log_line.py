"""One line of a log, parsed into fields: logfmt, JSON, klog, or the format of the `argocd` command.

Argo CD's components write logfmt (`time=… level=error msg="…" application=argocd/shop`) or, with
`--logformat json`, one JSON object per line. The message is `msg`; the reason is often in `error`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import cast

import msgspec

_LONGEST = 1 << 16
_MESSAGE = ("msg", "message")
_REASON = ("error", "err", "grpc.error", "errorVerbose")
_LEVEL = ("level", "severity", "lvl")
_OF_APP = ("application", "app", "app-qualified-name")
_OF_SET = ("applicationset", "appset", "applicationSet", "ApplicationSet")
# Codes of requests that the server refused before it did what was asked for.
_REFUSED = frozenset({"PermissionDenied", "Unauthenticated"})
_LOUD = frozenset({"error", "fatal", "panic", "critical", "crit", "e", "f"})
_QUIET = frozenset({"info", "debug", "trace", "i", "d"})
# Failures that Argo CD logs at level info or debug.
_LOUD_BEGINNINGS = (
    "skipping auto-sync",
    "basic comparison settings cannot be loaded",
    "failed to execute condition of trigger",
    "unable to delete application resources",
    "webhook processing failed",
)
_KIND_REMOVED = "could not find the requested resource"
_LOUD_AT_ANY_LEVEL = ("Failed to query provider",)  # the login of every user
_LOUD_PHRASES = (
    *(
        "error",
        "fatal",
        "fail",
        "panic:",
        "denied",
        "refused",
        "unable to",
        "cannot ",
        "could not",
        "prevented",
        "x509: ",
    ),
    *("host key", "is missing", "malformed", "noauth ", "wrongpass "),
    *(
        "invalid",
        "not found",
        "does not exist",
        "no such ",
        "forbidden",
        "unauthorized",
        "timeout",
        "timed out",
        "exceeded",
    ),
    *("unrecognized", "not defined", "not configured", "not supported", "authentication required"),
    *("timedout", "sdown ", "odown ", "aborted"),  # of Redis and its sentinels
)


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """`level` is lower case, empty where the line has none; `text` is the message with its reason.

    `application_set` is the ApplicationSet that the line names; only its controller writes that field.
    `service` is the gRPC service whose call failed. `has_error`: the line has a field for an error.
    `of_command`: it is output of the `argocd` command, not of a component.
    """

    text: str
    level: str = ""
    application: str = ""
    application_set: str = ""
    service: str = ""
    has_error: bool = False
    of_command: bool = False

    @property
    def is_loud(self) -> bool:
        """Does it report that something went wrong? For a line without a level, its words decide."""
        if self.level in _LOUD or self.text.lower().startswith(_LOUD_BEGINNINGS) or self._is_failed_watch:
            return True
        if any(phrase in self.text for phrase in _LOUD_AT_ANY_LEVEL):
            return True
        if self.level in _QUIET:
            return False
        if self.has_error:
            return True
        lower = self.text.lower()
        return any(phrase in lower for phrase in _LOUD_PHRASES)

    @property
    def _is_failed_watch(self) -> bool:
        """Argo CD logs these at level info. The watch of a kind that was just removed fails, too."""
        return self.text.startswith("Failed to watch ") and _KIND_REMOVED not in self.text


def parse_log(text: str) -> LogLine | None:
    """A text that consists of logfmt or JSON lines as one line; `None` for any other text."""
    if not text.startswith(("{", "time=", "level=", "ts=")):
        return None
    lines = [parse_log_line(line) for line in text.splitlines()]
    if not lines[0].level:
        return None
    return msgspec.structs.replace(lines[0], text="\n".join(line.text for line in lines))


def parse_log_line(line: str) -> LogLine:
    line = line[:_LONGEST].strip()
    fields = _json_fields(line) or _fields_of_truncated_json(line) or _logfmt_fields(line)
    if fields:
        message = _first(fields, _MESSAGE)
        reason = _first(fields, _REASON)
        text = f"{message}: {reason}" if reason and reason not in message else message
        inner = _klog().match(text)  # client-go logs through klog, also inside another format
        text = _klog_text(text[inner.end() :]) if inner is not None else text
        return LogLine(
            text=text.strip(": ") or line,
            level="warning" if _is_warning(fields, reason) else _first(fields, _LEVEL).lower(),
            application=_first(fields, _OF_APP).rpartition("/")[2],
            application_set=_application_set(fields),
            service="" if fields.get("grpc.code") in _REFUSED else fields.get("grpc.service", ""),
            has_error=bool(reason),
        )
    klog = _klog().match(line)
    if klog is not None:
        return LogLine(text=_klog_text(line[klog.end() :]), level=(klog[1] or "").lower())
    command = _command().match(line)
    if command is not None:
        level = {"FATA": "fatal", "ERRO": "error", "WARN": "warning", "INFO": "info"}[command[1].upper()]
        return LogLine(text=line[command.end() :], level=level, of_command=True)
    redis = _redis().search(line)
    if redis is not None:
        return LogLine(text=line[redis.start() :].rstrip('"'), level="warning" if redis[1] == "#" else "info")
    return LogLine(text=line)


def _is_warning(fields: dict[str, str], reason: str) -> bool:
    """Argo CD logs its events, and requests that it rejects as invalid, at level info."""
    return fields.get("type", "").lower() == "warning" or (
        fields.get("grpc.code") == "InvalidArgument" and bool(reason) and _first(fields, _LEVEL) == "info"
    )


def _application_set(fields: dict[str, str]) -> str:
    """controller-runtime names the controller and the object in fields of their own."""
    name = _first(fields, _OF_SET)
    if not name and fields.get("controller") == "applicationset":
        name = fields.get("name") or "?"
    return name.rpartition("/")[2]


def _first(fields: dict[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")


def _json_fields(line: str) -> dict[str, str]:
    if not line.startswith("{"):
        return {}
    try:
        decoded = msgspec.json.decode(line, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {key: _as_text(value) for key, value in decoded.items() if value}


def _fields_of_truncated_json(line: str) -> dict[str, str]:
    """The fields of a JSON line that lost its end, such as one copied from a terminal."""
    if not line.startswith('{"'):
        return {}
    fields = {match["key"]: _plain(match["value"]) for match in _json_pair().finditer(line)}
    return fields if _first(fields, _LEVEL) and _first(fields, (*_MESSAGE, *_REASON)) else {}


def _as_text(value: object) -> str:
    """A reference to an object, such as `{"Namespace": "argocd", "Name": "shop"}`, as its name."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        below = cast("dict[str, object]", value)
        name = below.get("Name") or below.get("name")
        return name if isinstance(name, str) else str(below)
    return str(value)


def _logfmt_fields(line: str) -> dict[str, str]:
    """`key=value` pairs; a line counts as logfmt only if it has a level or a time, and a message."""
    if "=" not in line:
        return {}
    pairs = list(_pair().finditer(line))
    ends = (*(pair.start() for pair in pairs[1:]), len(line))
    fields = {
        pair["key"]: _value(pair, line[pair.end() : end]) for pair, end in zip(pairs, ends, strict=False)
    }
    has_frame = "level" in fields or "time" in fields or "ts" in fields
    return fields if has_frame and any(name in fields for name in _MESSAGE) else {}


def _value(pair: re.Match[str], rest: str) -> str:
    """With the words up to the next pair, if the quotes around the value were lost."""
    value = _plain(pair["value"])
    return value if pair["value"].startswith('"') else f"{value}{rest.rstrip()}"


def _plain(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return msgspec.json.decode(value, type=str)
    except msgspec.DecodeError:
        return value.strip('"').replace('\\"', '"')


@cache
def _pair() -> re.Pattern[str]:
    return re.compile(r'(?<!\S)(?P<key>[\w.@/-]{1,60})=(?P<value>"(?:[^"\\]|\\.)*+(?:"|$)|[^\s"]*+)')


@cache
def _json_pair() -> re.Pattern[str]:
    return re.compile(
        r'[{,]\s*+"(?P<key>[\w.@/-]{1,60})"\s*+:\s*+(?P<value>"(?:[^"\\]|\\.)*+(?:"|$)|[\w.+-]++)'
    )


def _klog_text(text: str) -> str:
    """`"Watch failed" err="unknown"`, as structured klog writes it, as `Watch failed: unknown`."""
    match = _klog_message().match(text)
    if match is None:
        return text
    fields = {pair["key"]: _plain(pair["value"]) for pair in _pair().finditer(text, match.end())}
    message, reason = _plain(match[0]), _first(fields, _REASON)
    return f"{message}: {reason}" if reason else text


@cache
def _klog_message() -> re.Pattern[str]:
    return re.compile(r'"(?:[^"\\]|\\.)*+"(?= [\w.]{1,60}=)')


@cache
def _klog() -> re.Pattern[str]:
    """Also a line that lost its beginning: `retrywatcher.go:130] "Watch failed"`."""
    return re.compile(
        r"(?:([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{1,9}\s+\d{1,9} |\d{0,9} ?)[\w.-]{1,100}\.go:\d{1,6}\] "
        r"(?:\S{1,200}\.go:\d{1,6}: )?"
    )


@cache
def _redis() -> re.Pattern[str]:
    """`1:S 13 Apr 2019 17:06:59.401 # Timeout …`: process, role, time, and `#` for a warning."""
    return re.compile(r"(?<![\w.:])\d{1,9}:[MSXC] \d\d? \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} ([#*.-]) ")


@cache
def _command() -> re.Pattern[str]:
    return re.compile(r"(FATA|ERRO|WARN|INFO)\[\d{4}\] ", re.IGNORECASE)
