"""Model files that somebody, or a disk, has spoiled: the same number gives the same file."""

import random
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

from chasles.gallery import model_files

URDF = """<?xml version="1.0"?>
<robot name="arm">
  <material name="gray"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base">
    <inertial><mass value="3"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="upper">
    <inertial><origin xyz="0 0 -0.2" rpy="0 0 0"/><mass value="2"/>
      <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.002"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.4"/></geometry><material name="gray"/></visual>
    <collision><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
  </link>
  <link name="lower">
    <inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
    <visual><geometry><mesh filename="package://arm/lower.stl" scale="1 1 1"/></geometry></visual></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0.1 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="100" velocity="10"/>
    <dynamics damping="0.1" friction="0"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4"/>
    <axis xyz="0 1 0"/>
    <mimic joint="shoulder" multiplier="1" offset="0"/></joint>
  <transmission name="t"><joint name="shoulder"/>
    <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
</robot>
"""
MJCF = """<mujoco model="arm">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" gravity="0 0 -9.81" integrator="RK4"><flag contact="disable"/></option>
  <default><joint damping="0.1" armature="0.01"/><geom type="capsule" size="0.05" density="1000"/>
    <default class="small"><geom size="0.02"/></default></default>
  <asset><mesh name="part" file="part.stl"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-2 2"/>
      <geom fromto="0 0 0 0 0 -0.4"/>
      <site name="mark" pos="0 0 -0.2"/>
      <body name="lower" pos="0 0 -0.4" quat="1 0 0 0" childclass="small">
        <joint name="elbow" type="ball"/>
        <inertial pos="0 0 -0.1" mass="1" diaginertia="0.01 0.01 0.01"/>
      </body>
    </body>
    <body name="box" pos="1 0 0"><freejoint name="free"/><geom type="box" size="0.1 0.2 0.3"/></body>
  </worldbody>
  <equality><connect name="hold" body1="lower" body2="box" anchor="0 0 -0.3" active="false"/>
    <joint joint1="shoulder" polycoef="0 1 0 0 0"/></equality>
  <actuator><motor name="m" joint="shoulder" gear="2" ctrlrange="-1 1"/></actuator>
  <keyframe><key name="home" qpos="0 1 0 0 0 1 0 0 1 0 0 0"/></keyframe>
</mujoco>
"""
NUMBERS = ("nan", "inf", "-inf", "1e308", "-1e308", "5e-324", "0", "-1", "-0.0", "1e400", "1e-40", "9" * 400, "0x1F")
WORDS = (
    "",
    "abc",
    "true",
    "[]",
    "{}",
    "\x00",
    "é\u202e\U0001f600",
    "../../etc/passwd",
    "1 2",
    "%n%s",
    "a" * 5000,
)
TEXTS = ("[", "]", '"', "\n", "=", "#", "<", ">", "/>", "&lt;", "&x;", "<!--", "]]>", "\ufeff", "\x00", "{", "'''")


def sources() -> list[tuple[str, str]]:
    """Endings and texts of sound files."""
    found = [(".toml", path.read_text(encoding="utf-8")) for _, path in sorted(model_files().items())]
    return [*found, *[(".urdf", URDF), (".xml", MJCF)] * 5]


def spoiled(number: int) -> tuple[str, bytes]:
    """Ending and contents of a file."""
    rng = random.Random(number)
    ending, text = rng.choice(sources())
    kind = rng.randrange(10)
    if kind < 3:
        return ending, _bytes(rng, text)
    if kind < 5:
        for _ in range(rng.choice((1, 1, 2, 8))):
            text = _numbers(rng, text)
        return ending, text.encode("utf-8", "surrogatepass")
    return ending, (_toml if ending == ".toml" else _xml)(rng, text).encode("utf-8", "surrogatepass")


def _bytes(rng: random.Random, text: str) -> bytes:
    data = bytearray(text.encode())
    for _ in range(rng.choice((1, 1, 3, 20))):
        at, what = rng.randrange(len(data)), rng.randrange(6)
        if what == 0:
            data[at] = rng.randrange(256)
        elif what == 1:
            del data[at : at + rng.choice((1, 10, 200))]
        elif what == 2:
            data[at:at] = rng.choice(TEXTS).encode() * rng.choice((1, 1, 3000))
        elif what == 3:
            end = rng.randrange(len(data))
            data[at:at] = data[min(at, end) : max(at, end)]
        elif what == 4:
            data = data[: at + 1]
        else:
            data[at:at] = bytes(rng.randrange(256) for _ in range(4))
        data = data or bytearray(b"x")
    return bytes(data)


