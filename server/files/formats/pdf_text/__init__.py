"""The text of PDF files: lines, and the paragraphs and headings that they are parts of."""
