"""Numbered migrations of the history's schema, applied in order when a database is opened.

One text for SQLite and PostgreSQL: `{id}` is the type of a generated primary key. Times are milliseconds
since 1970 (UTC). A released migration never changes; a change of the schema is a new one at the end.
"""

from __future__ import annotations

from typing import Final

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        """CREATE TABLE apps (
            instance TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
            project TEXT NOT NULL, cluster TEXT NOT NULL, labels TEXT NOT NULL,
            sync TEXT NOT NULL, health TEXT NOT NULL, revision TEXT NOT NULL,
            last_sync TEXT NOT NULL, cause TEXT NOT NULL, severity TEXT NOT NULL,
            first_seen_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, healthy_at BIGINT,
            PRIMARY KEY (instance, namespace, name))""",
        """CREATE TABLE outbreaks (
            id {id}, cause TEXT NOT NULL, evidence_key TEXT NOT NULL, severity TEXT NOT NULL,
            what TEXT NOT NULL, opened_at BIGINT NOT NULL, closed_at BIGINT, followed_by BIGINT)""",
        "CREATE UNIQUE INDEX open_outbreaks ON outbreaks (cause, evidence_key) WHERE closed_at IS NULL",
        """CREATE TABLE incidents (
            id {id}, instance TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
            project TEXT NOT NULL, cluster TEXT NOT NULL, labels TEXT NOT NULL,
            outbreak BIGINT NOT NULL REFERENCES outbreaks (id), problem TEXT NOT NULL,
            cause TEXT NOT NULL, severity TEXT NOT NULL, first_cause TEXT NOT NULL,
            opened_at BIGINT NOT NULL, changed_at BIGINT NOT NULL, recovered_at BIGINT, closed_at BIGINT,
            flaps BIGINT NOT NULL, cause_changes BIGINT NOT NULL)""",
        """CREATE UNIQUE INDEX open_incidents ON incidents (instance, namespace, name)
            WHERE closed_at IS NULL""",
        "CREATE INDEX incidents_by_time ON incidents (opened_at)",
        "CREATE INDEX incidents_by_outbreak ON incidents (outbreak)",
        """CREATE TABLE timeline (
            id {id}, at BIGINT NOT NULL, kind TEXT NOT NULL,
            instance TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
            incident BIGINT, cause TEXT NOT NULL, detail TEXT NOT NULL, text TEXT NOT NULL)""",
        "CREATE INDEX timeline_by_app ON timeline (instance, namespace, name, at)",
        "CREATE INDEX timeline_by_incident ON timeline (incident)",
        """CREATE TABLE notices (
            id {id}, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, at BIGINT NOT NULL,
            incident BIGINT NOT NULL, outbreak BIGINT NOT NULL, previous_cause TEXT NOT NULL,
            routed_at BIGINT)""",
        "CREATE INDEX unrouted_notices ON notices (id) WHERE routed_at IS NULL",
        """CREATE TABLE deliveries (
            id {id}, key TEXT NOT NULL UNIQUE, notice BIGINT NOT NULL REFERENCES notices (id),
            channel TEXT NOT NULL, due_at BIGINT NOT NULL, claimed_until BIGINT NOT NULL,
            attempts BIGINT NOT NULL, delivered_at BIGINT, gave_up_at BIGINT, error TEXT NOT NULL)""",
        """CREATE INDEX due_deliveries ON deliveries (due_at)
            WHERE delivered_at IS NULL AND gave_up_at IS NULL""",
    ),
    (
        "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires_at BIGINT NOT NULL)",
        "CREATE INDEX timeline_by_time ON timeline (at)",
    ),
    (
        "CREATE INDEX incidents_by_app ON incidents (instance, namespace, name, id)",
        "CREATE INDEX recovered_incidents ON incidents (recovered_at) WHERE closed_at IS NULL",
        "CREATE INDEX open_outbreaks_by_id ON outbreaks (id) WHERE closed_at IS NULL",
    ),
)
