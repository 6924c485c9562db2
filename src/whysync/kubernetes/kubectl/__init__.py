"""kubectl's client-side apply."""
