"""Report in, text out: one module per format."""
