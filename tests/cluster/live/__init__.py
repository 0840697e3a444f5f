"""The live table and the controller, as real processes beside a real control plane."""
