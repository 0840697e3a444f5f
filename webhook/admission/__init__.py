"""From a review to a decision: ``review`` (the envelope) → ``translate`` → ``decide``."""
