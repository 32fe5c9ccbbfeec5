"""Words of vocabularies that SentencePiece did not make: text as Moses' scripts cut it, its words cut by byte pairs."""
