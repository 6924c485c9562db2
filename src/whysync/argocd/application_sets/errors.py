"""Errors of ApplicationSets."""

from __future__ import annotations


class NotExpanded(Exception):
    """The reason why an ApplicationSet is not expanded."""
