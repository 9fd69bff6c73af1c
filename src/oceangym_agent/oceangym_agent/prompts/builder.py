"""From one observation to what a model is asked: text and images, the same for the same input."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, replace
import math
import re
from typing import Any

import cv2
import numpy as np

from oceangym_agent.agent import GoalView
from oceangym_agent.aids.hints import detector_text, suggest
from oceangym_agent.aids.sonar_text import describe_sonars
from oceangym_agent.chat import ChatMessage, ChatRequest, ImagePart, Part, Role, TextPart
from oceangym_agent.memory.coverage import CoverageMap
from oceangym_agent.memory.coverage_image import draw_coverage
from oceangym_agent.memory.tokens import cut_text
from oceangym_agent.models.images import encode, sent_size
from oceangym_agent.prompts.guidance import guidance
from oceangym_agent.prompts.pictures import draw_fan, Image, sheet
from oceangym_agent.prompts.prompt_files import PromptSet
from oceangym_agent.prompts.rehearsal import rehearsal_views
from oceangym_agent.prompts.state import goal_context, reach_m, state_context
from oceangym_agent.prompts.step_view import (
    CoverageInput,
    PromptSettings,
    SonarInput,
    StepView,
)
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.observation import Observation
from oceangym_core.errors import OceanGymError

# Of a reply that could not be understood, as it is shown to the model again.
REPLY_CHARACTERS = 2000
ERROR_CHARACTERS = 3000
PERCEPTION_CHARACTERS = 6000
# Side of a sheet of views over that of one image.
SHEET_SCALE = 2
# The upper row of a sheet reads as a panorama.
SHEET_ORDER = ('left', 'front', 'right', 'back', 'up', 'down')
# Which way is up in an image whose up is not the sea surface (design: sensor axes).
IMAGE_TOP = {'up': 'its top is towards the stern', 'down': 'its top is towards the bow'}

# Where a template wants an image; no text of a model or a person can hold a NUL character.
_MARK = re.compile('\x00image:([a-z0-9_]+)\x00')


def _mark(name: str) -> str:
    return f'\x00image:{name}\x00'


def _plain(text: str) -> str:
    return text.replace('\x00', '')


class PromptBuilder:
    """Builds the requests of one episode.

    Args:
        prompt: The templates.
        goal: What is asked.
        settings: What is included and how.

    Raises:
        OceanGymError: A template fails on a made-up observation, the reference image cannot be
            read, or more images are wanted than the model takes.
    """

    def __init__(self, *, prompt: PromptSet, goal: GoalView, settings: PromptSettings) -> None:
        self.prompt = prompt
        self.goal = goal
        self.settings = settings
        self._goal = {
            key: _plain(value) if isinstance(value, str) else value
            for key, value in goal_context(goal).items()
        }
        self._reference = _read_reference(goal)
        # Width and height of the views as they were last sent, those on sheets left out [px].
        self.sent_sizes: dict[str, tuple[int, int]] = {}
        self._earlier: deque[tuple[int, Image]] = deque(maxlen=settings.memory_images + 1)
        self._check_image_count()
        self._rehearse()

    def begin(self) -> None:
        """Forget the views of earlier steps."""
        self._earlier.clear()

    def single(self, view: StepView) -> ChatRequest:
        """Return the request for a reply in the agreed form from everything that is perceived."""
        return self._request('single', 'system', 'single', self._context('single', view))

    def perceive(self, view: StepView) -> ChatRequest:
        """Return the request for a description of what is perceived: equation 2 of the paper."""
        context = self._context('perceive', view)
        request = self._request('perceive', 'perceive_system', 'perceive', context)
        return replace(request, schema=None)

    def act(self, view: StepView, perception: str) -> ChatRequest:
        """Return the request for a reply in the agreed form from a description, without images."""
        context = self._context('act', view)
        context['perception'] = cut_text(_plain(perception).strip(), PERCEPTION_CHARACTERS)
        return self._request('act', 'system', 'act', context)

    def reask(self, request: ChatRequest, raw_reply: str, error: str) -> ChatRequest:
        """Return the request with the reply that was not understood, and why.

        Args:
            request: What was asked.
            raw_reply: The reply; cut where it is long.
            error: Told to the model.
        """
        shown = cut_text(_plain(raw_reply).strip(), REPLY_CHARACTERS) or '(empty reply)'
        text = self.prompt.render(
            'reask',
            {
                'call': 'reask',
                'loop': self.settings.loop.value,
                'reply_style': self.settings.style.value,
                'actions': self.settings.actions,
                'reply_instructions': self.settings.reply_instructions,
                'goal': self._goal,
                'error': cut_text(_plain(error).strip(), ERROR_CHARACTERS),
            },
        )
        return replace(
            request,
            messages=(
                *request.messages,
                ChatMessage(role=Role.ASSISTANT, parts=(TextPart(text=shown),)),
                ChatMessage(role=Role.USER, parts=(TextPart(text=text),)),
            ),
        )

    # ------------------------------------------------------------------ context

    def _context(self, call: str, view: StepView) -> dict[str, Any]:
        """Return what templates see; images are marks, drawn and encoded only where one is used."""
        settings, observation = self.settings, view.observation
        if settings.needs_coverage and view.coverage is None:
            raise ValueError('the settings need a coverage map in every step view')
        images: dict[str, _Picture] = {}
        looking = call != 'act' and settings.max_images != 0
        context: dict[str, Any] = {
            'call': call,
            'loop': settings.loop.value,
            'reply_style': settings.style.value,
            'actions': settings.actions,
            'reply_instructions': settings.reply_instructions.strip(),
            'goal': self._goal,
            'guide': self._guide(observation),
            'reference': '',
            'state': state_context(view.index, observation.navigation, view.status, self.goal),
            'outcome': '' if view.outcome is None else view.outcome.in_words(settings.style),
            'memory': _plain(view.memory.render(settings.memory_tokens, settings.style)),
            'views': [],
            'fans': [],
            'earlier_views': [],
            'sonar_text': '',
            'track_text': self._track_text(view),
            'coverage_text': '',
            'coverage_image': '',
            'detector_text': detector_text(observation) if settings.detector else '',
            'planner_text': '',
            '_images': images,
        }
        if settings.sonar is SonarInput.DESCRIBED:
            context['sonar_text'] = describe_sonars(observation.sonars, observation.sonar_geometry)
        if settings.needs_coverage and view.coverage is not None:
            self._add_coverage(context, images, view, view.coverage, looking=looking)
        if looking:
            self._add_views(context, images, view)
        return context

    def _guide(self, observation: Observation) -> dict[str, int]:
        """Return the advice in numbers for what the model is shown."""
        shown = self.settings.sonar is not SonarInput.NONE
        sonars = observation.sonar_geometry if shown and observation.sonars else {}
        return asdict(guidance(self.goal, sonars, reach_m=reach_m(self.goal)))

    def _track_text(self, view: StepView) -> str:
        """Return where the vehicle has been, by its own odometry; empty without a map."""
        if view.coverage is None:
            return ''
        area = (
            'operating' if self.settings.needs_coverage or not self.goal.search_area else 'search'
        )
        sketch = view.coverage.sketch(view.observation.navigation.pose.position)
        return f'{100 * view.coverage.share:.0f} % of the {area} area seen so far. {sketch}'

    def _add_coverage(
        self,
        context: dict[str, Any],
        images: dict[str, _Picture],
        view: StepView,
        coverage: CoverageMap,
        *,
        looking: bool,
    ) -> None:
        settings, pose = self.settings, view.observation.navigation.pose
        if settings.coverage is CoverageInput.IMAGE and looking:
            images['coverage'] = _Picture(
                draw_coverage(coverage, pose.position, pose.yaw, size=settings.image_size)
            )
            context['coverage_image'] = _mark('coverage')
        elif settings.coverage is not CoverageInput.NONE:
            context['coverage_text'] = coverage.text(pose.position, pose.yaw)
        if settings.planner:
            context['planner_text'] = suggest(
                view.observation,
                coverage,
                z_min=self.goal.z_min,
                z_max=self.goal.z_max,
                reach=reach_m(self.goal),
            ).in_words(settings.style)

    def _add_views(
        self, context: dict[str, Any], images: dict[str, _Picture], view: StepView
    ) -> None:
        settings, observation = self.settings, view.observation
        size = settings.image_size
        if self._reference is not None:
            images['reference'] = _Picture(self._reference)
            context['reference'] = _mark('reference')
        cameras = {d: observation.cameras[d] for d in DIRECTIONS if d in observation.cameras}
        fans: dict[str, Image] = {}
        if settings.sonar is SonarInput.FAN:
            fans = {
                d: draw_fan(observation.sonars[d], observation.sonar_geometry[d], size=size)
                for d in DIRECTIONS
                if d in observation.sonars
            }
        earlier = self._earlier_views(view.index, cameras)
        others = (self._reference is not None) + len(earlier) + bool(context['coverage_image'])
        joined_fans, joined_views = self._joins(len(cameras), len(fans), others)
        context['views'] = self._camera_entries(cameras, images, joined=joined_views)
        context['fans'] = self._fan_entries(observation, fans, images, joined=joined_fans)
        for index, page in earlier:
            name = f'earlier_{index:04d}'
            images[name] = _Picture(page, scale=SHEET_SCALE)
            context['earlier_views'].append({'step': index, 'image': _mark(name)})

    def _joins(self, cameras: int, fans: int, others: int) -> tuple[bool, bool]:
        """Return whether fans, and views, are joined to keep to the number of images allowed."""
        limit = self.settings.max_images
        if limit is None or cameras + fans + others <= limit:
            return False, False
        if cameras + min(fans, 1) + others <= limit:
            return fans > 1, False
        return fans > 1, cameras > 1

    def _camera_entries(
        self, cameras: dict[str, Image], images: dict[str, _Picture], *, joined: bool
    ) -> list[dict[str, Any]]:
        fov = f'{self.settings.camera_fov_deg:.0f} deg field of view'
        self.sent_sizes = {}
        if joined:
            page = sheet(cameras, SHEET_ORDER, size=SHEET_SCALE * self.settings.image_size)
            images['cameras'] = _Picture(page, scale=SHEET_SCALE)
            shown = ', '.join(d for d in SHEET_ORDER if d in cameras)
            label = f'All cameras on one sheet ({shown}; names in the corners), {fov} each'
            return [{'direction': 'all', 'label': label, 'image': _mark('cameras')}]
        entries = []
        for direction, image in cameras.items():
            name = f'camera_{direction}'
            images[name] = _Picture(image)
            self.sent_sizes[direction] = sent_size(image, self.settings.image_size)
            width, height = self.sent_sizes[direction]
            top = f' ({IMAGE_TOP[direction]})' if direction in IMAGE_TOP else ''
            label = f'{direction.capitalize()} camera, {width} x {height} px, {fov}{top}'
            entries.append({'direction': direction, 'label': label, 'image': _mark(name)})
        return entries

    def _fan_entries(
        self,
        observation: Observation,
        fans: dict[str, Image],
        images: dict[str, _Picture],
        *,
        joined: bool,
    ) -> list[dict[str, Any]]:
        if joined:
            size = SHEET_SCALE * self.settings.image_size
            images['sonars'] = _Picture(
                sheet(fans, SHEET_ORDER, size=size, columns=2, tags=False), scale=SHEET_SCALE
            )
            label = 'All sonar fans on one sheet, each with its name, rings in metres'
            return [{'direction': 'all', 'label': label, 'image': _mark('sonars')}]
        entries = []
        for direction, image in fans.items():
            spec = observation.sonar_geometry[direction]
            name = f'sonar_{direction}'
            images[name] = _Picture(image)
            label = (
                f'{direction.capitalize()} sonar, {math.degrees(spec.azimuth_aperture):.0f} deg '
                f'wide, {math.degrees(spec.elevation_aperture):.0f} deg high, '
                f'{spec.range_min:g} to {spec.range_max:g} m'
            )
            entries.append({'direction': direction, 'label': label, 'image': _mark(name)})
        return entries

    def _earlier_views(self, index: int, cameras: dict[str, Image]) -> list[tuple[int, Image]]:
        """Return sheets of the last steps before this one, and keep this one's for later."""
        if self.settings.memory_images == 0 or not cameras:
            return []
        if not any(known == index for known, _ in self._earlier):
            size = SHEET_SCALE * self.settings.image_size
            self._earlier.append((index, sheet(cameras, SHEET_ORDER, size=size)))
        return [entry for entry in self._earlier if entry[0] < index][
            -self.settings.memory_images :
        ]

    # ------------------------------------------------------------------ requests

    def _request(
        self, call: str, system: str, template: str, context: dict[str, Any]
    ) -> ChatRequest:
        images = context.pop('_images')
        told = self.prompt.render(system, context)
        if _MARK.search(told):
            raise OceanGymError(
                f'{self.prompt.directory / system}.j2 places an image; endpoints take images in '
                'user messages only: move it to single.j2 or perceive.j2'
            )
        asked = self.prompt.render(template, context)
        return ChatRequest(
            messages=(
                ChatMessage(role=Role.SYSTEM, parts=(TextPart(text=told),)),
                ChatMessage(role=Role.USER, parts=self._parts(asked, images)),
            ),
            schema=self.settings.schema,
        )

    def _parts(self, text: str, images: dict[str, _Picture]) -> tuple[Part, ...]:
        """Return the rendered text cut at its marks, with the images in their places."""
        parts: list[Part] = []
        for number, piece in enumerate(_MARK.split(text)):
            if number % 2:
                parts.append(self._encoded(piece, images[piece]))
            elif piece.strip():
                parts.append(TextPart(text=piece.strip('\n')))
        return tuple(parts)

    def _encoded(self, name: str, picture: _Picture) -> ImagePart:
        settings = self.settings
        return encode(
            np.ascontiguousarray(picture.image),
            name=name,
            size=settings.image_size * picture.scale,
            format=settings.image_format,
        )

    # ------------------------------------------------------------------ checks before the dive

    def _check_image_count(self) -> None:
        settings = self.settings
        if settings.max_images is None:
            return
        asked_for = (
            settings.memory_images
            + (settings.sonar is SonarInput.FAN)
            + (settings.coverage is CoverageInput.IMAGE)
        )
        # A model that takes no images at all goes by the words.
        least = asked_for + (1 + (self._reference is not None)) * (settings.max_images > 0)
        if least > settings.max_images:
            raise OceanGymError(
                f'the prompt needs {least} images even with all views on one sheet, and the model '
                f'takes {settings.max_images}; lower memory_images:=, or use sonar:=described or '
                'coverage:=text'
            )

    def _rehearse(self) -> None:
        """Render every template once, so that a mistake shows before the first call is paid."""
        for view in rehearsal_views(self.goal, self.settings):
            request = self.single(view)
            self.perceive(view)
            self.act(view, 'Open water.')
            self.reask(request, '', 'No command.')
        self.begin()


class _Picture:
    """An image and how much larger than one view it may be sent."""

    def __init__(self, image: Image, *, scale: int = 1) -> None:
        self.image = image
        self.scale = scale


def _read_reference(goal: GoalView) -> Image | None:
    """Return the reference image (H, W, 3) RGB; None where the task has none.

    Raises:
        OceanGymError: It is no image that can be read.
    """
    path = goal.reference_image
    if path is None:
        return None
    try:
        data = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise OceanGymError(f'cannot read reference image {path}: {error.strerror}') from error
    image = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if image is None:
        raise OceanGymError(f'reference image {path} is not a picture; give a JPEG or PNG file')
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8)
