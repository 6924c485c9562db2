"""One cause per module, grouped by side. Rules are found by walking this package and never import each other."""
