"""Keeps what a translation must have byte for byte (URLs, addresses, placeholders, tags, code, emoji, words that the
vocabulary cannot spell), and puts the translations of a glossary's terms in place.

`masking.mask` runs before the model, `restoring.restore` after it:

1. The spans of a sentence are found (`server.text.spans`, `unspellable`, `terms`). Spans that touch each other become
   one.
2. Each span is replaced by a mask: a stem and the number of the span, from 1 on, as in "X1" and "X2". Models copy masks
   as they copy names. The stem is the first that no number follows in the sentence, so that no word of it looks like a
   mask. Where a span touches a word, the model reads a space between them, which `restore` removes again. The model
   does not read soft hyphens and the mark of an accelerator (`accelerators`).
3. A sentence in capitals is given to the model in small letters, and its translation is set in capitals; so is a single
   word in capitals, if the words that come from it can be found (`capitals`).
   Runs of punctuation and quotation marks are in the translation as they are in the source (`punctuation`).
4. In the translation only the first copy of each mask stays, and masks become spans again.
5. The model may lose a mask. If the span is one end of a tag whose other end (its partner) is in the translation, the
   mask is inserted as many words from its partner as in the source; otherwise at the same relative position as in the
   source, between two words.

So every span is in the result exactly once, whatever the model did; `Restored.is_moved` says that a mask was lost or
repeated, and the sentence is flagged.
"""
