"""Users' Lua, run as Argo CD would run it, where it can harm nobody."""

from __future__ import annotations

from whysync.argocd.scripts.lua.running import Failed, LuaRunner, Returned

__all__ = ["Failed", "LuaRunner", "Returned"]
