"""The pages of the studio, one file each: handlers that ask the workspace and fill in a template."""
