"""`ringmt compare-documents`: context layers against their sentence model, on whole documents."""
