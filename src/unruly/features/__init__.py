"""Room 4: features. Encoders, one file each, and the cache of what they gave."""
