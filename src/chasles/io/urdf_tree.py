"""The links and joints of a URDF file, by name, and that they are one tree."""

from __future__ import annotations

from dataclasses import dataclass

from chasles.io.markup import Element

LINKS = 20_000  # at most


@dataclass(frozen=True)
class Kinematics:
    """Links and joints by name, in the order of the file; of each link the joint that carries it, parents first."""

    links: dict[str, Element]
    joints: dict[str, Element]
    way: list[tuple[str, str | None]]

    @property
    def root(self) -> str:
        return self.way[0][0]

    def end(self, joint: str, tag: str) -> str:
        """The link at an end of a joint, its "parent" or "child"."""
        return next(self.joints[joint].all(tag)).attributes["link"]


def kinematics(robot: Element) -> Kinematics:
    """Errors for names that are used twice or are nowhere, loops, and several trees."""
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    if not links:
        raise robot.error("", "has no links")
    if len(links) > LINKS:
        raise robot.error("", f"has {len(links)} links; at most {LINKS} are read")
    carried: dict[str, str] = {}
    children: dict[str, list[str]] = {}
    for name, element in joints.items():
        parent, child = (_end(element, tag, links) for tag in ("parent", "child"))
        if child in carried:
            other = joints[carried[child]]
            raise element.error(
                "", f"carries link {child!r}, which joint {other.name()!r} (line {other.line}) carries already"
            )
        carried[child] = name
        children.setdefault(parent, []).append(child)
    order = [name for name in links if name not in carried]
    if len(order) > 1:
        listed = ", ".join(map(repr, order[:6])) + (", ..." if len(order) > 6 else "")
        raise robot.error("", f"falls into {len(order)} parts, whose first links are {listed}; expected one tree")
    for link in order:  # grows on the way
        order += children.get(link, [])
    if len(order) < len(links):
        lost = sorted(links.keys() - set(order))
        raise robot.error(
            "", f"has links that carry each other in a circle: {', '.join(map(repr, lost[:6]))}; expected a tree"
        )
    return Kinematics(links, joints, [(link, carried.get(link)) for link in order])


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        if (name := element.name()) in found:
            raise element.error("name", f"is used twice, first in line {found[name].line}")
        found[name] = element
    return found


def _end(element: Element, tag: str, links: dict[str, Element]) -> str:
    end = element.one(tag)
    if end is None:
        raise element.error("", f"has no <{tag} link=...>")
    if (link := end.name("link")) not in links:
        raise end.error("link", f"of joint {element.name()!r} is {link!r}; there is no such link")
    return link
