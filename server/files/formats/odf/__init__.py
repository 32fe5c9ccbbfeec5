"""Parts of OpenDocument files: text stands directly in its elements, among those that are inside of a sentence."""
