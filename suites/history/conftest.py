"""One PostgreSQL server for all tests; each test has a schema of its own."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from suites.history.server import PostgresServer

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with tempfile.TemporaryDirectory(prefix="whysync-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(Path(folder))
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture
def url(server: PostgresServer) -> str:
    schema = f"test_{next(_NUMBERS)}"
    server.sql(f"CREATE SCHEMA {schema}")
    return server.url(schema)
