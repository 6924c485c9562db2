"""TTL-after-finished controller: deletes finished Jobs after ttlSecondsAfterFinished.

Mirrors `pkg/controller/ttlafterfinished`, Kubernetes 1.36.
"""

from __future__ import annotations

from whysync.json_tree import Object, dig, fields, items, text
from whysync.kubernetes.controllers.client import JOBS, is_terminating
from whysync.kubernetes.controllers.conditions import add_seconds, parse_time
from whysync.kubernetes.controllers.controller import QueueController


class TtlAfterFinishedController(QueueController):
    name = "ttl-after-finished"
    main = JOBS

    def sync(self, obj: Object) -> None:
        seconds = dig(obj, "spec", "ttlSecondsAfterFinished")
        if not isinstance(seconds, int) or is_terminating(obj):
            return
        for raw in items(dig(obj, "status", "conditions")):
            condition = fields(raw)
            if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
                ended = parse_time(text(condition.get("lastTransitionTime")))
                if ended is None:
                    return
                when = add_seconds(ended, seconds)
                if when <= self.client.now:
                    self.client.delete(obj, policy="Foreground")
                else:
                    self.enqueue_at(obj, when)
                return
