"""Go's text behaviour: quantities, durations, globs, regular expressions, formatting, JSON errors, cron."""
