"""A Case as a running world: what a sync would do, and whether a fix holds, tried where nothing can break."""
