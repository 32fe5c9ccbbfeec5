"""What people write every day, by hand and by rule: phrases, places, letters, times and amounts."""
