"""One cause per module, grouped by side. Rules are found by walking this package; none imports another."""
