"""Issue certificates and decide when they are due: pure, no clock, no files, no network.

``authority`` makes a certificate authority and server certificates, ``policy`` says when either has
to be replaced. Who stores, serves and publishes them is the caller's business.
"""
