"""The command `matched-eval`: the protocol for the user's own prediction files."""
