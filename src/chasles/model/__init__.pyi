from chasles.model.joint import Joint as Joint
from chasles.model.joint import denavit_hartenberg as denavit_hartenberg
