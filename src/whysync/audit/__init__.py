"""After the first sync: what will be trouble later, and how to prevent it now."""
