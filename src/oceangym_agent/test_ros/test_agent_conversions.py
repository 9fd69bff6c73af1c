"""What an agent's node makes of messages."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point32
from oceangym_msgs.msg import SonarInfo, TaskGoal
from sensor_msgs.msg import Image

from oceangym_agent.nodes.conversions import goal_view, image_array, sonar_spec
from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError

pytestmark = pytest.mark.ros


@pytest.mark.parametrize(
    ('encoding', 'array'),
    [
        ('rgb8', np.arange(24, dtype=np.uint8).reshape(2, 4, 3)),
        ('mono8', np.arange(8, dtype=np.uint8).reshape(2, 4)),
        ('32FC1', np.linspace(0, 1, 8, dtype=np.float32).reshape(2, 4)),
    ],
)
def test_images_come_out_as_they_went_in(encoding, array):
    message = Image(height=2, width=4, encoding=encoding, step=array.nbytes // 2)
    message.data = array.tobytes()
    assert np.array_equal(image_array(message), array)
    assert image_array(message).dtype == array.dtype
    padded = np.pad(np.frombuffer(message.data, np.uint8).reshape(2, -1), ((0, 0), (0, 5)))
    message.step, message.data = padded.shape[1], padded.tobytes()
    assert np.array_equal(image_array(message), array)


def test_a_big_endian_image_is_turned():
    message = Image(height=1, width=2, encoding='32FC1', step=8, is_bigendian=1)
    message.data = np.array([0.25, 3.0], '>f4').tobytes()
    assert image_array(message).tolist() == [[0.25, 3.0]]
    assert image_array(message).dtype == np.float32


def test_another_encoding_is_refused():
    with pytest.raises(OceanGymError, match='bayer'):
        image_array(Image(encoding='bayer_rggb8'))


def test_a_sonar_is_rebuilt_from_its_info():
    message = SonarInfo(
        range_min=1.0,
        range_max=40.0,
        range_resolution=39.0 / 512,
        azimuth=np.linspace(1.0, -1.0, 256).tolist(),
        elevation_aperture=0.35,
        frequency=9e5,
        sound_speed=1480.0,
    )
    message.header.frame_id = 'sonar_left_frame'
    spec = sonar_spec(message)
    assert (spec.direction, spec.range_bins, spec.beams) == ('left', 512, 256)
    assert spec.range_resolution == pytest.approx(39.0 / 512)
    assert spec.azimuths[[0, -1]] == pytest.approx([1.0, -1.0])
    message.header.frame_id = 'base_link'
    with pytest.raises(OceanGymError, match='sonar frame'):
        sonar_spec(message)


def test_the_goal_is_passed_on():
    message = TaskGoal(
        task_id='dock',
        instruction='Dock.',
        target_label='PLATFORM',
        bounds=[Point32(x=1.0, y=2.0), Point32(x=3.0, y=4.0)],
        t_max=600.0,
        t_interval=30.0,
        target_count=1,
    )
    view = goal_view(message)
    assert (view.task_id, view.target_label, view.target_count) == ('dock', 'PLATFORM', 1)
    assert view.bounds == ((1.0, 2.0), (3.0, 4.0))
    assert view.reference_image is None


@pytest.mark.parametrize('name', ['../../../../etc/passwd', '/etc/passwd', 'models/../../x.png'])
def test_a_goal_names_no_picture_outside_its_folders(name, tmp_path):
    with pytest.raises(OceanGymError, match=r'reference_image .* is outside'):
        goal_view(TaskGoal(reference_image=name), [tmp_path])
    mine = tmp_path / 'tasks' / 'mine.png'
    assert goal_view(TaskGoal(reference_image=str(mine)), [tmp_path]).reference_image == mine
    shipped = goal_view(TaskGoal(reference_image='models/x/y.png')).reference_image
    assert shipped == (assets_root() / 'models/x/y.png').resolve()
