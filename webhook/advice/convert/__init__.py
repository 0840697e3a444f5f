"""From what manifests say by hand to specs, and back: ``gpuspec convert``.

Nothing of a Pod is changed unless the same devices come of it, or its author gave leave for more.
"""
