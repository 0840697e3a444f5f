"""Issue certificates and decide when they are due: no clock, no network.

``authority`` makes a certificate authority and server certificates, ``policy`` says when either has
to be replaced, ``rotation`` what to write next so that nobody notices. Who stores, serves and
publishes them is the caller's business; ``folder`` does it with files.
"""
