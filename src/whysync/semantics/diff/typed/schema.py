"""Types of server-side apply."""

from __future__ import annotations


class Schemas:
    """The types of custom resources, as a cluster's OpenAPI document tells them."""
