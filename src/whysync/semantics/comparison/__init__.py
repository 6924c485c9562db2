"""The parts of a comparison that decide without diffing: small questions with one answer each."""
