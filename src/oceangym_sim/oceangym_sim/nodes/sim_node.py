"""A simulated backend of the contract: one vehicle, embedded physics unless another engine is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
from pathlib import Path
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TwistStamped
from oceangym_msgs.srv import Observe, Reset
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from std_msgs.msg import Float32

from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import EndReason, LOCKSTEP, REALTIME
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import ManeuverResult
from oceangym_core.contract.topics import stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import header_of, pose_of_message, stamp_of
from oceangym_core.nodes.node import ContractNode, declare, declare_options, read_stream, run_node
from oceangym_core.world.world import Bounds, load_world, world_path
from oceangym_sim.backend import EMBEDDED, Engine
from oceangym_sim.nodes.maneuver_server import ManeuverServer, VelocityReceiver
from oceangym_sim.nodes.publishers import Publishers
from oceangym_sim.rays.device import choose_device
from oceangym_sim.requests import RefusedError, ResetRequest, SimulatorOptions, TickOutput
from oceangym_sim.simulator import Simulator

# Ticks between two looks at services and cancel requests: half a second in lockstep.
TICKS_PER_SLICE = 10
FROZEN_CLOCK_S = 0.1
REALTIME_IMAGES_S = 1.0
# A set of images may take this long [s of wall time] and be caught up with before the next one; a
# simulation that lags more slows down instead of running after its own lag.
MAX_LAG_S = 1.0
# Below this share of its charge the battery is worth a warning.
LOW_BATTERY = 0.2


class SimNode(ContractNode):
    """Ticks the simulator between callbacks: all is done in one thread, in a fixed order.

    Args:
        make_engine: Returns the engine for a world file and the run's options.
    """

    def __init__(
        self, make_engine: Callable[[Path, RunOptions], Engine] = lambda world, options: EMBEDDED
    ) -> None:
        super().__init__('simulator')
        options = declare_options(self)
        world = str(declare(self, 'world', '', "World file; '': the task's."))
        camera_size = int(
            declare(self, 'camera_size', 0, "Side of camera images [px]; 0: the vehicle's own.")  # type: ignore[call-overload]
        )
        labels = bool(
            declare(self, 'labels', False, 'Publish ground truth of the cameras.')  # type: ignore[call-overload]
        )
        motion_blur = float(
            declare(self, 'motion_blur', 0.0, 'Exposure that the vehicle blurs [s]; 0: none.')  # type: ignore[arg-type]
        )
        self._options = options
        task = TaskRegistry.load(options.config_dirs).get(options.task)
        world_file = Path(world) if world else world_path(task.world_source)
        self._simulator = Simulator(
            world=load_world(world_file),
            engine=make_engine(world_file, options),
            options=SimulatorOptions(
                water=load_water(options.water, options.config_dirs),
                sensors=options.resolved_sensors,
                device=options.device,
                sonar_device=options.sonar_device,
                sonar_mount=options.sonar_mount,
                image_size=camera_size or None,
                timing=LOCKSTEP if options.mode == 'lockstep' else REALTIME,
                labels=labels,
                motion_blur=motion_blur,
            ),
        )
        if options.resolved_sensors != 'none':
            self.get_logger().info(choose_device(options.device)[1])
        self._lockstep = options.mode == 'lockstep'
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._out = Publishers(self, self._simulator, mode=options.mode)
        self._next_tick: float | None = None
        self._next_images = math.inf

        self.create_service(Reset, 'sim/reset', self._on_reset)
        self.create_service(Observe, 'sim/observe', self._on_observe)
        read_stream(self, stream('cmd_vel'), self._on_velocity)
        read_stream(self, stream('lights'), self._on_lights)
        self._maneuvers = ManeuverServer(
            self, self._simulator.start_maneuver, actions=options.actions
        )
        self._velocities = VelocityReceiver(self, self._wall, self._simulator.set_velocity)
        self.create_timer(FROZEN_CLOCK_S, self._keep_clock, clock=self._wall)
        self.create_timer(1.0, self._diagnose, clock=self._wall)
        self._out.publish_static()

    def close(self) -> None:
        """Let go of the engine."""
        self._simulator.engine.close()

    # -- time -------------------------------------------------------------------------------------

    def work(self) -> float:
        """Advance simulation time; return how long to wait for callbacks [s]."""
        if self._maneuvers.cancel_requested and self._simulator.busy:
            self._land(self._simulator.preempt(), done=())
        if self._lockstep:
            if not self._simulator.busy:
                return super().work()
            for _ in range(TICKS_PER_SLICE):
                if not self._simulator.busy:
                    break
                self._tick()
            return 0.0
        return self._work_realtime()

    def _work_realtime(self) -> float:
        """Keep up with wall time times the real-time factor."""
        simulator = self._simulator
        if self._next_tick is None or simulator.ended is not None:
            return super().work()
        self._next_tick = max(self._next_tick, self._seconds() - MAX_LAG_S)
        for _ in range(TICKS_PER_SLICE):
            if self._next_tick > self._seconds() or simulator.ended is not None:
                break
            self._tick()
            self._next_tick += simulator.timing.tick / self._options.rtf
            if simulator.clock >= self._next_images:
                # Due times are sums of the period: however late a tick comes, none is skipped.
                self._next_images += REALTIME_IMAGES_S
                self._take_images()
                break
        return min(max(self._next_tick - self._seconds(), 0.0), FROZEN_CLOCK_S)

    def _take_images(self) -> None:
        """Publish the images of this tick, unless a maneuver that ended on it has done so."""
        observation = self._simulator.observation
        assert observation is not None
        if observation.stamp < self._simulator.clock:
            self._out.instant(self._simulator.refresh())

    def _tick(self) -> None:
        output = self._simulator.tick()
        self._out.tick(output)
        if output.finished is not None:
            self._land(output.finished, done=_brought(output))
        else:
            self._maneuvers.feedback(output.stamp, output.progress, output.applied)

    def _land(self, result: ManeuverResult, done: tuple[str, ...]) -> None:
        """Publish the instant that a maneuver ended in, then let its result go out."""
        simulator = self._simulator
        assert simulator.observation is not None
        assert simulator.truth is not None
        self._out.clock()
        self._out.instant(simulator.observation, done=done)
        if 'truth' not in done:
            self._out.truth_now()
        self._out.step(simulator.truth, simulator.observation.navigation, result)
        # The action tells simulation time, the record the episode's.
        landed = replace(result, t_end=self._out.time(result.t_end))
        self._maneuvers.land(landed, simulator.observation.index)

    def _keep_clock(self) -> None:
        """While time stands still, repeat it for those who have just come."""
        if self._simulator.request is not None and not self._simulator.busy:
            self._out.clock()

    # -- requests ---------------------------------------------------------------------------------

    def _on_reset(self, request: Reset.Request, response: Reset.Response) -> Reset.Response:
        simulator = self._simulator
        try:
            profile = load_profile(request.profile, self._options.config_dirs)
        except OceanGymError as error:
            response.error_code = Reset.Response.UNKNOWN_PROFILE
            response.error_msg = str(error)
            return response
        low, high = request.lower, request.upper
        bounds = Bounds(lower=(low.x, low.y, low.z), upper=(high.x, high.y, high.z))
        if bounds.lower == bounds.upper:
            bounds = simulator.world.bounds
        nav = self._options.nav
        try:
            observation = simulator.reset(
                ResetRequest(
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
            )
        except RefusedError as error:
            response.error_code = getattr(Reset.Response, error.code.value)
            response.error_msg = str(error)
            return response
        assert simulator.truth is not None
        self._out.start_episode()
        self._out.clock()
        self._out.begin()
        self._out.instant(observation)
        self._out.truth_now()
        self._out.step(simulator.truth, observation.navigation, None)
        self._diagnose()
        self._next_tick = self._seconds()
        self._next_images = simulator.clock + REALTIME_IMAGES_S
        response.stamp = stamp_of(self._out.time(observation.stamp))
        return response

    def _on_observe(
        self, request: Observe.Request, response: Observe.Response
    ) -> Observe.Response:
        observation = self._simulator.observation
        if observation is None:
            response.error_code = Observe.Response.NOT_RESET
            response.error_msg = 'there is no observation yet; call sim/reset first'
            return response
        self._out.instant(observation, repeated=True)
        response.step = observation.index
        response.stamp = stamp_of(self._out.time(observation.stamp))
        return response

    def _on_velocity(self, message: TwistStamped) -> None:
        if self._lockstep:
            self.get_logger().warning(
                'cmd_vel is refused in lockstep mode: send maneuvers, or start with mode:=realtime',
                throttle_duration_sec=5.0,
                throttle_time_source_type=self._wall,
            )
            return
        self._velocities(message)

    def _on_lights(self, message: Float32) -> None:
        if not 0.0 <= message.data <= 1.0:
            self.get_logger().warning(f'lights {message.data} refused; allowed: 0 .. 1')
            return
        self._simulator.lamp_level = float(message.data)

    # -- health -----------------------------------------------------------------------------------

    def _diagnose(self) -> None:
        request = self._simulator.request
        values: dict[str, Any] = {
            'mode': self._options.mode,
            'sensors': self._options.resolved_sensors,
            'profile': 'none' if request is None else request.profile.id,
            'current': 'off' if request is None else f'{request.profile.current.speed:g} m/s',
            'maneuver': 'running' if self._simulator.busy else 'none',
            'ended': self._simulator.ended.value if self._simulator.ended else 'no',
        }
        level, message = self._health()
        status = DiagnosticStatus(
            level=level,
            name=f'{self.get_fully_qualified_name()}: {self._simulator.engine.name} simulator',
            message=message,
            hardware_id=self._simulator.engine.name,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        self._out.diagnostics(
            DiagnosticArray(header=header_of(self._out.now, 'base_link'), status=[status])
        )

    def _health(self) -> tuple[bytes, str]:
        """Return the level of the worst problem, and all of them in words."""
        simulator = self._simulator
        observation = simulator.observation
        if simulator.request is None or observation is None:
            return DiagnosticStatus.OK, 'waiting for a reset'
        charge = observation.navigation.battery
        lag = 0.0 if self._next_tick is None else self._seconds() - self._next_tick
        silent = [d for d, ping in observation.sonars.items() if not ping.polar.any()]
        errors = [f'sonar {", ".join(silent)} silent'] if silent else []
        if simulator.ended is EndReason.BATTERY:
            errors.append('battery empty')
        warnings = [f'battery at {charge:.0%}'] if 0.0 < charge < LOW_BATTERY else []
        if not self._lockstep and simulator.ended is None and lag > MAX_LAG_S / 2:
            warnings.append(f'slower than {self._options.rtf:g} times real time')
        if errors:
            return DiagnosticStatus.ERROR, '; '.join([*errors, *warnings])
        if warnings:
            return DiagnosticStatus.WARN, '; '.join(warnings)
        return DiagnosticStatus.OK, 'ok'

    def _seconds(self) -> float:
        return self._wall.now().nanoseconds * 1e-9


def _brought(output: TickOutput) -> tuple[str, ...]:
    """Return the streams of the instant that a tick has published."""
    found = {
        'odometry': output.navigation,
        'altitude': output.altitude,
        'battery': output.battery,
        'truth': output.truth,
    }
    return tuple(name for name, value in found.items() if value is not None)


def main() -> int:
    """Run the node."""
    return run_node(SimNode)


if __name__ == '__main__':
    sys.exit(main())
