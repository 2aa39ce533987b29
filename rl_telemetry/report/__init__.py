"""Reads what the ``file`` exporter wrote and shows where the time of a run went.

The runtime never imports this package; its libraries come with the extra ``report``.
"""
