"""The controller's loops: each reads what is there, calls the pure parts, and applies what differs."""
