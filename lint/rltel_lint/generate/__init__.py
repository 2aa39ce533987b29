"""Tables of documents that are filled from the inventory, and the first set of them.

What the code decides is written by the program; every other cell is the reader's and is kept by
the name in its row.
"""
