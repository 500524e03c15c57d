"""Models that the language refuses, and the whole message of each refusal."""
