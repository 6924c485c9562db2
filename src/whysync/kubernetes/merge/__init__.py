"""Merging objects: strategic merge, structured merge (server-side apply), merge patch, JSON patch."""
