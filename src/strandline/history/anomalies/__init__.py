"""One function for each anomaly: a history in, what was found out. Each says what it looks for, and what excuses it."""
