"""cron.jsonl: schedules of five fields, and when they are due."""

from __future__ import annotations

from datetime import datetime, tzinfo

from tests.conformance.checks import mismatch
from whysync.golang.cron import BadSchedule, parse_schedule, time_zone
from whysync.json_tree import Json, Object, fields, items, text


def check(record: Object) -> list[str]:
    if record.get("op") != "cron-next":
        return [f"unknown op {record.get('op')!r}"]
    expect = fields(record.get("expect"))
    try:
        schedule = parse_schedule(text(record["schedule"]))
    except BadSchedule as problem:
        error = text(expect.get("error"))
        # where the library crashed, any clear refusal is right
        return [] if error.startswith("PANIC:") else mismatch("error", expect.get("error"), str(problem))
    if "error" in expect:
        return [f"error: expected {expect['error']!r}, got a schedule"]
    start = datetime.fromisoformat(text(record["from"]))
    zone: tzinfo | None = time_zone(text(record["zone"])) if "zone" in record else start.tzinfo
    moment: datetime | None = start.astimezone(zone)
    if expect.get("hangs") is True:
        later = schedule.next_after(start.astimezone(zone))
        return [] if later is None or later > start else [f"next: {later} is not behind {start}"]
    result: list[Json] = []
    while moment is not None and len(result) < len(items(expect.get("next"))):
        moment = schedule.next_after(moment)
        result.append(None if moment is None else moment.isoformat().replace("+00:00", "Z"))
    return mismatch("next", expect.get("next"), result)
