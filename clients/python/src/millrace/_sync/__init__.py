"""The synchronous half."""
