"""Texts of the simulated users."""

SHORT = (
    "Where is the station?",
    "I would like a cup of coffee.",
    "The weather is nice today.",
    "He has two sisters.",
    "Click the button to save your changes.",
    "We will meet at eight.",
    "This book is very interesting.",
    "Thank you for your help.",
)

STORY = (
    "The train to Hamburg was late again.",
    "It stood in a small station for an hour.",
    "Nobody knew why.",
    "Then it went on, slowly.",
    "We missed our boat.",
    "It had left without us.",
)
"""Sentences of one document."""

PARAGRAPHS = (
    "The old bridge was closed because it was no longer safe. People now take the ferry. It leaves every half hour.",
    "Open the settings and choose a language. Then restart the program.\n\nYour files are not changed.",
    "My sister works in a hospital. She often comes home late. On Sundays we cook together, and then we go for a walk.",
)

BATCH = tuple(f"{first} {second}" for first in SHORT[:5] for second in STORY[:4])
"""Texts of list requests."""
