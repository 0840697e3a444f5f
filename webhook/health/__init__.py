"""Health, pure: signals → verdicts → budget → plan (semantics §9). Time is a value."""
