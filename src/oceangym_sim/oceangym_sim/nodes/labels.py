"""Publishes the cameras' ground truth, where a simulator makes it (parameter ``labels``)."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.publisher import Publisher
from sensor_msgs.msg import Image
from std_msgs.msg import String

from oceangym_core.contract.topics import LABEL_CLASSES, label_streams
from oceangym_core.nodes.conversions import header_of
from oceangym_core.nodes.node import publish_stream
from oceangym_sim.nodes.conversions import camera_frame
from oceangym_sim.optics.labels import CameraTruth, Labeller


class LabelPublishers:
    """The topics ``truth/camera/<dir>/*`` of a backend's cameras.

    Args:
        node: The publishers' node.
        directions: Of the cameras.
    """

    def __init__(self, node: Node, directions: tuple[str, ...]) -> None:
        self._classes = publish_stream(node, LABEL_CLASSES)
        self._topics: dict[str, Publisher] = {
            s.name: publish_stream(node, s) for d in directions for s in label_streams(d)
        }

    def names(self, labeller: Labeller) -> None:
        """Publish what the numbers in the images stand for."""
        names = {'classes': labeller.classes, 'instances': labeller.instances}
        self._classes.publish(String(data=json.dumps(names)))

    def instant(self, labels: dict[str, CameraTruth], *, stamp: float) -> None:
        """Publish the truth of all cameras of one instant."""
        for direction, truth in labels.items():
            frame = camera_frame(direction)
            depth, classes, instance, normal, boxes = (s.name for s in label_streams(direction))
            for name, array, encoding in (
                (depth, truth.depth, '32FC1'),
                (classes, truth.segmentation, 'mono8'),
                (instance, truth.instance, 'mono16'),
                (normal, truth.normal, '32FC3'),
            ):
                self._topics[name].publish(
                    label_message(array, encoding=encoding, stamp=stamp, frame=frame)
                )
            self._topics[boxes].publish(
                String(
                    data=json.dumps(
                        {
                            'stamp': stamp,
                            'frame_id': frame,
                            'boxes': [box.as_dict() for box in truth.boxes],
                        }
                    )
                )
            )


def label_message(array: NDArray[np.generic], *, encoding: str, stamp: float, frame: str) -> Image:
    """Return an image message of a label array, (H, W) or (H, W, C), little-endian."""
    height, width = array.shape[:2]
    data = np.ascontiguousarray(array)
    message = Image(
        header=header_of(stamp, frame),
        height=height,
        width=width,
        encoding=encoding,
        step=data.nbytes // height,
    )
    message.data = data.astype(data.dtype.newbyteorder('<')).tobytes()
    return message
