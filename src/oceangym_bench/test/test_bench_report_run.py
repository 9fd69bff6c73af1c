"""The page of a run: whole, self-contained, harmless whatever a model wrote, and never refusing."""

from __future__ import annotations

from html.parser import HTMLParser
import json
from pathlib import Path
import re
import shutil

import numpy as np
import pytest

from oceangym_bench.report import write_run_report
from oceangym_bench.report.page import clean_text, cut_text, embedded_json
from oceangym_bench.report.pictures import Album
from oceangym_bench.report.testing import (
    embedded_data,
    jpeg,
    picture,
    write_sample_bag,
    write_sample_run,
)
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.errors import OceanGymError
from oceangym_core.record.schema import Ending

HOSTILE = [
    '<script>document.title = "taken"</script>',
    '</script><script>document.title = "taken"</script><!-- <script>',
    '"><img src=x onerror="document.title=1">\' onmouseover=\'x',
    'nul \x00 bell \x07 escape \x1b[31m lone \udc80 line \u2028 bidi \u202e {{ 7 * 7 }} {% raw %}',
    'x' * 300_000,
    ']]></svg></pre></textarea></title><base href="https://example.org/">',
]


class Outline(HTMLParser):
    """Collects elements with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope='module')
def model_run(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp('report') / 'model'
    return write_sample_run(directory, decisions=5, replies=HOSTILE)


@pytest.fixture(scope='module')
def model_page(model_run) -> Path:
    return write_run_report(model_run)


def test_the_page_lies_in_the_run_directory(model_run, model_page) -> None:
    assert model_page == model_run / 'report.html'


def test_nothing_is_fetched(model_page) -> None:
    outline = Outline(model_page.read_text(encoding='utf-8'))
    for tag, attrs in outline.elements:
        assert tag not in ('link', 'iframe', 'object', 'embed', 'base'), tag
        for name in ('src', 'href', 'action', 'poster', 'srcset'):
            value = attrs.get(name)
            assert value is None or value.startswith(('data:', '#')), (tag, name, value)
    style = re.search(r'<style>(.*?)</style>', model_page.read_text(encoding='utf-8'), re.DOTALL)
    assert style is not None and 'url(' not in style[1] and '@import' not in style[1]


def test_a_policy_lets_only_our_script_run(model_page) -> None:
    outline = Outline(model_page.read_text(encoding='utf-8'))
    (policy,) = [m['content'] for m in outline.all('meta') if 'http-equiv' in m]
    assert policy is not None and policy.startswith("default-src 'none'; img-src data:")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]{43}='$", policy)
    assert len(outline.all('script')) == 2
    assert not any(name.startswith('on') for _, attrs in outline.elements for name in attrs)


def test_hostile_replies_stay_text(model_page) -> None:
    text = model_page.read_text(encoding='utf-8')
    assert '<script>document.title' not in text and '<img src=x' not in text
    assert '\x00' not in text and '\x1b' not in text
    data = embedded_data(model_page)
    texts = data['texts']
    assert HOSTILE[0] in texts and HOSTILE[1] in texts and HOSTILE[2] in texts
    assert 'nul ␀ bell ␇ escape ␛[31m lone ? line' in ' '.join(texts)
    assert '49' not in ''.join(t for t in texts if t.startswith('nul'))


def test_a_huge_reply_is_cut_and_says_so(model_page) -> None:
    (huge,) = [t for t in embedded_data(model_page)['texts'] if t.startswith('xxxx' * 1000)]
    assert len(huge) < 21_000 and '280,000 further characters' in huge


def test_every_decision_has_its_pictures_reply_and_calls(model_page) -> None:
    data = embedded_data(model_page)
    steps, texts, pictures = data['steps'], data['texts'], data['pictures']
    assert [s['i'] for s in steps] == list(range(6))
    for step in steps:
        assert set(step['views']) == {f'{k}_{d}' for k in ('camera', 'sonar') for d in DIRECTIONS}
        assert all(
            pictures[key].startswith('data:image/jpeg;base64,') for key in step['views'].values()
        )
    assert texts[steps[0]['decision']['reply']] == HOSTILE[0]
    assert [c['purpose'] for c in steps[2]['trace']['calls']] == ['single', 'reask']
    assert steps[2]['decision']['invalid'] == 1
    assert steps[1]['contacts'] == [{'t': 12.0, 'with': 'rock_1', 'speed': 0.3}]
    assert steps[5]['decision']['action'] == 'stop'
    assert [(r['label'], r['verdict']) for s in steps for r in s['reports']] == [
        ('SUNKEN SHIP', 'wrong_label'),
        ('OIL PIPELINE', 'true_find'),
    ]


def test_header_scores_and_provenance_are_there(model_page) -> None:
    text = ' '.join(Outline(model_page.read_text(encoding='utf-8')).text)
    for words in (
        'Inspect the oil pipe',
        'inspect_pipe (task2)',
        'sample-model',
        '1.0.0',
        'b' * 64,
    ):
        assert words in text
    for words in ('true find', 'false: wrong label', 'Collisions', 'came into view'):
        assert words in text


def test_the_map_shows_targets_reports_and_collisions(model_page) -> None:
    outline = Outline(model_page.read_text(encoding='utf-8'))
    classes = [attrs.get('class') or '' for attrs in outline.all('g')]
    assert sum(c.startswith('mk target') for c in classes) == 3
    assert classes.count('mk report good') == 1 and classes.count('mk report wrong') == 1
    assert classes.count('mk bump') == 1 and classes.count('mk arrow') == 6


def test_curves_follow_the_geometry(model_page) -> None:
    curves = embedded_data(model_page)['curves']
    assert curves['t'][0] == 0 and curves['t'][-1] == 150
    first = np.linalg.norm(np.subtract((207, -30, -66), (144, -114, -58)))
    assert curves['distance']['a'][0] == pytest.approx(first, abs=0.06)
    assert curves['z'][-1] == pytest.approx(-60)
    gaps = np.subtract(curves['z'], curves['bed'])
    assert np.allclose(gaps, curves['altitude'], atol=0.11)


def test_an_agent_without_a_model_has_pictures_from_the_bag(tmp_path) -> None:
    page = write_run_report(write_sample_run(tmp_path / 'run', decisions=3))
    data = embedded_data(page)
    assert all(len(step['views']) == 12 for step in data['steps'])
    assert not any('trace' in step for step in data['steps'])
    assert 'There are no pictures' not in page.read_text()


def test_without_bag_and_trace_the_page_says_so(tmp_path) -> None:
    page = write_run_report(write_sample_run(tmp_path / 'run', decisions=2, bag=False))
    assert 'There are no pictures of this run: this run has no bag.' in page.read_text()


def test_a_killed_run_is_shown_as_far_as_it_got(tmp_path) -> None:
    run = write_sample_run(tmp_path / 'run', decisions=4, replies=['a'] * 5, ending=None)
    (run / 'bag' / 'metadata.yaml').unlink()
    for name in ('episode.jsonl', 'trace.jsonl'):
        path = run / name
        path.write_bytes(path.read_bytes()[:-30])
    mcap = run / 'bag' / 'bag.mcap'
    mcap.write_bytes(mcap.read_bytes()[:-100])
    before = {p: p.stat().st_mtime_ns for p in run.rglob('*') if p.is_file()}
    page = write_run_report(run)
    assert {p: p.stat().st_mtime_ns for p in before} == before, 'the record was touched'
    text = page.read_text()
    assert 'the record breaks off' in text and 'Partial' in text
    assert 'the last line is cut off' in text and 'score.json is missing' in text
    data = embedded_data(page)
    assert len(data['steps']) == 4 and len(data['steps'][0]['views']) == 12
    assert data['steps'][-1]['decision'] is None


def test_without_truth_it_is_unscored_and_shows_the_estimate(tmp_path) -> None:
    page = write_run_report(write_sample_run(tmp_path / 'run', decisions=3, has_truth=False))
    text = page.read_text()
    assert 'unscored' in text and 'the vehicle itself believed' in text
    assert embedded_data(page)['steps'][0]['p'] == [144.0, -114.0, -58.0]


def test_a_damaged_trace_or_score_is_noted_not_fatal(tmp_path) -> None:
    run = write_sample_run(tmp_path / 'run', decisions=2, replies=['a'] * 3)
    (run / 'trace.jsonl').write_text('{"index": 0}\n')
    (run / 'score.json').write_text('[1, 2')
    text = write_run_report(run).read_text()
    assert 'What was said to the model is not shown' in text and 'scored anew' in text


def test_a_trace_cannot_name_files_outside_the_run(tmp_path) -> None:
    run = write_sample_run(tmp_path / 'run', decisions=2, replies=['a'] * 3, bag=False)
    secret = jpeg(picture(77))
    (tmp_path / 'secret.jpg').write_bytes(secret)
    trace = run / 'trace.jsonl'
    trace.write_text(trace.read_text().replace('images/0000_camera_front.jpg', '../secret.jpg'))
    data = embedded_data(write_run_report(run))
    assert 'camera_front' not in data['steps'][0]['views']
    assert 'camera_back' in data['steps'][0]['views']


def test_a_world_that_is_not_here_leaves_the_map_without_seabed(tmp_path) -> None:
    run = write_sample_run(tmp_path / 'run', decisions=2, bag=False)
    path = run / 'run.yaml'
    path.write_text(path.read_text().replace('name: ocean', 'name: lagoon'))
    page = write_run_report(run)
    assert 'is not on this machine' in page.read_text()
    assert 'bed' not in embedded_data(page)['curves']


def test_another_version_of_the_world_is_named(model_page) -> None:
    # The sample's digest is made up.
    assert 'differs from the one flown' in model_page.read_text(encoding='utf-8')


def test_a_broken_bag_is_named(tmp_path) -> None:
    run = write_sample_run(tmp_path / 'run', decisions=2, bag=False)
    write_sample_bag(run / 'bag', 1)
    shutil.copy(run / 'run.yaml', run / 'bag' / 'bag.mcap')
    assert 'not a readable bag' in write_run_report(run).read_text()


def test_what_is_no_run_is_refused(tmp_path) -> None:
    with pytest.raises(OceanGymError, match=r'run\.yaml'):
        write_run_report(tmp_path)


@pytest.mark.parametrize('ending', [Ending.ERROR, Ending.BUDGET, Ending.CANCELLED])
def test_a_run_cut_short_from_outside_is_marked(tmp_path, ending) -> None:
    run = write_sample_run(tmp_path / 'run', decisions=1, bag=False, ending=ending)
    assert 'stays out of result tables' in write_run_report(run).read_text()


def test_pictures_shrink_to_the_budget_and_each_is_kept_once() -> None:
    rng = np.random.default_rng(1)
    noise = [jpeg(rng.integers(0, 255, (400, 400, 3), dtype=np.uint8)) for _ in range(4)]
    album = Album()
    keys = [album.add_file(data) for data in (*noise, noise[0])]
    assert keys[4] == keys[0] and len(set(keys)) == 4
    large, small = album.urls(), album.urls(budget=40_000)
    assert sum(map(len, small.values())) < 40_000 * 1.4 < sum(map(len, large.values()))
    assert album.add_file(b'no picture') is None


def test_text_is_cleaned_and_cut() -> None:
    assert clean_text('a\x00b\tc\nd\x7f') == 'a␀b\tc\nd␡'
    assert cut_text('abc', 3) == 'abc'
    assert cut_text('abcdef', 3) == 'abc\n[... 3 further characters are in the record]'


def test_embedded_json_cannot_leave_its_element() -> None:
    value = {'</script>': ['<!--', '&', '\u2028', 'ü']}
    text = str(embedded_json(value))
    assert not set('<>&\u2028ü') & set(text)
    assert json.loads(text) == value
