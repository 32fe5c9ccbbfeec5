"""Files of software strings, translation memories and glossaries. A file is its text, and spans of it that are written
anew (`spans`); everything else stays byte for byte."""
