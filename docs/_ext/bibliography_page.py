"""The page of the bibliography from `references.bib`, and links to it from every key in the documentation."""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from chasles.bibliography import KEY, bibliography

PAGE = "bibliography"


class Bibliography(Directive):
    """All entries, by key."""

    def run(self) -> list[nodes.Node]:
        entries = nodes.definition_list()
        for key, entry in sorted(bibliography().items()):
            text = nodes.definition("", nodes.paragraph("", str(entry)))
            term = nodes.term("", key, ids=[key])  # links end here: ids of a list's items are not written to pages
            entries += nodes.definition_list_item("", term, text)
        return [entries]


class Citations(SphinxPostTransform):
    """A key in running text is a link to its entry."""

    default_priority = 900

    def run(self, **_: object) -> None:
        if self.env.docname == PAGE:
            return
        for text in list(self.document.findall(nodes.Text)):
            inside = (nodes.reference, nodes.literal, nodes.literal_block, nodes.title, nodes.math, nodes.raw)
            parents = []
            node = text.parent
            while node is not None:
                parents.append(node)
                node = node.parent
            if any(isinstance(parent, inside) for parent in parents):
                continue
            pieces, at = [], 0
            for found in KEY.finditer(str(text)):
                if found[0] in bibliography():
                    pieces.append(nodes.Text(str(text)[at : found.start()]))
                    shown = nodes.inline("", found[0], classes=["citation"])
                    pieces.append(make_refnode(self.app.builder, self.env.docname, PAGE, found[0], shown))
                    at = found.end()
            if pieces:
                text.parent.replace(text, [*pieces, nodes.Text(str(text)[at:])])


def setup(app):
    app.add_directive("bibliography", Bibliography)
    app.add_post_transform(Citations)
    return {"parallel_read_safe": True}
