"""A selection table for a cluster that has none, from what its nodes say of themselves. Pure."""
