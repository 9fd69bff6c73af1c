"""The report of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from oceangym_bench.matrix.hidden_layouts import layout_label
from oceangym_bench.report.page import cut_text, render_page
from oceangym_bench.report.pictures import Album, read_bag_views
from oceangym_bench.report.run_map import run_map
from oceangym_bench.report.run_record import mapping, read_run, RunRecord
from oceangym_bench.report.run_series import series, track
from oceangym_bench.report.run_steps import numbered_reports, step_entries
from oceangym_bench.report.run_trace import sent_pictures, TextPool, views_sent
from oceangym_bench.report.surroundings import find_world
from oceangym_core.files import write_atomic
from oceangym_core.scoring.funnel import STAGES
from oceangym_core.scoring.results import FULL_SCORE_M, NO_SCORE_M
from oceangym_core.scoring.verified import REPORT_RADIUS_M, Verdict
from oceangym_sim.safety_monitor import STAND_OFF_M

FILE_NAME = 'report.html'

ENDINGS = {
    'stop': 'the agent stopped',
    'time': 'time was up',
    'bounds': 'left the operating area',
    'battery': 'battery empty',
    'cancelled': 'cancelled',
    'budget': 'a budget was spent',
    'error': 'an error',
    'interrupted': 'the record breaks off',
}
STAGE_NAMES = dict(
    zip(STAGES, ('came into view', 'reported', 'right label', 'within 30 m', 'verified'))
)
VERDICTS = {
    Verdict.TRUE_FIND.value: 'true find',
    Verdict.REPEAT.value: 'repeat of a true find (neutral)',
    Verdict.ALONG.value: 'on the structure, at none of its scored stations (neutral)',
    Verdict.WRONG_LABEL.value: 'false: wrong label',
    Verdict.TOO_FAR.value: f'false: more than {REPORT_RADIUS_M:g} m off',
    Verdict.NOT_PERCEPTIBLE.value: 'false: not perceptible then',
    Verdict.NO_OBSERVATION.value: 'false: no such observation',
}
SCORER_NAMES = {
    'verified': 'Verified: true finds only, less for false ones',
    'paper': 'Paper: eq. 7, reports taken at their word',
    'compat': 'Compat: the released evaluator, quirks included',
}


def write_run_report(run_dir: Path) -> Path:
    """Write ``report.html`` into a run directory and return its path.

    The page needs no network and no other file. A run that was killed is shown as far as it got.

    Raises:
        OceanGymError: The directory holds no record of a run, or cannot be written.
    """
    record = read_run(run_dir)
    info = record.episode.info
    album, texts = Album(), TextPool()
    sent = {i: sent_pictures(run_dir, line, album) for i, line in record.trace.items()}
    bag = read_bag_views(
        run_dir / 'bag',
        namespace=str(info.options.get('namespace') or 'auv'),
        stamps={s.index: s.t for s in record.episode.steps},
        album=album,
        known={index: views_sent(pictures) for index, pictures in sent.items()},
    )
    found = find_world(info)
    path = track(record)
    curves = series(record, path, found.world)
    steps = step_entries(record, sent=sent, bag=bag, texts=texts)
    chart = run_map(record, path=path, curves=curves, world=found.world, bag=bag)
    notes = [*record.notes, *filter(None, [found.note, _picture_note(steps, bag.problem)])]
    if not record.episode.has_truth:
        notes.append('No truth was recorded: positions are those the vehicle itself believed.')
    data = {
        'steps': steps,
        'curves': curves,
        'texts': texts.texts,
        'pictures': album.urls(),
        'collisions': [{'t': c['t'], 'with': c['with']} for c in chart['collisions']],
        'reports': numbered_reports(record),
        'verdicts': VERDICTS,
        'interval': info.t_interval,
        'limits': {'full': FULL_SCORE_M, 'none': NO_SCORE_M, 'standOff': STAND_OFF_M},
        'shifted': info.options.get('frame') == 'shifted',
    }
    page = render_page(
        'run.html.j2',
        script='run.js',
        title=f'{info.task.title or info.task.id} – {info.agent}',
        head=_head(record),
        map=chart,
        steps=steps,
        texts=texts.texts,
        score=record.score,
        reports=numbered_reports(record),
        verdicts=VERDICTS,
        scorer_names=SCORER_NAMES,
        stages=STAGE_NAMES,
        totals=_totals(record, steps),
        provenance=_provenance(record),
        notes=notes,
        data=data,
    )
    target = run_dir / FILE_NAME
    write_atomic(target, page)
    return target


def _picture_note(steps: list[dict[str, Any]], problem: str) -> str:
    with_pictures = sum(bool(step['views']) for step in steps)
    if with_pictures == len(steps):
        return ''
    reason = f': {problem}' if problem else ''
    if not with_pictures:
        return f'There are no pictures of this run{reason}.'
    return f'Pictures of {len(steps) - with_pictures} of {len(steps)} observations are missing{reason}.'


def _head(record: RunRecord) -> dict[str, Any]:
    info, score = record.episode.info, record.score
    benchmark = _benchmark(record)
    start = mapping(score.get('start'))
    options = info.options
    has_model = info.agent not in ('', options.get('agent'))
    ending = record.episode.ending.value
    facts = [
        ('Task', info.task.id + _in_brackets(info.task.alias)),
        ('Water', info.water.id),
        ('Start', f'{info.start.name}, {info.start.range:.0f} m from {info.start.target}'),
        ('Agent', options.get('agent') or info.agent),
        ('Model', info.agent if has_model else None),
        ('Prompt', options.get('prompt') if has_model else None),
        ('Track', benchmark.get('track')),
        ('Benchmark', benchmark.get('version')),
        ('Profile', info.profile.id),
        ('Frame', options.get('frame')),
        ('Seed', f'{options.get("seed", "–")}, layout {layout_label(info.world.seed)}'),
        ('Flown', info.wall.started[:16].replace('T', ' ')),
    ]
    if start.get('visible'):
        facts[2] = (facts[2][0], f'{facts[2][1]}, which was in view')
    return {
        'run_id': info.run_id,
        'title': info.task.title or info.task.id,
        'facts': [(name, value) for name, value in facts if value not in (None, '')],
        'ending': ending,
        'ending_text': ENDINGS.get(ending, ending),
        'partial': record.episode.partial,
        'message': cut_text(record.episode.message, 600),
        'privileged': info.privileged,
    }


def _benchmark(record: RunRecord) -> Mapping[str, Any]:
    """Return what the scores are comparable with; the record's own where its score says nothing."""
    recorded = record.episode.info.benchmark.model_dump(mode='json')
    return mapping(record.score.get('benchmark')) or recorded


