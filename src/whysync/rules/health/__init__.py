"""Applied, but not healthy."""
