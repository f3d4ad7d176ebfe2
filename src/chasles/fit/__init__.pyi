from chasles.fit.by_regression import to_torques as to_torques
from chasles.fit.by_simulation import to_data as to_data
from chasles.fit.cutting import pieces as pieces
from chasles.fit.exciting import excitation as excitation
from chasles.fit.problem import Experiment as Experiment
from chasles.fit.sensor import Sensor as Sensor
from chasles.fit.unknown import Unknown as Unknown
