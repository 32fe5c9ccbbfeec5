"""Shortlists of artifacts: learnt from text that the artifact itself translates, and put into its graphs."""
