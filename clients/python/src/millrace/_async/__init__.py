"""The asynchronous half. The synchronous one in ``millrace._sync`` is generated from it."""
