"""Mechanisms whose numbers are looked for."""

PENDULUM = """
name = "pendulum"

[parameters]
length = "500 mm"                 # from the pivot to the mark
damping = 0.02
angle = "60 deg"

[[bodies]]
name = "bob"
mass = 1.0
com = [0, 0, "-length"]
inertia = [0.01, 0.01, 0.001]

[[joints]]
name = "pivot"
kind = "revolute"
parent = "ground"
child = "bob"
axis = [0, 1, 0]
damping = "damping"

[[frames]]
name = "mark"
body = "bob"
pose = [0, 0, "-length"]

[initial]
q.pivot = "angle"

[simulation]
span = [0, 5]
method = "rk4"
step = 0.01
"""

ARM = """
name = "arm"

[parameters]
length = 0.4
stiffness = 3.0

[[bodies]]
name = "upper"
mass = 1.2
com = [0.02, 0.01, "-length / 2"]
inertia = [0.02, 0.022, 0.004]

[[bodies]]
name = "lower"
mass = 0.7
com = [0.01, 0, -0.2]
inertia = [0.008, 0.009, 0.002]

[[joints]]
name = "ball"
kind = "spherical"
parent = "ground"
child = "upper"
damping = 0.03

[[joints]]
name = "elbow"
kind = "revolute"
parent = "upper"
child = "lower"
axis = [0, 1, 0]
at = [0, 0, "-length"]
damping = 0.01
stiffness = "stiffness"

[[frames]]
name = "hand"
body = "lower"
pose = [0.03, 0.02, -0.35]

[[forces]]
name = "push"
kind = "joint_force"
joint = "elbow"
value = "0.4 * sin(3 * t)"

[initial]
q.elbow = 0.5
v.ball = [1.0, -0.5, 0.7]

[simulation]
span = [0, 1]
method = "rk4"
step = 0.01
"""

FOUR_BAR = """
name = "four-bar"
gravity = [0, -9.81, 0]

[parameters]
coupler = 0.8
stiffness = 5.0

[[bodies]]
name = "crank"
mass = 1.0
com = [0.15, 0, 0]
inertia = [0.001, 0.0075, 0.0075]

[[bodies]]
name = "link"
mass = 1.0
com = ["coupler / 2", 0, 0]
inertia = [0.001, 0.05, 0.05]

[[bodies]]
name = "rocker"
mass = 1.0
com = [0.3, 0, 0]
inertia = [0.001, 0.03, 0.03]

[[joints]]
name = "A"
kind = "revolute"
parent = "ground"
child = "crank"
axis = [0, 0, 1]
stiffness = "stiffness"
damping = 0.1

[[joints]]
name = "B"
kind = "revolute"
parent = "crank"
child = "link"
axis = [0, 0, 1]
at = [0.3, 0, 0]

[[joints]]
name = "C"
kind = "revolute"
parent = "link"
child = "rocker"
axis = [0, 0, 1]
at = ["coupler", 0, 0]
child_at = [0.6, 0, 0]

[[joints]]
name = "D"
kind = "revolute"
parent = "ground"
child = "rocker"
axis = [0, 0, 1]
at = [0.7, 0, 0]

[initial]
q.A = 0.8

[simulation]
method = "rk4"
step = 0.01
span = [0, 1]
"""
