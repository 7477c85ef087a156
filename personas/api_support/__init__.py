"""What every call of the HTTP API shares: tokens, problems, pages of lists, repeated calls, descriptions."""
