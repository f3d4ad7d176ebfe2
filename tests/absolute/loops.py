"""Mechanisms with closed loops."""

import numpy as np

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.model.placement import frame_with_z

# planar four-bar: crank, coupler and rocker between the pivots (0, 0) and (base, 0), in the plane x, y
CRANK, COUPLER, ROCKER, BASE = 0.3, 0.8, 0.6, 0.7
MASSES = {"crank": 1.0, "coupler": 2.0, "rocker": 1.5}
LENGTHS = {"crank": CRANK, "coupler": COUPLER, "rocker": ROCKER}
FOUR_BAR_GRAVITY = (0.0, -9.81, 0.0)
Z = (0.0, 0.0, 1.0)


def rod(name: str, length: float, mass: float) -> ch.Body:
    """Along x from the origin of its frame."""
    return ch.Body(name, mass, (0.5 * length, 0.0, 0.0), (1e-3, mass * length**2 / 12, mass * length**2 / 12))


def four_bar(last: str = "universal") -> ch.System:
    """Seventeen independent equations for eighteen freedoms: two revolute, a spherical and a universal joint."""
    rods = [rod(name, length, MASSES[name]) for name, length in LENGTHS.items()]
    ends = {
        "universal": lambda: ch.universal("C", "coupler", "rocker", axes=(Z, (1.0, 0.0, 0.0)), **at_end),
        "revolute": lambda: ch.revolute("C", "coupler", "rocker", axis=Z, **at_end),
    }
    at_end = {"at": (COUPLER, 0.0, 0.0), "child_at": (ROCKER, 0.0, 0.0)}
    joints = [
        ch.revolute("A", "ground", "crank", axis=Z),
        ch.spherical("B", "crank", "coupler", at=(CRANK, 0.0, 0.0)),
        ends[last](),
        ch.revolute("D", "ground", "rocker", axis=Z, at=(BASE, 0.0, 0.0)),
    ]
    return ch.System(rods, joints, gravity=FOUR_BAR_GRAVITY, name="four-bar")


def four_bar_angles(crank: float) -> tuple[float, float, float]:
    """Directions of the three rods in the plane, from the intersection of two circles."""
    elbow = CRANK * np.array([np.cos(crank), np.sin(crank)])
    to_base = np.array([BASE, 0.0]) - elbow
    d = np.linalg.norm(to_base)
    along = (COUPLER**2 - ROCKER**2 + d**2) / (2 * d)
    across = np.sqrt(COUPLER**2 - along**2)
    unit = to_base / d
    knee = elbow + along * unit + across * np.array([-unit[1], unit[0]])
    coupler, rocker = knee - elbow, knee - np.array([BASE, 0.0])
    return crank, float(np.arctan2(coupler[1], coupler[0])), float(np.arctan2(rocker[1], rocker[0]))


def four_bar_rates(crank: float) -> np.ndarray:
    """Angular velocities of the three rods for one of the crank of 1 rad/s."""
    a, b, c = four_bar_angles(crank)
    A = np.array([[-COUPLER * np.sin(b), ROCKER * np.sin(c)], [COUPLER * np.cos(b), -ROCKER * np.cos(c)]])
    others = np.linalg.solve(A, [CRANK * np.sin(a), -CRANK * np.cos(a)])
    return np.array([1.0, *others])


def four_bar_poses(crank: float) -> np.ndarray:
    a, b, c = four_bar_angles(crank)
    elbow = (CRANK * np.cos(a), CRANK * np.sin(a), 0.0)
    turns = [pose_group.exp([0.0, 0.0, angle, 0.0, 0.0, 0.0])[:4] for angle in (a, b, c)]
    return np.array([[*turn, *at] for turn, at in zip(turns, ((0, 0, 0), elbow, (BASE, 0.0, 0.0)), strict=True)])


def four_bar_twists(crank: float, speed: float) -> np.ndarray:
    rates = speed * four_bar_rates(crank)
    b = four_bar_angles(crank)[1]
    twists = np.zeros((3, 6))
    twists[:, 2] = rates
    v = CRANK * speed * np.array([-np.sin(crank), np.cos(crank)])  # of the elbow, in the axes of the coupler
    twists[1, 3:5] = np.cos(b) * v[0] + np.sin(b) * v[1], -np.sin(b) * v[0] + np.cos(b) * v[1]
    return twists


