"""The shipped vehicle model is what its generator writes."""

from pathlib import Path

from oceangym_worlds.vehicle_model import write_vehicle

SHIPPED = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy'


def test_shipped_model_is_up_to_date(tmp_path):
    written = write_vehicle(tmp_path)
    for name in ('model.sdf', 'model_tilted.sdf', 'model.config'):
        assert (written / name).read_bytes() == (SHIPPED / name).read_bytes()
