"""The pure engine of gpuspec: from a key that a user writes to the devices that it may mean.

Read from the bottom up: ``errors``, ``quantity``, ``grammar``, ``documents``, ``demand`` and
``availability`` (values that come in), ``table``, ``resolve`` (the rules), ``denial`` and
``explain`` (the words). Nothing here does I/O, knows the time or any framework.
"""
