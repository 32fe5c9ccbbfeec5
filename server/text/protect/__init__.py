"""What must come through a translation as it is, or as a glossary says."""
