"""Hostile files are refused within a second and in bounded memory."""

import gc
import resource
import time
from contextlib import contextmanager, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chasles as ch
from chasles.io.markup import parse_markup

MEMORY = 600  # MB that refusing may take at most


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_behind():
    """By other tests: it would be counted as the file's."""
    gc.collect()


@contextmanager
def quick_and_small():
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    yield
    assert time.process_time() - start < 1.0
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MEMORY


LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + k)} "{10 * f"&{chr(97 + k)};"}">' for k in range(9)
)
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
HOSTILE = {
    "entity bomb": (LAUGHS + "]><{0}>&j;</{0}>", "document type"),
    "outside entity": (OUTSIDE + "<{0}>&x;</{0}>", "document type"),
    "entity without a definition": ("<{0}>&x;</{0}>", "not XML"),
    "deep": ("<{0}>" + "<a>" * 100_000 + "</a>" * 100_000 + "</{0}>", "nested more than 200"),
    "many": ("<{0}>" + "<a/>" * 300_000 + "</{0}>", "more than 30000 elements"),
    "large": ("<{0}>" + " " * 17_000_000 + "</{0}>", "larger than 16 MB"),
    "long attribute": ('<{0} name="' + "a" * 1_000_000 + '"/>', "at most 20000 are read"),
    "many attributes": ("<{0} " + " ".join(f'a{k}="1"' for k in range(200_000)) + ' a0="1"/>', "duplicate attribute"),
    "unknown encoding": ('<?xml version="1.0" encoding="utf-7"?><{0}/>', "not XML"),
    "broken": ("<{0}", "not XML"),
}


@pytest.mark.sample(1)  # both are read by `parse_markup`
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize(("tag", "name"), [("robot", "a.urdf"), ("mujoco", "a.xml")])
def test_refused(tmp_path, kind, tag, name):
    text, message = HOSTILE[kind]
    (tmp_path / name).write_text(text.replace("{0}", tag))
    with quick_and_small(), pytest.raises(ch.errors.ModelFileError, match=message):
        ch.load(tmp_path / name)


def test_numbers_with_many_digits(tmp_path):
    mass, moments = f'<mass value="{"9" * 15_000}"/>', '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    link = f'<link name="a"><inertial>{mass}{moments}</inertial></link>'
    (tmp_path / "a.urdf").write_text(f"<robot>{link}</robot>")
    with quick_and_small(), pytest.raises(ch.errors.ModelFileError, match="finite number"):
        ch.load(tmp_path / "a.urdf")


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "a.urdf").write_bytes(b"<robot name='\xff\xfe'/>")
    with pytest.raises(ch.errors.ModelFileError, match="not XML"):
        ch.load(tmp_path / "a.urdf")


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(content):
    with suppress(ch.errors.ModelFileError):
        parse_markup(content, "fuzzed")


TAGS = ("robot", "link", "joint", "inertial", "mass", "inertia", "origin", "parent", "child", "axis", "limit", "visual")
TAGS += ("collision", "geometry", "mesh", "box", "material", "color", "dynamics", "mimic", "sphere")
KEYS = ("name", "type", "link", "xyz", "rpy", "value", "ixx", "iyy", "izz", "lower", "upper", "joint", "filename")
KEYS += ("size", "rgba", "radius", "multiplier", "scale", "damping")
VALUES = st.sampled_from(
    [
        *("a", "b", "ground", "revolute", "fixed", "floating", "mimic", "0 0 1", "1 2 3", "1", "-1", "0", "nan", ""),
        *("1e308", "../../x", "package://a/b", "0 0 0", "1 1 1 1", "inf", "é", "\x7f", "prismatic"),
    ]
)
ATTRIBUTES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5)


def elements(children):
    return st.tuples(st.sampled_from(TAGS), ATTRIBUTES, st.lists(children, max_size=4))


def written(element) -> str:
    tag, attributes, children = element
    listed = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{tag}{listed}>{''.join(map(written, children))}</{tag}>"


NESTED = st.recursive(st.tuples(st.sampled_from(TAGS), ATTRIBUTES, st.just([])), elements, max_leaves=8)
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NESTED, max_size=4), st.lists(NESTED, max_size=3), st.lists(NESTED, max_size=3))
def test_any_elements_are_refused_or_read(tmp_path, in_robot, in_link, in_joint):
    """Around a model that is right; nothing but a `ModelFileError` may come."""
    file = tmp_path / "fuzzed.urdf"
    robot, link, joint = ("".join(map(written, part)) for part in (in_robot, in_link, in_joint))
    file.write_text(
        f'<robot><link name="a">{INERTIAL}</link><link name="b">{INERTIAL}{link}</link><joint name="j" '
        f'type="continuous"><parent link="a"/><child link="b"/>{joint}</joint>{robot}</robot>',
        encoding="utf-8",
    )
    with suppress(ch.errors.ModelFileError):
        study = ch.load(file)
        system, report = study.system, study.report
        assert {body.name for body in system.bodies} >= {"a", "b"}
        assert "links with mass" in str(report)
