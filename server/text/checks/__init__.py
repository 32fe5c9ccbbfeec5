"""Checks of texts and translations without a translation model: language, flags, repetition."""
