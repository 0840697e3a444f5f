"""Kinds that hold a Pod's parts in a shape of their own, a module for each maker."""
