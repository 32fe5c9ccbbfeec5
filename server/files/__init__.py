"""Files that clients send: read and written by parser processes within limits (`parser_pool`), translated as one
document (`file_translation`)."""
