"""What a language model reads about the tools as a whole."""

INSTRUCTIONS = (
    "Translates texts with a translation model on the user's own server; nothing is sent elsewhere. Use "
    "translate_document for connected text, whose sentences are context for each other, and translate "
    "for single texts and labels. Translations with flags need a look. list_languages says which languages there are."
)
