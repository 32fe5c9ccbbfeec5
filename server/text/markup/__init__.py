"""HTML and XML: texts between tags, tags inside sentences, attributes, character references."""
