"""The HTTP face: what arrives is read within bounds, decided elsewhere, and answered as JSON."""
