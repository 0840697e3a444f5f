"""How fast it is: ``python -m tests.bench``. Figures to read, no test depends on one."""
