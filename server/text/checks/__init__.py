"""What can be said of a text or a translation without a translation model: its language, and what looks wrong."""
