"""The controller's loops: each reads what is there, calls pure parts, and applies what differs."""
