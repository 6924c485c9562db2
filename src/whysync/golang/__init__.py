"""Go's text behavior: quantities, durations, globs, regular expressions, formatting, JSON errors, cron."""
