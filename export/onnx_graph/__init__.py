"""The fast path: encode and step graphs built node by node, one function per block."""
