from dataclasses import replace

import numpy as np
import pytest

from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.geometry import Pose
from oceangym_sim.sonar.fan import DYNAMIC_RANGE_DB, FanProjector, ring_ranges, to_grey

SPEC = SonarSpec(
    direction='front',
    mount=Pose.of((0, 0, 0), sonar_orientation('front')),
    range_min=1.0,
    range_max=40.0,
    range_bins=256,
    beams=256,
)


def lit(spec: SonarSpec, beams: slice, bins: slice) -> np.ndarray:
    """Return where the fan differs when some cells are at full scale."""
    projector = FanProjector(spec)
    polar = np.zeros((spec.range_bins, spec.beams), np.float32)
    empty = projector.render(polar)
    polar[bins, beams] = 1.0
    return projector.render(polar) != empty


@pytest.mark.parametrize('aperture_deg', [60.0, 120.0, 180.0, 270.0])
def test_both_edge_beams_lie_inside(aperture_deg: float) -> None:
    spec = replace(SPEC, azimuth_aperture=float(np.deg2rad(aperture_deg)))
    projector = FanProjector(spec)
    for azimuth in spec.azimuths[[0, -1]]:
        column, row = projector.pixel(spec.range_max, float(azimuth))
        assert 0 <= column < projector.width
        assert 0 <= row < projector.height
    for beam in (0, spec.beams - 1):
        shown = lit(spec, slice(beam, beam + 1), slice(None))
        rows, columns = np.nonzero(shown)
        reach = np.hypot(rows + 0.5 - projector.apex[1], columns + 0.5 - projector.apex[0])
        assert reach.max() / projector.pixels_per_metre == pytest.approx(spec.range_max, rel=0.01)


def test_port_is_left_and_near_is_at_the_apex() -> None:
    projector = FanProjector(SPEC)
    port = lit(SPEC, slice(0, 100), slice(None))
    assert np.nonzero(port)[1].max() < projector.width / 2
    near = lit(SPEC, slice(None), slice(0, 20))
    far = lit(SPEC, slice(None), slice(-20, None))
    assert np.nonzero(near)[0].min() > np.nonzero(far)[0].min()


@pytest.mark.parametrize(('distance', 'azimuth_deg'), [(10.0, 30.0), (25.0, -50.0), (39.0, 0.0)])
def test_a_cell_lands_at_its_range_and_azimuth(distance: float, azimuth_deg: float) -> None:
    azimuth = np.deg2rad(azimuth_deg)
    row = int((distance - SPEC.range_min) / SPEC.range_resolution)
    beam = int(np.abs(SPEC.azimuths - azimuth).argmin())
    shown = lit(SPEC, slice(beam - 1, beam + 2), slice(row - 1, row + 2))
    rows, columns = np.nonzero(shown)
    column, line = FanProjector(SPEC).pixel(distance, azimuth)
    assert columns.mean() + 0.5 == pytest.approx(column, abs=2.0)
    assert rows.mean() + 0.5 == pytest.approx(line, abs=2.0)


def test_grey_is_linear_in_decibels() -> None:
    levels = np.array([0.0, -DYNAMIC_RANGE_DB / 2, -DYNAMIC_RANGE_DB, -90.0])
    grey = to_grey((10 ** (levels / 10)).astype(np.float32)[:, None]).ravel()
    assert grey.tolist() == pytest.approx([255, 128, 0, 0], abs=1)


def test_rings_are_optional() -> None:
    polar = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    plain, ringed = (FanProjector(SPEC, rings=rings).render(polar) for rings in (False, True))
    assert plain.shape == ringed.shape
    # Only echoes: one grey level inside the fan, black outside.
    assert len(np.unique(plain)) == 2
    assert (ringed >= plain).all()
    assert (ringed != plain).any()


@pytest.mark.parametrize('range_max', [0.9, 3.0, 10.0, 30.0, 40.0, 120.0, 900.0])
def test_rings_are_few_and_inside(range_max: float) -> None:
    rings = ring_ranges(range_max)
    assert 1 <= len(rings) <= 6
    assert max(rings) <= range_max