def four_bar_energy(crank: float) -> tuple[float, float]:
    """(kinetic energy at 1 rad/s of the crank, potential energy)."""
    a, b, c = four_bar_angles(crank)
    rates = four_bar_rates(crank)
    elbow, elbow_speed = CRANK * np.array([np.cos(a), np.sin(a)]), CRANK * np.array([-np.sin(a), np.cos(a)])
    kinetic = potential = 0.0
    for k, (name, angle) in enumerate((("crank", a), ("coupler", b), ("rocker", c))):
        half, mass = 0.5 * LENGTHS[name], MASSES[name]
        origin, speed = {
            "crank": (np.zeros(2), np.zeros(2)),
            "coupler": (elbow, elbow_speed),
            "rocker": (np.zeros(2), np.zeros(2)),
        }[name]
        center = origin + half * np.array([np.cos(angle), np.sin(angle)])
        v = speed + rates[k] * half * np.array([-np.sin(angle), np.cos(angle)])
        kinetic += 0.5 * mass * (v @ v) + 0.5 * mass * LENGTHS[name] ** 2 / 12 * rates[k] ** 2
        potential += mass * 9.81 * center[1]
    return kinetic, potential


# ---------------------------------------------------------------- mueller2013, section 5.4

LINK, APART, SPIN = 0.2, 0.3, 20 * np.pi


def three_bar() -> ch.System:
    """The closed 3-bar linkage of mueller2013, section 5.4: links of 0.2 m between ground joints 0.3 m apart on x."""
    sides = (LINK, 0.1, 0.05)
    links = [ch.Body(name, shapes=[ch.shapes.Box(sides)], density=2700.0) for name in ("one", "two")]
    end = 0.5 * LINK
    joints = [
        ch.spherical("joint 1", "ground", "one", child_at=(-end, 0.0, 0.0)),
        ch.spherical("joint 2", "one", "two", at=(end, 0.0, 0.0), child_at=(end, 0.0, 0.0)),
        ch.spherical("joint 3", "ground", "two", at=(APART, 0.0, 0.0), child_at=(-end, 0.0, 0.0)),
    ]
    return ch.System(links, joints, name="3-bar")


def three_bar_start() -> tuple[np.ndarray, np.ndarray]:
    """The triangle in the plane x, y, turning about the ground line at 20 pi rad/s."""
    apex = np.array([0.5 * APART, np.sqrt(LINK**2 - 0.25 * APART**2), 0.0])
    starts = (np.zeros(3), np.array([APART, 0.0, 0.0]))
    poses, twists = [], []
    for start in starts:
        along = (apex - start) / LINK
        angle = np.arctan2(along[1], along[0])
        turn = pose_group.exp([0.0, 0.0, angle, 0.0, 0.0, 0.0])[:4]
        center = start + 0.5 * LINK * along
        spin = np.array([SPIN, 0.0, 0.0])
        pose = np.array([*turn, *center])
        back = pose_group.inverse(np.array([*turn, 0.0, 0.0, 0.0]))
        velocity = np.cross(spin, center)
        twists.append([*pose_group.act(back, spin), *pose_group.act(back, velocity)])
        poses.append(pose)
    return np.array(poses), np.array(twists)


# ---------------------------------------------------------------- a platform


def platform() -> tuple[ch.System, np.ndarray]:
    """A plate on three legs, each on a universal joint: each leg alone has more equations than freedoms."""
    bodies = [ch.Body("plate", 5.0, (0.1, 0.0, 0.0), (0.3, 0.4, 0.5))]
    poses = [np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])]
    joints = []
    for k in range(3):
        a = 2 * np.pi * k / 3 + 0.3 * k
        base = np.array([1.3 * np.cos(a), 1.3 * np.sin(a), 0.1 * k])
        tip = np.array([0.5 * np.cos(a + 0.2), 0.5 * np.sin(a + 0.2), 1.0])
        length = float(np.linalg.norm(tip - base))
        poses.append(np.array([*frame_with_z((tip - base) / length), *base]))
        bodies.append(ch.Body(f"leg {k}", 1.0, (0.0, 0.0, 0.5), (0.1, 0.12, 0.02)))
        joints.append(ch.universal(f"foot {k}", "ground", f"leg {k}", at=poses[-1]))
        at = tip - poses[0][4:]
        joints.append(ch.spherical(f"knee {k}", "plate", f"leg {k}", at=at, child_at=(0.0, 0.0, length)))
    bodies.append(ch.Body("arm", 0.5, (0.0, 0.0, 0.2), (0.02, 0.03, 0.01)))
    poses.append(np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2]))
    joints.append(ch.revolute("arm on plate", "plate", "arm", axis=(1.0, 0.0, 0.0), at=(0.0, 0.0, 0.2)))
    return ch.System(bodies, joints, name="platform"), np.array(poses)
