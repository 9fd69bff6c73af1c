"""Self-test of a ray tracing device: a tiny picture and a ping, compared with closed forms.

``python -m oceangym_sim.selftest [cpu|cuda]`` prints one line of JSON with figures and faults.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
import math
from pathlib import Path
import sys
import tempfile

from oceangym_core.errors import OceanGymError
from oceangym_sim.rays.device_check import trust_cuda

# What the shipped world takes on a GPU, with room for the frames [bytes].
SCENE_BYTES = 1536 * 2**20
# A card that fills the view at this range, and a wall that a sonar looks at square [m].
CARD_RANGE, WALL_RANGE = 3.0, 10.0
# Tolerances: range [m], light (share of the closed form), echo level [dB], echo range [bins].
# GPUs round exp, log and sin at the 22nd bit, and contract products and sums.
RANGE_TOLERANCE, LIGHT_TOLERANCE, LEVEL_TOLERANCE, BIN_TOLERANCE = 1e-3, 5e-3, 0.2, 1.0

_HEADER = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'
_ALBEDO, _STRENGTH_DB = 0.9, -8.0
_DEPTH = 6.0


def run_trial(device: str) -> tuple[dict[str, str], list[str]]:
    """Return figures and faults of a picture and a ping made on a device.

    Args:
        device: ``cpu`` or ``cuda``.
    """
    if device == 'cuda':
        trust_cuda()
    from oceangym_core.world.world import load_world
    from oceangym_sim.rays.device import select_variant

    select_variant(device)
    # The variant must be chosen before anything that uses it is imported.
    import drjit as dr
    import mitsuba as mi
    import numpy as np

    from oceangym_core.contract.actions import optical_orientation, sonar_orientation
    from oceangym_core.contract.observation import CameraSpec, SonarSpec
    from oceangym_core.geometry import Pose
    from oceangym_sim.optics.rig import CameraRig
    from oceangym_sim.optics.water import WaterOptics
    from oceangym_sim.rays.scene import RayScene
    from oceangym_sim.sonar.rig import SonarRig

    faults: list[str] = []

    def expect(what: str, value: float, wanted: float, tolerance: float) -> None:
        # A comparison with NaN is false.
        if not abs(value - wanted) <= tolerance:
            faults.append(f'{what} is {value:.6g} instead of {wanted:.6g}')

    if device == 'cuda':
        # An opaque value is stored at once, a literal only on use.
        room = dr.opaque(mi.UInt32, 1, SCENE_BYTES // 4)
        dr.eval(room)
        dr.sync_thread()
        del room
        dr.flush_malloc_cache()
    with tempfile.TemporaryDirectory(prefix='oceangym-device-') as folder:
        scene = RayScene(load_world(_write_tank(Path(folder))), device=device)

    # A white card, upright, lit by the diffuse share of what comes from above: see the optics.
    water = WaterOptics(jerlov='IB', snow=0.0)
    camera = CameraSpec(
        direction='front', mount=Pose.of((0, 0, 0), optical_orientation('front')), width=33,
        height=33,
    )  # fmt: skip
    rig = CameraRig(scene=scene, specs=(camera,), optics=water, lamps=(), seed=0)
    pose = Pose.of((-CARD_RANGE, 0.0, -_DEPTH))
    light = rig.measure(pose=pose, lamp_level=0.0)['front']
    expect('the range of a card', float(light.distance[16, 16]), CARD_RANGE, RANGE_TOLERANCE)
    lighting = water.irradiance(-_DEPTH) * (1.0 - water.sun_share(-_DEPTH))
    lighting = lighting * (0.06 + 0.94 * 0.5**1.5)
    own = _ALBEDO / math.pi * lighting * np.exp(-water.direct_attenuation * CARD_RANGE)
    veil = water.veiling_light(-_DEPTH, 0.0, CARD_RANGE)
    for channel, name in enumerate(('red', 'green', 'blue')):
        for what, values, wanted in (
            ('light', light.direct, own[channel]),
            ('light with its veil', light.total, own[channel] + veil[channel]),
        ):
            expect(
                f"the card's {name} {what}",
                float(values[16, 16, channel]),
                float(wanted),
                LIGHT_TOLERANCE * float(wanted),
            )
    frames = [rig.render(pose=pose, index=3, lamp_level=0.0)['front'].image for _ in range(2)]
    if not (frames[0] == frames[1]).all():
        faults.append('two pictures of one observation differ')
    # Well exposed, whatever the exposure's constants are.
    expect('the mean of a picture', float(frames[0].mean()), 127.5, 115.0)

    sonar = SonarSpec(
        direction='front', mount=Pose.of((0, 0, 0), sonar_orientation('front')), range_min=1.0,
        range_max=20.0, beams=33, elevation_aperture=math.radians(2.0),
        preset='oceangym_decision',
    )  # fmt: skip
    ears = SonarRig(scene=scene, specs=(sonar,), seed=0)
    place = Pose.of((-WALL_RANGE, 0.0, -30.0))
    ping = ears.observe(pose=place, index=0)['front']
    assert ping.mean is not None
    beam = sonar.beams // 2
    bins = (WALL_RANGE - sonar.range_min) / (sonar.range_max - sonar.range_min) * sonar.range_bins
    expect("the wall's echo's bin", float(ping.mean[:, beam].argmax()), bins, BIN_TOLERANCE + 0.5)
    # 20 log r and the absorption there and back: the echo of what the beam covers.
    level = 10.0 * math.log10(max(float(ping.power[:, beam].sum()), 1e-30))
    loss = 20.0 * math.log10(WALL_RANGE) + 2.0 * ears.formers[0].absorption * WALL_RANGE
    expect("the wall's echo [dB]", level, _STRENGTH_DB - loss, LEVEL_TOLERANCE)
    figures = {
        'variant': mi.variant(),
        'card': f'{float(light.total[16, 16, 1]):.6g} lux/sr',
        'echo': f'{level:.3f} dB',
    }
    return figures, faults


def _write_tank(folder: Path) -> Path:
    """Write a world of one wall, whose face stands at x = 0 and looks west; return its file."""
    model = folder / 'models' / 'wall'
    model.mkdir(parents=True)
    (model / 'model.sdf').write_text(
        f'{_HEADER}<model name="wall"><link name="l"><visual name="v"><geometry><box>'
        '<size>1 200 200</size></box></geometry><material>'
        f'<diffuse>{_ALBEDO} {_ALBEDO} {_ALBEDO} 1</diffuse></material>'
        f'<oceangym:acoustic material="steel" strength_db="{_STRENGTH_DB}"/>'
        '</visual></link></model></sdf>'
    )
    path = folder / 'tank.sdf'
    path.write_text(
        f'{_HEADER}<world name="tank"><oceangym:bounds><min>-200 -200 -200</min>'
        '<max>200 200 5</max></oceangym:bounds><include><uri>model://wall</uri>'
        '<name>wall</name><pose>0.5 0 -50 0 0 0</pose></include></world></sdf>'
    )
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the trial in this process and print its result as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('device', nargs='?', default='cuda', choices=('cpu', 'cuda'))
    device = parser.parse_args(arguments).device
    try:
        figures, faults = run_trial(device)
    except OceanGymError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({'figures': figures, 'faults': faults}))
    return 0


if __name__ == '__main__':
    sys.exit(main())
