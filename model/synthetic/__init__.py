"""Makes text: sentences and documents for what found text seldom has. Nothing but the command line imports it."""
