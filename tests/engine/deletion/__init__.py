"""Applications that are being deleted."""
