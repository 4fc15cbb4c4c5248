"""Room 1: texts. Reading documents from files, frames and folders."""