def _numbers(rng: random.Random, text: str) -> str:
    """A number of the text becomes another one, or a word."""
    places = [k for k, letter in enumerate(text) if letter.isdigit() and not text[k - 1].isdigit()]
    at = rng.choice(places)
    end = at
    while end < len(text) and text[end] in "0123456789.e":
        end += 1
    return text[:at] + rng.choice((*NUMBERS, *WORDS)) + text[end:]


def _value(rng: random.Random):
    """Something that may be anywhere in a table."""
    deep = 1.0
    for _ in range(rng.choice((3, 200))):
        deep = [deep]
    table = {"a": 1}
    for _ in range(300):
        table = {"a": table}
    numbers = (float("nan"), float("inf"), -1.0, 0, 1e308, 1e-308, -5, 10**30, 1e-9, 1e9, True)
    words = ("", "ground", "é\u202e", "1e-9", "absolute", "rk4", "2 * bodies", "__import__('os')", "9**9**9", "1/0")
    lists = ([1.0] * 7, [[1.0, 2.0, 3.0]] * 3, ["x"], [1e200] * 3, [0.0] * 3, [float("nan")] * 3, list(range(20000)))
    return rng.choice((*numbers, *words, *lists, "x" * 10**5, [], {}, deep, table))


def _toml(rng: random.Random, text: str) -> str:
    """The structure of a model file changed: values replaced, removed, repeated, renamed."""
    data = tomllib.loads(text)
    for _ in range(rng.choice((1, 1, 2, 5))):
        place, key = _place(rng, data)
        what = rng.randrange(5)
        if what <= 1:
            place[key] = _value(rng)
        elif what == 2:
            del place[key]
        elif what == 3 and isinstance(place, dict):
            place[rng.choice(("name", "mass", "axis", "é", "at", "x y", key + "s"))] = place[key]
        elif isinstance(place, list):
            place.extend([place[key]] * rng.choice((1, 3, 200)))
        else:
            other, name = _place(rng, data)
            place[key] = other[name] if not isinstance(other[name], dict | list) else _value(rng)
        data = data or {"x": 1}
    return "\n".join(f"{_key(name)} = {_written(value)}" for name, value in data.items())


def _place(rng: random.Random, data):
    """A table or list, and a key in it."""
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        key = rng.choice(keys)
        if isinstance(data[key], dict | list) and data[key] and rng.random() < 0.8:
            data = data[key]
        else:
            return data, key


def _key(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _written(value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_written(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return _key(value) if isinstance(value, str) else repr(value)


def _xml(rng: random.Random, text: str) -> str:
    """Elements and attributes changed."""
    root = ET.fromstring(text)
    for _ in range(rng.choice((1, 1, 2, 5))):
        elements = list(root.iter())
        element, parent = rng.choice(elements), rng.choice(elements)
        what = rng.randrange(7)
        if what <= 2 and element.attrib:
            name = rng.choice(sorted(element.attrib))
            words = [rng.choice((*NUMBERS, *WORDS)).replace("\x00", "?") for _ in range(rng.choice((1, 3, 4, 30)))]
            element.set(name, " ".join(words))
        elif what == 3 and element.attrib:
            del element.attrib[rng.choice(sorted(element.attrib))]
        elif what == 4 and len(parent):
            parent.remove(rng.choice(list(parent)))
        elif what == 5:
            other = ET.fromstring(ET.tostring(element))
            for _ in range(rng.choice((1, 1, 40))):
                parent.append(other)
        else:
            deep = parent
            for _ in range(rng.choice((1, 1, 300))):
                deep = ET.SubElement(deep, element.tag, dict(element.attrib))
    head = rng.choice(("", "", '<!DOCTYPE a [<!ENTITY x "y">]>', '<include file="other.xml"/>'))
    return head + ET.tostring(root, encoding="unicode")


def use(file: Path) -> None:
    """Load, look over and run a model file, as the command line does."""
    import warnings

    from chasles.cli.check import report
    from chasles.cli.model import find_study

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = find_study(str(file))
        report(study)
        start = study.options.get("span", (0.0, 0.0))[0]
        study.run(span=(start, start + 0.01), save="final", progress=False)
