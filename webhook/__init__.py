"""gpuspec: one resource line becomes the right GPU."""

__version__ = "0.1.0"
