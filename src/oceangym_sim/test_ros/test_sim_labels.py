"""The cameras' ground truth as messages."""

import json

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from rclpy.node import Node
from std_msgs.msg import String

from oceangym_core.contract.topics import CONTRACT, Delivery, LABEL_CLASSES, label_streams
from oceangym_core.nodes.qos import reader_qos
from oceangym_sim.nodes.labels import label_message, LabelPublishers
from oceangym_sim.optics.labels import Box, CameraTruth

BOX = Box(
    instance='wreck', prop_class='sunken_ship', label='SUNKEN SHIP', pixels=12, left=1, top=2,
    right=4, bottom=6, centre=(0.0, 1.0, 9.0), size=(3.0, 2.0, 1.0),
    orientation=(0.0, 0.0, 0.0, 1.0), distance=8.5,
)  # fmt: skip


@pytest.mark.parametrize(
    ('array', 'encoding', 'bytes_a_pixel'),
    [
        (np.arange(12, dtype=np.float32).reshape(3, 4), '32FC1', 4),
        (np.arange(12, dtype=np.uint8).reshape(3, 4), 'mono8', 1),
        (np.arange(12, dtype=np.uint16).reshape(3, 4), 'mono16', 2),
        (np.arange(36, dtype=np.float32).reshape(3, 4, 3), '32FC3', 12),
    ],
)
def test_arrays_become_images(array: np.ndarray, encoding: str, bytes_a_pixel: int) -> None:
    message = label_message(array, encoding=encoding, stamp=1.5, frame='f')
    assert (message.height, message.width, message.encoding) == (3, 4, encoding)
    assert message.step == 4 * bytes_a_pixel
    back = np.frombuffer(message.data, array.dtype).reshape(array.shape)
    assert np.array_equal(back, array)
    assert (message.header.stamp.sec, message.header.frame_id) == (1, 'f')


def test_labels_are_truth_and_no_part_of_what_every_backend_owes() -> None:
    streams = (*label_streams('front'), LABEL_CLASSES)
    assert all(s.is_truth for s in streams)
    assert not {s.name for s in streams} & {s.name for s in CONTRACT}


def test_boxes_arrive_as_json() -> None:
    rclpy.init()
    node = Node('labels')
    try:
        out = LabelPublishers(node, ('front',))
        heard: list[str] = []
        name = label_streams('front')[4].name
        node.create_subscription(
            String, name, lambda m: heard.append(m.data), reader_qos(Delivery.FROZEN)
        )
        image = np.zeros((3, 4), np.float32)
        truth = CameraTruth(
            depth=image, segmentation=image.astype(np.uint8), instance=image.astype(np.uint16),
            normal=np.zeros((3, 4, 3), np.float32), boxes=(BOX,),
        )  # fmt: skip
        out.instant({'front': truth}, stamp=2.0)
        for _ in range(100):
            if heard:
                break
            rclpy.spin_once(node, timeout_sec=0.1)
        sent = json.loads(heard[0])
        assert sent['stamp'] == 2.0
        assert sent['frame_id'] == 'camera_front_optical_frame'
        assert sent['boxes'][0]['label'] == 'SUNKEN SHIP'
        assert sent['boxes'][0]['centre'] == [0.0, 1.0, 9.0]
    finally:
        node.destroy_node()
        rclpy.shutdown()
