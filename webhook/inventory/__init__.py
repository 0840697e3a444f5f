"""What a cluster has: from raw objects to facts, from facts to what each row matches. Pure."""
