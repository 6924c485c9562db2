"""Paged lists of Kubernetes objects."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

import msgspec

from whysync.facts.http.client import Client
from whysync.facts.http.errors import Expired, MalformedResponse
from whysync.facts.kubernetes_api.discovery import Kind
from whysync.json_tree import Object, fields, items, text

PAGE = 500
# The last restart, after a page expired without a new token, requests everything at once.
_LAST_ATTEMPT = 3
_SPECIAL = re.compile(r"[,=!\\]")


class Query(msgspec.Struct, frozen=True, kw_only=True):
    kind: Kind
    namespace: str = ""
    labels: str = ""
    # a field selector
    matching: str = ""

    @property
    def path(self) -> str:
        return self.kind.path(self.namespace)

    def params(self, token: str, page: int) -> dict[str, str | int]:
        params: dict[str, str | int] = {}
        if page:
            params["limit"] = page
        if token:
            params["continue"] = token
        if self.labels:
            params["labelSelector"] = self.labels
        if self.matching:
            params["fieldSelector"] = self.matching
        return params


def named(name: str) -> str:
    """The field selector for one name, escaped."""
    escaped = _SPECIAL.sub(r"\\\g<0>", name)
    return f"metadata.name={escaped}"


async def pages(client: Client, query: Query, *, page: int = PAGE) -> AsyncGenerator[list[Object]]:
    """The objects of a list, page by page, with kind and version, without duplicates.

    The server keeps the state of a page for minutes only. Then it returns 410 and offers to continue with the
    current state; without such an offer the list is restarted, finally without pages. A list that does not
    end raises `MalformedResponse` or `TooLarge` at the limits of the client.
    """
    limits = client.limits
    seen: set[tuple[str, str]] = set()
    token, seen_tokens, attempts, expired = "", {""}, 1, 0
    for _ in range(limits.list_pages):
        try:
            response = await client.object(query.path, query.params(token, page))
        except Expired as problem:
            expired += 1
            if expired > limits.list_restarts:
                raise
            token = problem.token
            if not token:
                attempts += 1
                if attempts > _LAST_ATTEMPT:
                    raise
                page = 0 if attempts == _LAST_ATTEMPT else page
                seen_tokens = {""}
            continue
        if "items" not in response:
            raise MalformedResponse(
                what=f"the response to {query.path} is not a list", next="try again", path=query.path
            )
        all_items = items(response.get("items"))
        objects = [
            _typed(item, query.kind) for item in all_items if isinstance(item, dict) and is_named(item)
        ]
        yield _without_duplicates(objects, seen)
        if len(objects) < len(all_items):
            raise MalformedResponse(
                what=f"the response to {query.path} contains items that are not objects",
                why=f"{len(all_items) - len(objects)} of {len(all_items)} have no name",
                path=query.path,
            )
        token = text(fields(response.get("metadata")).get("continue"))
        if not token:
            return
        if token in seen_tokens:
            raise _endless(query, "the server offered the same continue token twice")
        seen_tokens.add(token)
    raise _endless(query, f"more than {limits.list_pages:,} pages")


def _endless(query: Query, why: str) -> MalformedResponse:
    return MalformedResponse(
        what=f"the list {query.path} does not end",
        why=why,
        next="check the API server and any proxy in front of it; select an app or its namespace to read less",
        path=query.path,
    )


def _without_duplicates(objects: list[Object], seen: set[tuple[str, str]]) -> list[Object]:
    new_objects: list[Object] = []
    for obj in objects:
        meta = fields(obj.get("metadata"))
        key = text(meta.get("namespace")), text(meta.get("name"))
        if key not in seen:
            seen.add(key)
            new_objects.append(obj)
    return new_objects


def is_named(body: Object) -> bool:
    return bool(text(fields(body.get("metadata")).get("name")))


def _typed(body: Object, kind: Kind) -> Object:
    """Set kind and version, which a list omits in its items."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        **{key: value for key, value in body.items() if key not in ("apiVersion", "kind")},
    }
