"""Documents that ship with the package."""
