"""The scheduler: filters, resources, and its events."""
