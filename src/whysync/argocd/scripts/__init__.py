"""Scripts that users write, run in a sandbox: Lua and jq."""
