"""Models that CTranslate2's converters wrote (Klein et al. 2020): those of OpenNMT, Marian and Argos."""
