"""How fast the engine is, beside other engines, in one run."""