def _in_brackets(value: Any) -> str:
    return f' ({value})' if value else ''


def _totals(record: RunRecord, steps: list[dict[str, Any]]) -> dict[str, Any]:
    decisions = [step['decision'] for step in steps if step['decision'] is not None]
    latencies = sorted(d['latency'] for d in decisions if d['latency'] is not None)
    calls = [call for step in record.trace.values() for call in step.calls]
    retries = sum(call.reply.retries for call in calls if call.reply is not None)
    return {
        'decisions': len(decisions),
        'calls': len(calls) if record.trace else None,
        'retries': retries if record.trace else None,
        'tokens_in': sum(d['tokensIn'] for d in decisions),
        'tokens_out': sum(d['tokensOut'] for d in decisions),
        'cost': sum(d['cost'] for d in decisions),
        'invalid': sum(d['invalid'] for d in decisions),
        'latency': sum(latencies) if latencies else None,
        'latency_median': latencies[len(latencies) // 2] if latencies else None,
        'latency_max': latencies[-1] if latencies else None,
    }


def _provenance(record: RunRecord) -> list[tuple[str, list[tuple[str, Any]]]]:
    info = record.episode.info
    benchmark = _benchmark(record)
    hashes = {
        'world': info.world.sha256,
        'task': info.task.sha256,
        **mapping(benchmark.get('hashes')),
    }
    groups: list[tuple[str, Mapping[str, Any]]] = [
        ('Options', info.options),
        ('Benchmark', {k: v for k, v in benchmark.items() if k != 'hashes'}),
        ('Digests (SHA-256)', {k: v for k, v in hashes.items() if v}),
        (
            'Memory of earlier runs',
            {f'{n}': source.model_dump() for n, source in enumerate(info.experience, 1)},
        ),
        ('Frame of the agent in map', asdict(info.shift)),
        ('Source', info.git),
        ('Versions', info.versions),
        ('Water', info.water.model_dump(mode='json')),
        ('Profile', info.profile.model_dump(mode='json')),
    ]
    return [(name, list(content.items())) for name, content in groups if content]
