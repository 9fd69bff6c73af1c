"""The agent that asks a multimodal language model: look, ask, understand, decide, remember."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
from pathlib import Path
import time
from typing import TypeVar

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.find_reports import report_of
from oceangym_agent.agents.mllm_parts import (
    description_of,
    model_parts,
    ModelParts,
    NOT_DECIDED,
    NOT_UNDERSTOOD,
    recordable,
)
from oceangym_agent.chat import ChatReply, ChatRequest, ModelUnavailable, NoReply
from oceangym_agent.memory import CoverageMap, ImportantEntry, Kind, Memory, MemoryStep
from oceangym_agent.prompts import Loop, Outcome, PromptBuilder, StepView
from oceangym_agent.replies import parse_reply
from oceangym_agent.replies.reply import ParsedReply, ReplyError
from oceangym_agent.trace import Call, DecisionTrace, Purpose
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.geometry import Pose

HeardT = TypeVar('HeardT')
# How a special object begins that takes an earlier one back.
RETRACTION = 'not '


def _whole_text(reply: ChatReply) -> str:
    """Return a reply's text.

    Raises:
        ReplyError: The endpoint marks it as not whole, or it is none.
    """
    if reply.problem:
        raise ReplyError(f'Your reply was not carried out. {reply.problem}')
    return reply.text


class MllmAgent:
    """Asks a model about every observation.

    Each decision is one line of the trace, on disk before it is carried out. A reply without one
    clear command is told to the model, a bounded number of times; then the vehicle holds.

    Args:
        parts: Of one episode.
        clock: Steady wall clock [s], for deadlines and budgets.
    """

    privileged = False

    def __init__(self, parts: ModelParts, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._options = parts.options
        self._clock = clock

    @classmethod
    def of(
        cls, options: RunOptions, directory: Path | None, *, resume_from: Path | None = None
    ) -> MllmAgent:
        """Return the agent of a run; see `mllm_parts.model_parts` for what it refuses."""
        return cls(model_parts(options, directory, resume_from=resume_from))

    def close(self) -> None:
        """Close the model; a call under way fails."""
        self._parts.close()

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode.

        Raises:
            OceanGymError: The prompt cannot be made for this goal.
        """
        parts = self._parts
        self._prompts = PromptBuilder(prompt=parts.prompt, goal=goal, settings=parts.settings)
        self._prompts.begin()
        self._memory = Memory(window=self._options.memory, experience=parts.experience)
        # The advised lanes decide what counts as seen: the area of the order, else the whole one.
        self._coverage = CoverageMap(
            goal.bounds if parts.settings.needs_coverage else goal.search_area or goal.bounds
        )
        self._last: tuple[Decision, Pose] | None = None
        self._decisions = 0
        self._began = self._clock()

    # ------------------------------------------------------------------ one decision

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Ask the model what to do.

        Raises:
            ModelUnavailable: It gave no answer within the deadline.
            BudgetExhausted: A limit of the episode is reached. Both hold what was spent.
        """
        trace = DecisionTrace(index=observation.index, t=observation.stamp)
        started = self._clock()
        try:
            self._check_budget()
            view = self._look(observation, status)
            trace.parsed = self._understand(view, trace, started + self._time_left())
        except NoReply as error:
            trace.error = str(error)
            trace.latency_s = self._clock() - started
            if trace.paid:
                error.decision = self._decision(trace, description=NOT_DECIDED)
            raise
        finally:
            trace.latency_s = self._clock() - started
            self._parts.trace.write(trace)
        turn = self._turn(observation, trace)
        self._remember(observation, turn, trace.parsed)
        return turn

    def _understand(
        self, view: StepView, trace: DecisionTrace, deadline: float
    ) -> ParsedReply | None:
        """Ask until a reply gives one command; None if none of the allowed number does."""
        if self._parts.settings.loop is Loop.SINGLE:
            request, purpose = self._prompts.single(view), Purpose.SINGLE
        else:
            # With two calls a decision the first one looks.
            look = self._prompts.perceive(view)
            seen = self._heard(look, Purpose.PERCEIVE, trace, deadline, _whole_text)
            if seen is None:
                return None
            request, purpose = self._prompts.act(view, seen), Purpose.ACT
        return self._heard(request, purpose, trace, deadline, self._parsed)

    def _parsed(self, reply: ChatReply) -> ParsedReply:
        settings = self._parts.settings
        return parse_reply(_whole_text(reply), style=settings.style, actions=settings.actions)

    def _heard(
        self,
        request: ChatRequest,
        purpose: Purpose,
        trace: DecisionTrace,
        deadline: float,
        read: Callable[[ChatReply], HeardT],
    ) -> HeardT | None:
        """Ask until `read` understands a reply; None if it does none of the allowed number."""
        for _ in range(1 + self._options.max_reasks):
            try:
                reply = self._ask(request, purpose, trace, deadline)
            except ModelUnavailable:
                if purpose is not Purpose.REASK:
                    raise
                # It answered a moment ago: hold now, and ask about the next observation.
                return None
            try:
                return read(reply)
            except ReplyError as error:
                trace.calls[-1].error = str(error)
                request = self._prompts.reask(request, reply.text, str(error))
                purpose = Purpose.REASK
        return None

    def _ask(
        self, request: ChatRequest, purpose: Purpose, trace: DecisionTrace, deadline: float
    ) -> ChatReply:
        """Make one call, whose part in the trace is kept whatever becomes of it."""
        call = Call(purpose=purpose, request=request)
        trace.calls.append(call)
        try:
            call.reply = self._parts.model.complete(
                request, deadline_s=max(deadline - self._clock(), 0.0)
            )
        except NoReply as error:
            call.error, call.unusable = str(error), error.unusable
            # A call that the wall time allowed for the episode has cut off is no fault of the model.
            self._check_budget()
            raise
        return call.reply

    # ------------------------------------------------------------------ limits

    def _check_budget(self) -> None:
        self._parts.budget.check(decisions=self._decisions, wall_s=self._clock() - self._began)

    def _time_left(self) -> float:
        """Return the wall time that this decision may take [s]."""
        if self._options.max_wall is None:
            return self._options.decision_deadline
        spent = self._clock() - self._began
        return min(self._options.decision_deadline, self._options.max_wall - spent)

    # ------------------------------------------------------------------ before and after

    def _look(self, observation: Observation, status: StatusView) -> StepView:
        """Return what this decision is asked on."""
        pose = observation.navigation.pose
        self._coverage.visit(pose.position)
        outcome = None
        if self._last is not None:
            decision, before = self._last
            outcome = Outcome.measured(
                decision.action, decision.magnitude, before, pose, decision.course
            )
        return StepView(
            index=observation.index,
            observation=observation,
            status=status,
            memory=self._memory,
            coverage=self._coverage,
            outcome=outcome,
        )

    def _turn(self, observation: Observation, trace: DecisionTrace) -> Turn:
        """Return the decision with its finds, as records and messages can hold them."""
        parsed = trace.parsed
        if parsed is None:
            return Turn(decision=self._decision(trace, description=NOT_UNDERSTOOD))
        sizes, fov = self._prompts.sent_sizes, self._parts.settings.camera_fov_deg
        reports = tuple(
            report_of(find, observation, sizes=sizes, fov_deg=fov) for find in parsed.finds
        )
        decision = replace(
            self._decision(trace, description=description_of(parsed)),
            action=parsed.action,
            magnitude=parsed.magnitude,
            course=parsed.course,
            finds=tuple(report.label for report in reports),
        )
        return Turn(decision=decision, reports=reports)

    def _decision(self, trace: DecisionTrace, *, description: str) -> Decision:
        """Return a decision to hold with everything that was spent on it."""
        replies, paid = trace.replies, trace.paid
        return Decision(
            index=trace.index,
            action=Action.HOLD,
            description=description,
            raw_reply=recordable(replies[-1].text) if replies else '',
            invalid_replies=sum(c.reply is not None and c.error is not None for c in trace.calls),
            tokens_in=sum(answer.tokens_in for answer in paid),
            tokens_out=sum(answer.tokens_out for answer in paid),
            cost=sum(answer.cost for answer in paid),
            latency_s=trace.latency_s,
            notes=tuple(dict.fromkeys(note for reply in replies for note in reply.notes)),
        )

    def _remember(self, observation: Observation, turn: Turn, parsed: ParsedReply | None) -> None:
        pose, decision = observation.navigation.pose, turn.decision
        finds = [] if parsed is None else list(zip(parsed.finds, turn.reports))
        told = () if parsed is None else parsed.special_objects
        for thing in told:
            if thing.lower().startswith(RETRACTION):
                self._memory.retract(thing[len(RETRACTION) :])
        objects = [thing for thing in told if not thing.lower().startswith(RETRACTION)]
        entries = [
            *((Kind.FIND, f'{f.label}: {f.text}' if f.text else f.label, r) for f, r in finds),
            *((Kind.SPECIAL, thing, None) for thing in objects),
        ]
        self._memory.remember(
            MemoryStep(
                index=observation.index,
                time=observation.stamp,
                description=decision.description,
                action=decision.action,
                magnitude=decision.magnitude,
                course=decision.course,
                position=pose.position,
                heading_deg=math.degrees(pose.yaw),
            ),
            [
                ImportantEntry(
                    kind=kind,
                    index=observation.index,
                    time=observation.stamp,
                    text=text,
                    position=pose.position,
                    place=None if report is None else report.position,
                )
                for kind, text, report in entries
            ],
        )
        self._last = (decision, pose)
        self._decisions += 1
