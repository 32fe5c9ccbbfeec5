"""`ringmt compare`: trained models side by side, each difference with its uncertainty."""
