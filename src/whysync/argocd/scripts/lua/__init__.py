"""Runs users' Lua as Argo CD does, in a sandbox."""

from __future__ import annotations

from whysync.argocd.scripts.lua.running import Failed, LuaRunner, Returned

__all__ = ["Failed", "LuaRunner", "Returned"]
