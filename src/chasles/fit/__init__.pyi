from chasles.fit.by_simulation import to_data as to_data
from chasles.fit.problem import Experiment as Experiment
from chasles.fit.sensor import Sensor as Sensor
from chasles.fit.unknown import Unknown as Unknown
