"""Render the maths of the pages to MathML at build time: no JavaScript, no network."""

import html
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
DOTS = {"\u02d9": ".", "\u00a8": "..", "\u20db": "..."}


def is_function(element):
    """Whether the element is a name such as exp, bare or with an index or exponent."""
    base = element[0] if element.tag in {"msub", "msup", "msubsup"} else element
    return base.tag == "mi" and len(base.text or "") > 1


def to_mathml(node, display):
    """MathML of a maths node; a warning, and the LaTeX source, where it cannot be converted."""
    try:
        root = ElementTree.fromstring(convert(node.astext(), xmlns="", display=display))
        if left_over := [e.text for e in root.iter() if "\\" in (e.text or "")]:
            raise ValueError(f"{left_over[0]} is not supported")
    except Exception as error:  # latex2mathml has no common base class for its errors
        logger.warning("maths not converted: %r in %r", error, node.astext(), location=node)
        return f"<code>{html.escape(node.astext())}</code>"
    for e in root.iter():
        if e.tag == "mo" and len(e.text or "") > 1:
            e.tag = "mi"  # a function name; as an operator it would get wide spaces
        if e.tag == "mover":  # plain scripts rather than accents: clear in every font
            e.set("accent", "false")
            e[1].attrib.update(stretchy="false", mathsize="125%" if e[1].text in DOTS else "100%")
            e[1].text = DOTS.get(e[1].text, e[1].text)
    for e in [e for e in root.iter() if e.tag in {"mrow", "mtd", "mstyle"}]:
        for i in range(len(e) - 1, 0, -1):
            pair = e[i - 1 : i + 1]
            if any(map(is_function, pair)) and not any(x.tag in {"mo", "mspace"} for x in pair):
                e.insert(i, ElementTree.Element("mspace", width="0.17em"))
    return ElementTree.tostring(root, encoding="unicode")


def visit_inline(translator, node):
    translator.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator, node):
    start = translator.starttag(node, "div", CLASS="math")
    if node.get("number"):
        start += f"<span class=eqno>({get_node_equation_number(translator, node)})</span>"
    translator.body.append(start + to_mathml(node, "block") + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
