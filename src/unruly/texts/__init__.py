"""Texts: reading documents from files, frames and folders."""
