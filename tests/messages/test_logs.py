"""The line of a log that names the root cause."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whysync.messages.log_patterns import LogReason
from whysync.messages.logs import log_failure, refused_requests
from whysync.messages.patterns.admission import WebhookDown
from whysync.messages.patterns.apply import KindNotServed
from whysync.messages.patterns.rbac import Forbidden

LOGS = [
    (
        "migrate-1: starting\nError: DATABASE_URL environment variable is not set\nexiting with code 1",
        2,
        LogReason.MISSING_ENV,
        "DATABASE_URL",
    ),
    (
        'psql: error: could not translate host name "db.shop.svc" to address: Name or service not '
        "known\nexit status 2",
        1,
        LogReason.DNS,
        "db.shop.svc",
    ),
    (
        'psql: error: connection to server at "db" (10.0.0.3), port 5432 failed: Connection '
        "refused\n\tIs the server running?",
        1,
        LogReason.CONNECTION_REFUSED,
        "db",
    ),
    (
        'connection to server at "db", port 5432 failed: FATAL:  password authentication failed for '
        'user "shop"\n'
        "Timeout while waiting for database\nExiting with code 1",
        1,
        LogReason.AUTH_FAILED,
        "shop",
    ),
    (
        'time="t" level=info msg=starting\npanic: runtime error: invalid memory address or nil '
        "pointer dereference\n"
        "[signal SIGSEGV: segmentation violation]\ngoroutine 1 "
        "[running]:\nmain.main()\n\t/src/main.go:12 +0x1d\nexit status 2",
        2,
        LogReason.PANIC,
        "",
    ),
    (
        'Traceback (most recent call last):\n  File "/app/m.py", line 3, in <module>\n    import foo\n'
        "ModuleNotFoundError: No module named 'foo'",
        4,
        LogReason.IMPORT,
        "foo",
    ),
    (
        "INFO  [alembic] Running upgrade\nsqlalchemy.exc.ProgrammingError: "
        '(psycopg2.errors.UndefinedTable) relation "orders" '
        "does not exist\nLINE 1: ALTER TABLE orders",
        2,
        LogReason.MISSING_TABLE,
        "orders",
    ),
    (
        'Exception in thread "main" java.lang.RuntimeException: boot failed\n\tat a.B.c(B.java:1)\n'
        "Caused by: java.net.UnknownHostException: kafka\n\tat a.B.d(B.java:2)",
        3,
        LogReason.DNS,
        "kafka",
    ),
    (
        "node:internal/process/promises:288\nError: connect ECONNREFUSED 10.0.0.9:6379\n    at "
        "TCPConnectWrap.afterConnect\n"
        "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1",
        2,
        LogReason.CONNECTION_REFUSED,
        "10.0.0.9:6379",
    ),
    (
        '{"level":"info","msg":"start"}\n{"level":"fatal","msg":"open /etc/app/config.yaml: no such '
        'file or directory"}',
        2,
        LogReason.MISSING_FILE,
        "/etc/app/config.yaml",
    ),
    (
        "waiting for db: connection refused\nwaiting for db: connection refused\nconnected to db\n"
        'ERROR: syntax error at or near "CREAT"\nmigration aborted',
        4,
        LogReason.SYNTAX,
        "CREAT",
    ),
    (
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        1,
        LogReason.OUT_OF_MEMORY,
        None,
    ),
    ("/entrypoint.sh: line 4: jq: command not found", 1, LogReason.MISSING_COMMAND, "jq"),
    ("listen tcp :8080: bind: address already in use", 1, LogReason.ADDRESS_IN_USE, ":8080"),
    (
        'secrets is forbidden: User "system:serviceaccount:a:b" cannot create resource "secrets" in '
        'API group ""',
        1,
        LogReason.KUBERNETES,
        "secrets",
    ),
    ("mkdir: cannot create directory '/data': Permission denied", 1, LogReason.PERMISSION_DENIED, None),
    ("error: Dirty database version 7. Fix and force version.", 1, LogReason.MIGRATION, None),
    ("Error: P1001: Can't reach database server at `db`:`5432`", 1, LogReason.CONNECTION_REFUSED, "db"),
    ("Error: Missing required environment variable: STRIPE_KEY", 1, LogReason.MISSING_ENV, "STRIPE_KEY"),
    (
        "Traceback (most recent call last):\nKeyError: 'DATABASE_URL'",
        2,
        LogReason.MISSING_ENV,
        "DATABASE_URL",
    ),
    ("./migrate.sh: line 3: /scripts/run: Permission denied", 1, LogReason.PERMISSION_DENIED, "/scripts/run"),
    (
        '{"level":"warn","error":"dial tcp 10.0.0.1:5432: connect: connection refused"}\n'
        '{"level":"error","msg":"migration failed","error":"Dirty database version 3"}',
        2,
        LogReason.MIGRATION,
        "3",
    ),
    ("ERROR 1045 (28000): Access denied for user 'root'@'10.0.0.1'", 1, LogReason.AUTH_FAILED, "root"),
    ("something failed\nbye", 1, LogReason.ERROR, ""),
]


@pytest.mark.parametrize(("log", "line", "reason", "subject"), LOGS)
def test_root_causes(log: str, line: int, reason: LogReason, subject: str | None) -> None:
    failure = log_failure(log.split("\n"))
    assert failure is not None
    assert (failure.line, failure.reason) == (line, reason), failure
    assert failure.text == log.split("\n")[line - 1]
    if subject is not None:
        assert failure.subject == subject


@pytest.mark.parametrize(
    "log",
    [
        "",
        "server started\nlistening on :8080",
        "finished with 0 errors",
        "GET /healthz 200",
        "http: TLS handshake error from 10.0.0.1:41902: remote error: tls: bad certificate",
        "exiting with code 0",
    ],
)
def test_logs_without_a_failure(log: str) -> None:
    assert log_failure(log.split("\n")) is None


def test_a_line_that_only_announces_the_reason_is_quoted_with_the_next() -> None:
    failure = log_failure(
        ["ready", "thread 'main' panicked at src/main.rs:4:5:", "no license left", "note: run"]
    )
    assert failure is not None
    assert failure.text == "thread 'main' panicked at src/main.rs:4:5: no license left"


@given(st.lists(st.text(max_size=200), max_size=30))
def test_any_log_has_an_answer(lines: list[str]) -> None:
    failure = log_failure(lines)
    assert failure is None or failure.text == lines[failure.line - 1]


FORBIDDEN = (
    'failed to list *v1.Secret: secrets is forbidden: User "system:serviceaccount:shop:web" cannot list'
    ' resource "secrets" in API group "" in the namespace "shop"'
)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        (f"E0302 03:10:00.123456       1 reflector.go:147] {FORBIDDEN}", (Forbidden,)),
        (f"I0302 03:10:00.123456       1 reflector.go:147] {FORBIDDEN}", ()),
        (
            'level=error msg="no matches for kind \\"Widget\\" in version \\"example.com/v1\\""',
            (KindNotServed,),
        ),
        (
            'level=error msg="Internal error occurred: failed calling webhook \\"mutate.example.com\\":'
            ' failed to call webhook: Post \\"https://web.shop.svc:443/mutate\\": context deadline exceeded"',
            (WebhookDown,),
        ),
        ('level=error msg="secrets \\"web\\" not found"', ()),
        ("", ()),
    ],
)
def test_requests_that_the_api_server_refuses(line: str, kinds: tuple[type, ...]) -> None:
    assert tuple(map(type, refused_requests(line))) == kinds


def test_a_repeated_refusal_is_the_same_request() -> None:
    first, later = (f"E0302 03:1{n}:00.123456       1 reflector.go:147] {FORBIDDEN}" for n in range(2))
    assert refused_requests(first) == refused_requests(later)


@pytest.mark.parametrize(
    ("line", "server", "is_wrong_password"),
    [
        (
            'connection to server at "db.shop.svc", port 5432 failed: FATAL: password authentication failed'
            ' for user "shop"',
            "db.shop.svc",
            True,
        ),
        ('FATAL: role "shop" does not exist', "", False),
        ('FATAL: no pg_hba.conf entry for host "10.0.0.3", user "shop"', "10.0.0.3", False),
        ("request to api.example.com: 401 unauthorized", "api.example.com", False),
        ("ERROR 1045 (28000): Access denied for user 'shop'@'10.0.0.3' (using password: YES)", "", True),
        ("ERROR 1045 (28000): Access denied for user 'shop'@'10.0.0.3' (using password: NO)", "", False),
    ],
)
def test_what_a_rejected_login_names(line: str, server: str, *, is_wrong_password: bool) -> None:
    failure = log_failure([line])
    assert failure is not None
    assert failure.reason is LogReason.AUTH_FAILED
    assert (failure.server, failure.is_wrong_password) == (server, is_wrong_password)
