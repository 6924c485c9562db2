"""A Kubernetes Event, of either API group, as far as a diagnosis reads it."""

from __future__ import annotations

from datetime import datetime

from whysync.kubernetes.api.decode import Wire
from whysync.kubernetes.api.ref import Ref, group_of, version_of


class InvolvedObject(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""

    @property
    def ref(self) -> Ref:
        return Ref(
            group=group_of(self.api_version),
            version=version_of(self.api_version),
            kind=self.kind,
            namespace=self.namespace,
            name=self.name,
        )


class EventSource(Wire, frozen=True):
    component: str = ""


class EventSeries(Wire, frozen=True):
    last_observed_time: datetime | None = None


class Event(Wire, frozen=True):
    """`regarding` and `note` are the newer API's words for `involvedObject` and `message`."""

    type: str = ""
    reason: str = ""
    message: str = ""
    note: str = ""
    count: int = 1
    involved_object: InvolvedObject = InvolvedObject()
    regarding: InvolvedObject = InvolvedObject()
    source: EventSource = EventSource()
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    series: EventSeries | None = None

    @property
    def about(self) -> Ref:
        return (self.involved_object if self.involved_object.kind else self.regarding).ref

    @property
    def says(self) -> str:
        return self.message or self.note

    @property
    def seen_at(self) -> datetime | None:
        """When it was last seen: an event of the newer API that recurs is a series."""
        repeated = self.series.last_observed_time if self.series is not None else None
        return (
            self.last_timestamp
            or repeated
            or self.deprecated_last_timestamp
            or self.event_time
            or self.first_timestamp
        )
