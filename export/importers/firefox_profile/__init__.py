"""Translation models that Firefox keeps in a profile."""
