"""What the routes of files of all three APIs say about their fields."""

COLUMNS = (
    "Columns of a .csv or .tsv file that are translated, by their names in the first row or their numbers from 1:"
    ' "text,note"; "!id": all but these. By default all that do not hold keys.'
)
KEYS = (
    'Keys of a .json file whose values are translated: "title,items.*.text" (* one key, ** any number, a name without a'
    ' point at any depth); "!url": all but these. By default all.'
)
MEMORY = (
    "One of /v1/translation_memories: its entries take the place of texts, or else sentences, with an equal source."
)
