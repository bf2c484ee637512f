"""XML from outside, read without entities, document types or fetching: elements, or an error with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError

from topo.errors import InputError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["child_of", "local_name", "parse_xml", "text_in"]

_MOST_DEPTH = 64


def parse_xml(text: str, source: str) -> Element:
    """The root element of an XML text.

    :raises InputError: not XML, an entity or document type in it, or nested more than 64 deep.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(text.strip().encode("utf-8", errors="replace"), forbid_dtd=True)
    except ParseError as error:
        offset = len(text[: len(text) - len(text.lstrip())].split("\n")) - 1
        line = error.position[0] + offset
        said = str(error).split(":")[0]
        raise InputError(f"not valid XML: {said}", path=source or None, line=line) from None
    except DefusedXmlException as error:
        said = type(error).__name__
        raise InputError(
            f"document types and entities are not read from outside ({said}); remove them", path=source or None
        ) from None
    except (LookupError, ValueError) as error:  # an encoding nobody knows
        raise InputError(f"not valid XML: {' '.join(str(error).split())}", path=source or None) from None
    level = [root]
    for _ in range(_MOST_DEPTH):
        level = [child for element in level for child in element]
        if not level:
            return root
    raise InputError(f"nested more than {_MOST_DEPTH} levels deep", path=source or None)


def local_name(element: Element) -> str:
    """The tag of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def child_of(element: Element | None, tag: str) -> Element | None:
    """The first child of that name; None where there is none, or nothing to look in."""
    return next((child for child in element if local_name(child) == tag), None) if element is not None else None


def text_in(element: Element | None, tag: str) -> str:
    """The text of the first child of that name, '' without one."""
    found = child_of(element, tag)
    return (found.text or "").strip() if found is not None else ""
