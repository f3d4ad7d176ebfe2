from chasles.screw.shape import Box as Box
from chasles.screw.shape import Capsule as Capsule
from chasles.screw.shape import Cylinder as Cylinder
from chasles.screw.shape import Ellipsoid as Ellipsoid
from chasles.screw.shape import Mesh as Mesh
from chasles.screw.shape import Sphere as Sphere
