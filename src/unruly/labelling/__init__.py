"""Labels by hand: which documents to ask about, the file that keeps the answers, and what they tell."""
