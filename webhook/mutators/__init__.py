"""What is done to a Pod, a module a mutator; each returns edits, none knows another."""
