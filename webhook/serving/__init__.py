"""What the service serves with, kept current while it runs: the table and the certificate."""
