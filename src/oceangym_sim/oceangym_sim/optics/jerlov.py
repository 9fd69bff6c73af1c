"""Tabulated optics of Jerlov's water types, with their sources.

All values are per metre at 600, 650; 525, 550; 450, 475 nm: two wavelengths a channel (R; G; B).

Diffuse attenuation Kd, which types are defined by:
    I-1C: Austin and Petzold 1986 (Opt. Eng. 25(3), 471), 3C-9C: Jerlov 1976, Marine Optics, Table
    XXVII.
Absorption a and scattering b, which Kd does not determine:
    IB-5C: Williamson and Hollins 2022 (Appl. Opt. 61, 9951), from measurements.
    I, IA, 7C, 9C: Solonenko and Mobley 2015 (Appl. Opt. 54, 5392), by inversion of Kd; type I is
    almost pure sea water. (For IB they find b = 0.054 at 550 nm where 0.122 was measured.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import unknown_name

Array = NDArray[np.float64]
_Row = tuple[float, float, float, float, float, float]

KD: dict[str, _Row] = {
    'I': (0.2408, 0.3559, 0.0504, 0.0640, 0.0176, 0.0184),
    'IA': (0.2437, 0.3601, 0.0545, 0.0674, 0.0257, 0.0250),
    'IB': (0.2471, 0.3652, 0.0596, 0.0715, 0.0355, 0.0330),
    'II': (0.2595, 0.3837, 0.0779, 0.0863, 0.0714, 0.0620),
    'III': (0.2826, 0.4181, 0.1120, 0.1139, 0.1381, 0.1160),
    '1C': (0.3057, 0.4525, 0.1461, 0.1415, 0.2048, 0.1700),
    '3C': (0.33, 0.46, 0.20, 0.19, 0.39, 0.29),
    '5C': (0.40, 0.54, 0.31, 0.30, 0.56, 0.43),
    '7C': (0.48, 0.63, 0.49, 0.46, 0.89, 0.71),
    '9C': (0.60, 0.76, 0.78, 0.63, 1.60, 1.23),
}
ABSORPTION: dict[str, _Row] = {
    'I': (0.228, 0.334, 0.046, 0.062, 0.018, 0.019),
    'IA': (0.228, 0.334, 0.0468, 0.0622, 0.0221, 0.0216),
    'IB': (0.227, 0.335, 0.0516, 0.0655, 0.0407, 0.0372),
    'II': (0.231, 0.338, 0.0609, 0.0724, 0.0623, 0.0544),
    'III': (0.241, 0.351, 0.0821, 0.0878, 0.112, 0.0941),
    '1C': (0.248, 0.359, 0.0972, 0.0988, 0.148, 0.121),
    '3C': (0.268, 0.379, 0.132, 0.128, 0.200, 0.166),
    '5C': (0.285, 0.402, 0.174, 0.159, 0.313, 0.243),
    '7C': (0.301, 0.403, 0.233, 0.195, 0.542, 0.388),
    '9C': (0.390, 0.456, 0.430, 0.348, 0.943, 0.709),
}
SCATTERING: dict[str, _Row] = {
    'I': (0.00122, 0.000899, 0.00205, 0.0017, 0.00381, 0.00306),
    'IA': (0.00283, 0.00234, 0.00402, 0.00354, 0.00631, 0.00536),
    'IB': (0.118, 0.114, 0.125, 0.122, 0.135, 0.131),
    'II': (0.170, 0.164, 0.181, 0.177, 0.195, 0.190),
    'III': (0.278, 0.271, 0.292, 0.287, 0.309, 0.303),
    '1C': (0.416, 0.405, 0.433, 0.427, 0.455, 0.447),
    '3C': (0.627, 0.612, 0.654, 0.644, 0.686, 0.675),
    '5C': (1.16, 1.13, 1.21, 1.19, 1.27, 1.25),
    '7C': (2.03, 1.77, 2.54, 2.35, 3.30, 3.01),
    '9C': (2.69, 2.35, 3.38, 3.12, 4.39, 4.01),
}
JERLOV_TYPES = tuple(KD)


def channels(table: dict[str, _Row], jerlov: str) -> Array:
    """Return a type's R, G, B coefficients [1/m], (3,), each the mean of its two wavelengths.

    Raises:
        OceanGymError: There is no such type.
    """
    if jerlov not in table:
        raise unknown_name('Jerlov water type', jerlov, JERLOV_TYPES)
    values: Array = np.asarray(table[jerlov]).reshape(3, 2).mean(axis=1)
    return values
