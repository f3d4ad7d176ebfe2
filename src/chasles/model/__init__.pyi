from chasles.model.joint import Joint as Joint
from chasles.model.joint import denavit_hartenberg as denavit_hartenberg
from chasles.model.transmission import gear_pair as gear_pair
from chasles.model.transmission import lead_screw as lead_screw
from chasles.model.transmission import planetary_gear as planetary_gear
from chasles.model.transmission import rack_and_pinion as rack_and_pinion
