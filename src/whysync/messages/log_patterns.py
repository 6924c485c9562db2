"""Patterns of failures in logs of many languages and tools, for `log_failure`."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class LogReason(StrEnum):
    CONNECTION_REFUSED = "connection-refused"
    TIMEOUT = "timeout"
    DNS = "dns"
    AUTH_FAILED = "auth-failed"
    TLS = "tls"
    MISSING_ENV = "missing-env"
    MISSING_FILE = "missing-file"
    MISSING_COMMAND = "missing-command"
    WRONG_ARCHITECTURE = "wrong-architecture"
    MISSING_TABLE = "missing-table"
    MISSING_DATABASE = "missing-database"
    PERMISSION_DENIED = "permission-denied"
    READ_ONLY = "read-only"
    OUT_OF_MEMORY = "out-of-memory"
    DISK_FULL = "disk-full"
    ADDRESS_IN_USE = "address-in-use"
    MIGRATION = "migration"
    CONFIG = "config"
    SYNTAX = "syntax"
    IMPORT = "import"
    KUBERNETES = "kubernetes"
    PANIC = "panic"
    EXCEPTION = "exception"
    ERROR = "error"


class LogPattern(NamedTuple):
    """One of the lower-case `phrases` must occur; `weight` is how specific they are; `subject` is a regex."""

    reason: LogReason
    weight: int
    phrases: tuple[str, ...]
    subject: str = ""


_Q = "['\"`]?"


def _any(*alternatives: str) -> tuple[str, ...]:
    return tuple(phrase for text in alternatives for phrase in text.split("|"))


# The first pattern with a phrase in the line is used.
LOG_PATTERNS: tuple[LogPattern, ...] = (
    LogPattern(
        LogReason.AUTH_FAILED,
        30,
        _any(
            "password authentication failed|access denied for user|authentication failed",
            "login failed for user|no pg_hba.conf entry|wrongpass|noauth authentication required",
            "invalid username or password",
            'invalid password|bad credentials|role "|sasl authentication|auth failed|401 unauthorized',
            "invalid api key|unauthenticated",
        ),
        rf"(?:for user|role|user name) {_Q}(?P<subject>[\w.@-]{{1,100}})",
    ),
    LogPattern(
        LogReason.MISSING_DATABASE,
        30,
        _any('unknown database|database "|nodatabaseerror|could not find your database'),
        rf"database:? {_Q}(?P<subject>[\w.-]{{1,100}})",
    ),
    LogPattern(
        LogReason.MISSING_TABLE,
        28,
        _any(
            'relation "|no such table|table or view does not exist|undefinedtable|undefined column|column "'
        ),
        rf"(?:relation|table:?|column) {_Q}(?P<subject>[\w.-]{{1,100}})",
    ),
    LogPattern(
        LogReason.DNS,
        30,
        _any(
            "no such host|could not translate host name|name or service not known|nxdomain|bad address",
            "temporary failure in name resolution| enotfound|eai_again|unknownhostexception",
            "could not resolve host|nodename nor servname|failed to resolve",
        ),
        rf"\b(?:lookup|host name|host:?|enotfound|eai_again|unknownhostexception:?|resolve|address) {_Q}"
        r"(?P<subject>[\w.-]{2,253})",
    ),
    LogPattern(
        LogReason.CONNECTION_REFUSED,
        29,
        _any(
            "connection refused|econnrefused|actively refused|could not connect to server|connectexception",
            "can't connect to mysql server|connection to server at|no route to host|network is unreachable",
            "connection reset by peer|econnreset|failed to connect to|can't reach database server",
        ),
        rf"\b(?:dial tcp|econnrefused|server at|host|connecting to|connect to|on) {_Q}"
        r"(?P<subject>[\w.\[\]-]{2,253}(?::\d{1,5})?)",
    ),
    LogPattern(
        LogReason.TLS,
        29,
        _any(
            "x509:|certificate verify failed|self signed certificate|self-signed certificate|bad certificate",
            "certificate has expired|sslhandshakeexception|pkix path building",
            "unable to verify the first certificate",
        ),
        r"https?://(?P<subject>[\w.:-]{1,253})",
    ),
    LogPattern(
        LogReason.KUBERNETES,
        30,
        _any(
            "is forbidden: user|cannot list resource|cannot create resource|cannot get resource",
            "cannot patch resource|no matches for kind|failed calling webhook|denied the request",
        ),
        r"(?:resource|kind|webhook) \\?['\"](?P<subject>[\w.-]{1,253})",
    ),
    LogPattern(
        LogReason.MISSING_ENV,
        30,
        _any(
            "environment variable|env var|missing required env|is not defined in env|must be set",
            "unbound variable|parameter not set|missing environment|is required but was not|required key",
            "missing required configuration|keyerror:",
        ),
        rf"(?P<before>\b(?-i:[A-Z][A-Z0-9_]{{2,80}})){_Q} (?:env|environment|is|must|was)\b"
        rf"|(?:variables?|env var|env|keyerror|required key|key)[:\s]+{_Q}(?P<subject>[A-Za-z][\w.]{{2,80}})"
        r"|(?P<shell>\w{2,80}): (?:unbound variable|parameter not set)",
    ),
    LogPattern(
        LogReason.DISK_FULL,
        30,
        _any("no space left on device|enospc|disk quota exceeded"),
        r"(?:write|open|file) (?P<subject>/\S{1,200}?)(?=[:\s]|$)",
    ),
    LogPattern(LogReason.READ_ONLY, 30, _any("read-only file system|erofs"), r"(?P<subject>/[\w./-]{1,200})"),
    LogPattern(
        LogReason.OUT_OF_MEMORY,
        30,
        _any("outofmemoryerror|out of memory|cannot allocate memory|memoryerror|oomkilled|enomem"),
        r"(?P<subject>java heap space|metaspace|javascript heap)",
    ),
    LogPattern(
        LogReason.ADDRESS_IN_USE,
        30,
        _any("address already in use|eaddrinuse"),
        r"(?P<subject>[\w.\[\]]{0,60}:\d{2,5})\b",
    ),
    LogPattern(LogReason.WRONG_ARCHITECTURE, 30, _any("exec format error")),
    LogPattern(
        LogReason.MISSING_COMMAND,
        29,
        _any("command not found|executable file not found|: not found|no such command"),
        rf"exec: {_Q}(?P<subject>[\w./-]{{1,100}})|(?P<before>[\w./-]{{1,100}}): (?:command )?not found",
    ),
    LogPattern(
        LogReason.MISSING_FILE,
        29,
        _any(
            "no such file or directory|enoent|filenotfounderror|filenotfoundexception|file not found",
            "cannot find module|can't open file|could not find file",
        ),
        rf"\b(?:open|stat|lstat|module|file|directory:) {_Q}(?P<subject>[\w./@-]{{2,253}})",
    ),
    LogPattern(
        LogReason.PERMISSION_DENIED,
        29,
        _any(
            "permission denied|permissionerror|eacces|accessdenied|access denied|operation not permitted",
            "eperm:|must be owner of|insufficient privileges",
        ),
        r"\b(?:open|mkdir|stat|write|path|for|permission denied:|permissionerror:|of table|table|schema) "
        rf"{_Q}(?P<subject>[\w./-]{{2,253}})|(?P<before>/[\w./-]{{1,200}}): permission denied",
    ),
    LogPattern(
        LogReason.IMPORT,
        28,
        _any(
            "modulenotfounderror|importerror|noclassdeffounderror|classnotfoundexception",
            "error loading shared libraries",
        ),
        rf"(?:named|import name|libraries:|exception:|deffounderror:) {_Q}(?P<subject>[\w./-]{{2,200}})",
    ),
    LogPattern(
        LogReason.MIGRATION,
        27,
        _any(
            "migration failed|failed to apply migration|dirty database|migration error|failed migrations",
            "error applying migration|migrate: error|flywayexception|liquibase.exception|p3009|p3018",
            "migrations failed|validate failed: migration|migration checksum mismatch|can't locate revision",
            '" already exists',
        ),
        rf"(?:migration|version|revision|relation|table) {_Q}(?!failed|error)(?P<subject>[\w.-]{{1,200}})",
    ),
    LogPattern(
        LogReason.SYNTAX,
        26,
        _any(
            "syntax error|syntaxerror|parse error|unexpected token|yaml: line|invalid character|json.decoder",
            "unmarshal|error parsing|could not parse",
        ),
        rf"(?:at or near|token|line|file) {_Q}(?P<subject>[\w./-]{{1,100}})",
    ),
    LogPattern(
        LogReason.CONFIG,
        25,
        _any(
            "invalid configuration|configuration error|unknown flag|unrecognized option|unknown option",
            "invalid value for|unrecognized arguments|flag provided but not defined|config error",
            "invalid config|missing required|invalid argument",
        ),
        rf"\b(?:flag:?|option:?|for|arguments:|defined:|required) {_Q}(?P<subject>[\w./-]{{2,100}})",
    ),
    LogPattern(
        LogReason.TIMEOUT,
        24,
        _any(
            "i/o timeout|timed out|etimedout|context deadline exceeded|timeout exceeded|timeoutexception",
            "timeout while|timeout waiting|timeouterror",
        ),
        rf"\b(?:dial tcp|connect to|connecting to|host|server at|connection to|waiting for|etimedout) {_Q}"
        r"(?P<subject>[\w.:-]{2,253})",
    ),
    LogPattern(
        LogReason.PANIC,
        20,
        _any("panic:|fatal error:|segmentation fault|sigsegv|core dumped|panicked at"),
    ),
    LogPattern(LogReason.EXCEPTION, 16, _any("exception|error:|caused by:")),
    LogPattern(
        LogReason.ERROR,
        10,
        _any("error|fatal|failed|failure|fail:|critical|cannot |could not|unable to|not set"),
    ),
)

PHRASES: tuple[str, ...] = tuple(
    dict.fromkeys(phrase for pattern in LOG_PATTERNS for phrase in pattern.phrases)
)
