"""Features: encoders, one file each, and the cache of what they gave."""
