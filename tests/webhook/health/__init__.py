"""Tests of what the health module makes of a cluster."""
