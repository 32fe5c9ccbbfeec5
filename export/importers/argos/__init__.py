"""Packages of Argos Translate, which LibreTranslate serves: a model of CTranslate2 with its languages."""
