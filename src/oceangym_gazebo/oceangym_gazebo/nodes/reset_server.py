"""The services ``sim/reset`` and ``sim/observe`` beside a Gazebo session."""

from __future__ import annotations

from collections.abc import Callable
import math

from oceangym_msgs.srv import Observe, Reset
from rclpy.clock import Clock
from rclpy.node import Node
from rclpy.task import Future

from oceangym_core.config.options import RunOptions
from oceangym_core.config.waters import load_profile
from oceangym_core.contract.frames import FrameShift
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import pose_of_message, stamp_of
from oceangym_core.world.world import Bounds
from oceangym_gazebo.nodes.gazebo_services import ModelMover
from oceangym_gazebo.session.bridge import NAMESPACE
from oceangym_gazebo.session.vehicle import BridgedVehicle
from oceangym_sim.requests import Refusal, RefusedError, ResetRequest

# Gazebo needs a few of its steps to move a model.
ARRIVAL_S = 5.0
EVERYWHERE = Bounds(lower=(-math.inf,) * 3, upper=(math.inf,) * 3)


class ResetServer:
    """Lets Gazebo put the vehicle at a start; the episode begins once it has arrived there.

    Args:
        node: The services' node.
        vehicle: Whose episodes these are.
        mover: Asks Gazebo.
        options: Of the run.
        clock: Steady.
        began: Told of an episode that has begun.
    """

    def __init__(
        self,
        node: Node,
        *,
        vehicle: BridgedVehicle,
        mover: ModelMover,
        options: RunOptions,
        clock: Clock,
        began: Callable[[ResetRequest], None],
    ) -> None:
        self._vehicle, self._mover, self._options = vehicle, mover, options
        self._clock, self._began = clock, began
        self._awaited: tuple[ResetRequest, Future, float] | None = None
        node.create_service(Reset, 'sim/reset', self._on_reset)
        node.create_service(Observe, 'sim/observe', self._on_observe)

    @property
    def waiting(self) -> bool:
        """Whether Gazebo has been asked and the vehicle is on its way."""
        return self._awaited is not None

    def look(self) -> None:
        """Begin the episode that was asked for if the vehicle is at its start, or give up."""
        if self._awaited is None:
            return
        request, arrived, until = self._awaited
        problem: RefusedError | None = None
        try:
            self._vehicle.reset(request)
            self._began(request)
        except RefusedError as error:
            if error.code is Refusal.BAD_START and self._seconds() < until:
                return
            problem = error
        self._awaited = None
        arrived.set_result(problem)

    async def _on_reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        try:
            wanted = self._read(request)
        except OceanGymError as error:
            return _refuse(response, Reset.Response.UNKNOWN_PROFILE, str(error))
        if self._vehicle.busy or self.waiting:
            why = 'a maneuver or another reset is running; wait for its end or cancel it'
            return _refuse(response, Reset.Response.BUSY, why)
        if self._mover.obstacle:
            why = f'the vehicle cannot be put at a start: {self._mover.obstacle}'
            return _refuse(response, Reset.Response.BAD_START, why)
        answer = await self._mover.move(wanted.start)
        if not answer.success:
            why = f'Gazebo did not put the model {NAMESPACE!r} there; is it spawned?'
            return _refuse(response, Reset.Response.BAD_START, why)
        arrived = Future()
        self._awaited = (wanted, arrived, self._seconds() + ARRIVAL_S)
        problem: RefusedError | None = await arrived
        if problem is not None:
            code = getattr(Reset.Response, problem.code.value, Reset.Response.BAD_START)
            return _refuse(response, code, str(problem))
        assert self._vehicle.estimate is not None
        response.stamp = stamp_of(self._vehicle.estimate.stamp)
        return response

    def _read(self, request: Reset.Request) -> ResetRequest:
        profile = load_profile(request.profile, self._options.config_dirs)
        low, high, nav = request.lower, request.upper, self._options.nav
        bounds = Bounds(lower=(low.x, low.y, low.z), upper=(high.x, high.y, high.z))
        if bounds.lower == bounds.upper:
            bounds = EVERYWHERE
        return ResetRequest(
            start=pose_of_message(request.start),
            seed=request.seed,
            t_max=request.t_max,
            t_interval=request.t_interval,
            profile=profile,
            bounds=bounds,
            navigation=profile.nav if nav == 'auto' else nav,
            targets=tuple(request.targets),
            shift=FrameShift(*(float(v) for v in request.shift)),
        )

    def _on_observe(
        self, request: Observe.Request, response: Observe.Response
    ) -> Observe.Response:
        response.error_code = Observe.Response.NOT_RESET
        response.error_msg = (
            'beside Gazebo there is no observation to publish again: its sensors send images once '
            'a second, and the last of each is kept for late joiners'
        )
        return response

    def _seconds(self) -> float:
        return float(self._clock.now().nanoseconds) * 1e-9


def _refuse(response: Reset.Response, code: int, message: str) -> Reset.Response:
    response.error_code, response.error_msg = code, message
    return response
