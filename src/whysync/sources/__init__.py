"""Where facts come from. I/O lives here; secrets are masked here; nothing is decided here."""
