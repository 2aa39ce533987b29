"""The picture of what a code base emits: which span opens inside which, and what is adrift.

``model`` reads it off the linked project, ``mermaid``, ``svg`` and ``json`` draw it.
"""
