"""Systems and laws of the board."""

import numpy as np

import chasles as ch

ABSOLUTE = {"coordinates": "absolute"}
ROD = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.001)}


def slider(m=1.0, k=0.0, c=0.0, **more):
    """A body on a rail, without gravity."""
    body = ch.Body("b", m, inertia=(0.01 * m,) * 3)
    rail = ch.prismatic("s", "ground", "b", axis=(1, 0, 0), stiffness=k, damping=c)
    return ch.System([body], [rail], gravity=(0, 0, 0), **more)


def chain(n=1, **more):
    """Rods that hang on each other."""
    at = [(0, 0, -1.0 if i else 0.0) for i in range(n)]
    return ch.System(
        [ch.Body(f"r{i}", **ROD) for i in range(n)],
        [ch.revolute(f"j{i}", f"r{i - 1}" if i else "ground", f"r{i}", axis=(0, 1, 0), at=at[i]) for i in range(n)],
        **more,
    )


def arm(n):
    """An arm with an actuator at every joint."""
    axes = [(0, 1, 0), (1, 0, 0), (0, 0, 1)]
    return ch.System(
        [ch.Body(f"l{k}", 1.0, (0.1, 0.02, 0.15), (0.02, 0.02, 0.01)) for k in range(n)],
        [
            ch.revolute(f"j{k}", f"l{k - 1}" if k else "ground", f"l{k}", axis=axes[k % 3], at=(0, 0, 0.3 * bool(k)))
            for k in range(n)
        ],
        actuators=[ch.Actuator(f"u{k}", f"j{k}") for k in range(n)],
    )


def beside_a_wheel(n=1, inertia=100.0):
    """Rods beside a flywheel, with which they exchange nothing."""
    rods = chain(n)
    wheel = ch.Body("wheel", 1000.0, inertia=(0.5 * inertia + 1, 0.5 * inertia + 1, inertia))
    return ch.System([wheel, *rods.bodies], [ch.revolute("W", "ground", "wheel", axis=(0, 0, 1)), *rods.joints])


def on_a_cart(law, *parameters, upright=False):
    """A rod on a cart that a drive moves, across or along gravity."""
    cart = ch.Body("cart", 1.0, inertia=(0.1,) * 3)
    rail = ch.prismatic("x", "ground", "cart", axis=(0, 0, 1) if upright else (1, 0, 0))
    return ch.System(
        [cart, ch.Body("r0", **ROD)],
        [rail, ch.revolute("j", "cart", "r0", axis=(0, 1, 0))],
        constraints=[ch.Drive("d", "x", law, parameters=list(parameters))],
    )


def car(law, *parameters):
    """A car on a spring and damper over a road that a drive lifts."""
    return ch.System(
        [ch.Body("road", 1.0, inertia=(0.1,) * 3), ch.Body("car", 300.0, inertia=(1.0,) * 3)],
        [
            ch.prismatic("lift", "ground", "road", axis=(0, 0, 1)),
            ch.prismatic("susp", "road", "car", axis=(0, 0, 1), stiffness=20000.0, damping=1500.0),
        ],
        constraints=[ch.Drive("input", "lift", law, parameters=list(parameters))],
        gravity=(0, 0, 0),
    )


def four_bar():
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.001, 0.1, 0.1)}
    z = {"axis": (0, 0, 1)}
    return ch.System(
        [ch.Body(name, **rod) for name in ("crank", "coupler", "rocker")],
        [
            ch.revolute("A", "ground", "crank", **z, damping=0.02),
            ch.revolute("B", "crank", "coupler", **z, at=(1, 0, 0)),
            ch.revolute("C", "coupler", "rocker", **z, at=(1, 0, 0), child_at=(1, 0, 0)),
            ch.revolute("D", "ground", "rocker", **z, at=(1.3, 0, 0)),
        ],
        gravity=(0, -9.81, 0),
    )


def push(law, *parameters, joint="s", name="push"):
    return ch.JointForce(name, joint, law, parameters=list(map(float, parameters)))


@ch.law
def gauss(t, q, v, p, out):  # impulse, time, width
    out[0] = p[0] / (p[2] * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((t - p[1]) / p[2]) ** 2)


@ch.law
def box(t, q, v, p, out):  # force, begin, end
    out[0] = p[0] if p[1] < t < p[2] else 0.0


@ch.law
def motor(t, q, v, p, out):  # force, frequency, phase, onset
    out[0] = p[0] * np.sin(2 * np.pi * p[1] * t + p[2]) ** 2 if t > p[3] else 0.0


@ch.law
def chirp(t, q, v, p, out):  # force, rate of the frequency
    out[0] = p[0] * np.sin(np.pi * p[1] * t * t) ** 2


@ch.law
def train(t, q, v, p, out):  # force, period, width
    out[0] = p[0] if t % p[1] < p[2] else 0.0


@ch.law
def region(t, q, v, p, out):  # force, begin, end in x
    out[0] = p[0] if p[1] < q[0] < p[2] else 0.0


@ch.law
def wall(t, q, v, p, out):  # stiffness, place
    out[0] = -p[0] * (q[0] - p[1]) if q[0] > p[1] else 0.0


@ch.law
def bump(t, q, v, p, out):  # a drive: height, begin, length
    x = (t - p[1]) / p[2]
    if 0.0 < x < 1.0:
        w = 2 * np.pi / p[2]
        out[0] = 0.5 * p[0] * (1 - np.cos(w * (t - p[1])))
        out[1] = 0.5 * p[0] * w * np.sin(w * (t - p[1]))
        out[2] = 0.5 * p[0] * w * w * np.cos(w * (t - p[1]))
    else:
        out[0] = 0.0
        out[1] = 0.0
        out[2] = 0.0


@ch.law
def shaker(t, q, v, p, out):  # a drive: amplitude, frequency
    w = 2 * np.pi * p[1]
    out[0] = p[0] * np.sin(w * t)
    out[1] = p[0] * w * np.cos(w * t)
    out[2] = -p[0] * w * w * np.sin(w * t)


@ch.law
def attraction(t, pose, twist, p, out):  # a wrench: G M m
    x, y, z = pose[4], pose[5], pose[6]
    r2 = x * x + y * y + z * z
    k = -p[0] / (r2 * np.sqrt(r2))
    for i in range(3):
        out[i] = 0.0
    out[3] = k * x
    out[4] = k * y
    out[5] = k * z


def held_by_a_band(speed):
    """A slider that is pushed, and held by a thin band of speeds: 1 - 2 exp(-(v - speed)²/w²) is zero at its edge."""
    return slider(forces=[ch.JointForce("push", "s", f"1 - 2 * exp(-(((v - {speed}) / 1e-5) ** 2))")])
