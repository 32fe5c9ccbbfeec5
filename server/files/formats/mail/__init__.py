"""Mails (.eml): their parts with the places of their bytes, and the paragraphs of plain text."""
