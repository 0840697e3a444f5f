"""The signals of semantics H2, a module for each source: raw facts in, readings out."""
