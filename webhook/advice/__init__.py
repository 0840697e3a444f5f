"""What a change would do and what there is to have, for people to read beforehand. Pure."""
