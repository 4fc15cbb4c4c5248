"""Projects: the project file, `unruly.toml`, to and from Python objects."""
