"""Elements of a page. Text and attributes are escaped when the tree is written, never by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET


def add(
    parent: ET.Element, tag: str, text: str | None = None, **attributes: str | float
) -> ET.Element:
    """Add an element.

    Args:
        parent: The element to add it to.
        tag: Its tag.
        text: Its text.
        **attributes: Its attributes. ``_`` in a name stands for ``-``, and one at the end is
            dropped, for ``class_``; numbers are rounded to hundredths.

    Returns:
        The new element.
    """
    named = {
        name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else f"{value:.2f}"
        for name, value in attributes.items()
    }
    element = ET.SubElement(parent, tag, named)
    element.text = text
    return element


def svg(parent: ET.Element, width: float, height: float, label: str) -> ET.Element:
    """Add a drawing that scales with the page; ``label`` is what a screen reader says."""
    size = f"0 0 {width:.0f} {height:.0f}"
    return ET.SubElement(
        parent,
        "svg",
        {"viewBox": size, "role": "img", "aria-label": label, "width": f"{width:.0f}"},
    )
