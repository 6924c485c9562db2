"""The ground the engine works on: a protocol, and an API server that lives in memory."""
