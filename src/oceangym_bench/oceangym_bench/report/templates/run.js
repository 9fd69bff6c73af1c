'use strict';
(() => {
  const data = JSON.parse(document.getElementById('run-data').textContent);
  const steps = data.steps;
  const $ = (id) => document.getElementById(id);
  const SVG = 'http://www.w3.org/2000/svg';

  // Texts of the record only ever enter the page as text nodes.
  const el = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === 'class') node.className = value;
      else if (key === 'onclick') node.addEventListener('click', value);
      else node.setAttribute(key, value);
    }
    node.append(...children.filter((c) => c !== null && c !== ''));
    return node;
  };
  const svg = (name, attributes = {}, text = '') => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    return node;
  };
  const number = (value, digits = 1) => value === null || value === undefined ? '–' : value.toFixed(digits).replace('-', '−');
  const minutes = (t) => `${number(t / 60)} min`;
  const named = (name) => name.replaceAll('_', ' ');
  const text = (index) => index === null || index === undefined ? '' : data.texts[index];

  // --- map ---------------------------------------------------------------------------------
  const map = $('map');
  const marks = [...map.querySelectorAll('.mk')];
  const arrows = marks.filter((mark) => mark.classList.contains('arrow'));
  const box = (name) => map.dataset[name].split(' ').map(Number);
  let view = box('near');

  const metresPerPixel = () => {
    const rect = map.getBoundingClientRect();
    return Math.max(view[2] / rect.width, view[3] / rect.height) || 1;
  };
  const placeMark = (mark, u) => {
    const { x, y, a } = mark.dataset;
    mark.setAttribute('transform', `translate(${x} ${y}) rotate(${a || 0}) scale(${u})`);
  };
  const drawMap = () => {
    map.setAttribute('viewBox', view.map((v) => v.toFixed(2)).join(' '));
    const u = metresPerPixel();
    for (const mark of marks) placeMark(mark, u);
    // Headings are drawn as far as they do not hide the path.
    let last = null;
    for (const arrow of arrows) {
      const { x, y } = arrow.dataset;
      const room = last === null || Math.hypot(x - last[0], y - last[1]) > 16 * u;
      arrow.style.display = room ? '' : 'none';
      if (room) last = [x, y];
    }
    // Labels that would leave the map on the right are set on the left of their target.
    for (const label of map.querySelectorAll('.target text')) {
      const right = label.parentNode.dataset.x - view[0] > 0.8 * view[2];
      label.setAttribute('x', right ? -10 : 10);
      label.setAttribute('text-anchor', right ? 'end' : 'start');
    }
    // A hundred pixels, rounded down to 1, 2 or 5 times a power of ten metres.
    const raw = 110 * u;
    const power = 10 ** Math.floor(Math.log10(raw));
    const length = [5, 2, 1].map((f) => f * power).find((l) => l <= raw);
    $('scale-bar').style.width = `${length / u}px`;
    $('scale-text').textContent = `${length} m`;
  };
  const show = (frame) => { view = frame; drawMap(); };
  const zoom = (factor, cx = view[0] + view[2] / 2, cy = view[1] + view[3] / 2) => {
    const width = Math.min(4000, Math.max(20, view[2] * factor));
    const scale = width / view[2];
    show([cx - (cx - view[0]) * scale, cy - (cy - view[1]) * scale, width, view[3] * scale]);
  };
  const toMap = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  $('zoom-near').addEventListener('click', () => show(box('near')));
  $('zoom-whole').addEventListener('click', () => show(box('whole')));
  $('zoom-in').addEventListener('click', () => zoom(1 / 1.5));
  $('zoom-out').addEventListener('click', () => zoom(1.5));
  map.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, ...toMap(event));
  }, { passive: false });
  let drag = null;
  map.addEventListener('pointerdown', (event) => {
    drag = { x: event.clientX, y: event.clientY, view: [...view], moved: false };
    if (event.pointerType === 'mouse') map.setPointerCapture(event.pointerId);
  });
  map.addEventListener('pointermove', (event) => {
    if (!drag || event.pointerType !== 'mouse') return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    drag.moved ||= Math.hypot(dx, dy) > 5;
    if (!drag.moved) return;
    const u = metresPerPixel();
    show([drag.view[0] - dx * u, drag.view[1] - dy * u, drag.view[2], drag.view[3]]);
  });
  map.addEventListener('pointercancel', () => { drag = null; });
  map.addEventListener('pointerup', (event) => {
    const moved = drag && drag.moved;
    drag = null;
    if (moved) return;
    const [x, y] = toMap(event);
    let best = 0;
    let least = Infinity;
    steps.forEach((step, k) => {
      const d = Math.hypot(step.p[0] - x, -step.p[1] - y);
      if (d < least) [best, least] = [k, d];
    });
    select(best);
  });

  // --- curves ------------------------------------------------------------------------------
  const curves = data.curves;
  const last = curves.t[curves.t.length - 1] || 1;
  const charts = [];
  const nice = (span) => {
    const raw = span / 4;
    const power = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
  };
  const points = (xs, ys, X, Y) => {
    let d = '';
    let pen = false;
    ys.forEach((y, k) => {
      if (y === null) { pen = false; return; }
      d += `${pen ? 'L' : 'M'}${X(xs[k]).toFixed(1)} ${Y(y).toFixed(1)}`;
      pen = true;
    });
    return d;
  };
  const addChart = (id, spec) => {
    const host = $(`${id}-curve`);
    const chart = { host, spec, cursor: null };
    const draw = () => {
      const width = host.clientWidth;
      const height = host.clientHeight;
      if (!width) return;
      const [left, right, top, bottom] = [38, 10, 8, 20];
      const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': spec.label });
      const [low, high] = spec.range;
      const X = (t) => left + (t / last) * (width - left - right);
      const Y = (v) => {
        const part = (v - low) / (high - low);
        return top + (spec.down ? part : 1 - part) * (height - top - bottom);
      };
      const clip = `clip-${id}`;
      const frame = svg('clipPath', { id: clip });
      frame.append(svg('rect', { x: left, y: top, width: width - left - right, height: height - top - bottom }));
      const plot = svg('g', { 'clip-path': `url(#${clip})` });
      root.append(frame);
      const step = nice(high - low);
      for (let v = Math.ceil(low / step) * step; v <= high + 1e-9; v += step) {
        root.append(svg('line', { class: 'grid', x1: left, x2: width - right, y1: Y(v), y2: Y(v) }));
        root.append(svg('text', { x: left - 6, y: Y(v) + 4, 'text-anchor': 'end' }, number(v, 0)));
      }
      const tick = Math.max(1, nice(last / 60 * 340 / width));
      for (let m = 0; m <= last / 60 + 1e-9; m += tick) {
        root.append(svg('text', { x: X(m * 60), y: height - 4, 'text-anchor': m ? 'middle' : 'start' }, m ? `${number(m, tick < 1 ? 1 : 0)}` : '0 min'));
      }
      for (const limit of spec.limits || []) {
        if (limit.at > high) continue;
        root.append(svg('line', { class: 'limit', x1: left, x2: width - right, y1: Y(limit.at), y2: Y(limit.at) }));
        root.append(svg('text', { x: width - right, y: Y(limit.at) - 3, 'text-anchor': 'end' }, limit.name));
      }
      if (spec.bed) {
        const d = points(curves.t, spec.bed, X, Y);
        plot.append(svg('path', { class: 'bed', d: `${d}L${X(last)} ${Y(high)}L${X(0)} ${Y(high)}Z` }));
      }
      for (const bar of spec.bars || []) {
        const end = Math.min(X(bar.t + data.interval), width - right);
        plot.append(svg('rect', { x: X(bar.t), width: Math.max(1, end - X(bar.t) - 1), y: Y(bar.high), height: Math.max(0, Y(bar.low) - Y(bar.high)), fill: bar.colour }));
      }
      for (const line of spec.lines || []) {
        const path = svg('path', { class: 'line', d: points(curves.t, line.values, X, Y), stroke: line.colour });
        if (line.dash) path.setAttribute('stroke-dasharray', line.dash);
        path.append(svg('title', {}, line.name));
        plot.append(path);
      }
      root.append(plot);
      for (const mark of spec.marks || []) {
        const node = svg('path', { d: mark.shape, transform: `translate(${X(mark.t)} ${Y(mark.value)})`, fill: mark.fill, stroke: mark.stroke, 'stroke-width': 1.8 });
        node.append(svg('title', {}, mark.name));
        root.append(node);
      }
      const hover = svg('line', { class: 'hover', y1: top, y2: height - bottom, visibility: 'hidden' });
      chart.cursor = svg('line', { class: 'cursor', y1: top, y2: height - bottom });
      chart.X = X;
      root.append(hover, chart.cursor);
      const timeAt = (event) => {
        const rect = root.getBoundingClientRect();
        const part = ((event.clientX - rect.left) / rect.width * width - left) / (width - left - right);
        return Math.min(1, Math.max(0, part)) * last;
      };
      root.addEventListener('pointermove', (event) => {
        const t = timeAt(event);
        hover.setAttribute('x1', X(t));
        hover.setAttribute('x2', X(t));
        hover.setAttribute('visibility', 'visible');
        readOut(chart, t);
      });
      root.addEventListener('pointerleave', () => {
        hover.setAttribute('visibility', 'hidden');
        readOut(chart, steps[current].t);
      });
      root.addEventListener('click', (event) => select(nearestStep(timeAt(event))));
      host.replaceChildren(root);
      moveCursor(chart);
    };
    chart.draw = draw;
    charts.push(chart);
  };
  const nearestStep = (t) => {
    let best = 0;
    steps.forEach((step, k) => { if (Math.abs(step.t - t) < Math.abs(steps[best].t - t)) best = k; });
    return best;
  };
  const sampleAt = (t) => {
    let [a, b] = [0, curves.t.length - 1];
    while (a < b) { const m = (a + b) >> 1; if (curves.t[m] < t) a = m + 1; else b = m; }
    return a;
  };
  const keyLine = (colour) => {
    const key = el('span', { class: 'key-line' });
    key.style.background = colour;
    return key;
  };
  const readOut = (chart, t) => {
    const parts = chart.spec.read(sampleAt(t), t).map(([colour, words]) => el('span', {}, colour ? keyLine(colour) : '', words));
    $(`${chart.host.id.replace('-curve', '')}-out`).replaceChildren(el('span', {}, minutes(t)), ...parts);
  };
  const moveCursor = (chart) => {
    if (!chart.cursor) return;
    const x = chart.X(steps[current].t);
    chart.cursor.setAttribute('x1', x);
    chart.cursor.setAttribute('x2', x);
    readOut(chart, steps[current].t);
  };
  const finite = (...lists) => lists.flat().filter((v) => v !== null && v !== undefined);
  const colours = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)'];
  const GOOD = 'M-4 0L-1 3.4L4.5 -3.4';
  const WRONG = 'M-3.4 -3.4L3.4 3.4M3.4 -3.4L-3.4 3.4';

  const depths = curves.z.map((z) => -z);
  const bed = curves.bed ? curves.bed.map((z) => -z) : null;
  const depthRange = finite(depths, bed || []);
  const depthLow = Math.min(...depthRange, 1e9);
  const depthHigh = Math.max(...depthRange);
  const pad = Math.max(2, (depthHigh - depthLow) * 0.08);
  addChart('depth', {
    label: 'Depth of the vehicle and of the seabed below it over time',
    range: [Math.max(0, depthLow - pad), depthHigh + pad], down: true, bed,
    lines: [{ name: 'depth of the vehicle', values: depths, colour: 'var(--c1)' }],
    read: (k) => [['var(--c1)', `vehicle ${number(depths[k])}`], ...(bed ? [['var(--bed-line)', `seabed ${number(bed[k])}`]] : [])],
  });
  const distances = Object.entries(curves.distance);
  const nearestDistance = curves.t.map((_, k) => Math.min(...distances.map(([, d]) => d[k])));
  const verdictName = (r) => data.verdicts[r.verdict] || r.verdict;
  addChart('distance', {
    label: 'Distance to each target over time, with the thresholds of 30 and 100 m',
    range: [0, Math.max(data.limits.none * 1.15, Math.max(...nearestDistance) * 1.08)],
    limits: [
      { at: data.limits.full, name: `${data.limits.full} m: full score` },
      { at: data.limits.none, name: `${data.limits.none} m: none` },
    ],
    lines: [
      ...distances.map(([name, values], k) => ({ name: named(name), values: values.map((v) => Math.min(v, 1e6)), colour: colours[Math.min(k, 3)] })),
    ],
    marks: data.reports.map((r) => {
      const good = r.verdict === 'true_find';
      return { t: r.t, value: nearestDistance[sampleAt(r.t)], shape: good ? GOOD : WRONG, fill: 'none', stroke: good ? 'var(--good)' : 'var(--bad)', name: `report ${r.n}: ${r.label}, ${verdictName(r)}` };
    }),
    read: (k) => distances.map(([name, d], c) => [colours[Math.min(c, 3)], `${named(name)} ${number(d[k], 0)}`]),
  });
  if (curves.altitude || curves.obstacle) {
    const altitude = curves.altitude || curves.t.map(() => null);
    const obstacle = curves.obstacle || curves.t.map(() => null);
    addChart('clearance', {
      label: 'Altitude above the seabed and distance to the nearest rock or structure over time',
      range: [0, Math.max(data.limits.standOff * 2, ...finite(altitude, obstacle)) * 1.08],
      limits: [{ at: data.limits.standOff, name: `${data.limits.standOff} m stand-off` }],
      lines: [
        { name: 'altitude above the seabed', values: altitude, colour: 'var(--bed-line)' },
        { name: 'nearest rock or structure', values: obstacle, colour: 'var(--c2)' },
      ],
      marks: data.collisions.map((c) => ({ t: c.t, value: 0, shape: 'M0 -9L6 0H-6Z', fill: '#ffd23f', stroke: '#0b1b28', name: `collision with ${c.with}` })),
      read: (k) => [
        ['var(--bed-line)', `altitude ${number(altitude[k])}`],
        ['var(--c2)', `rock or structure ${obstacle[k] === null ? 'none near' : number(obstacle[k])}`],
      ],
    });
  } else {
    $('clearance').hidden = true;
  }
  const asked = steps.filter((s) => s.decision && (s.decision.tokensIn || s.decision.tokensOut));
  if (asked.length) {
    const most = Math.max(...asked.map((s) => s.decision.tokensIn + s.decision.tokensOut));
    addChart('effort', {
      label: 'Tokens of each decision',
      range: [0, most * 1.15],
      bars: asked.flatMap(({ t, decision: d }) => [
        { t, low: 0, high: d.tokensIn, colour: 'var(--c1)' },
        { t, low: d.tokensIn, high: d.tokensIn + d.tokensOut, colour: 'var(--c2)' },
      ]),
      marks: steps.filter((s) => s.decision && s.decision.invalid).map((s) => ({ t: s.t + data.interval / 2, value: most * 1.07, shape: WRONG, fill: 'none', stroke: 'var(--bad)', name: `${s.decision.invalid} invalid replies` })),
      read: (_, t) => {
        const d = steps.findLast((step) => step.t <= t + 1e-6).decision;
        if (!d) return [['', 'no decision']];
        const invalid = d.invalid ? [['var(--bad)', `${d.invalid} invalid`]] : [];
        return [['var(--c1)', `${d.tokensIn} in`], ['var(--c2)', `${d.tokensOut} out`], ['', `${number(d.cost, 4)} USD`], ...invalid];
      },
    });
  } else {
    $('effort').hidden = true;
  }

  // --- one decision ------------------------------------------------------------------------
  let current = 0;
  let addressing = 0;
  const CAMERAS = ['left', 'front', 'right', 'up', 'back', 'down'];
  const dialog = $('large');
  let enlarged = null;
  const enlarge = (key, caption) => {
    $('large-image').src = data.pictures[key];
    $('large-image').alt = caption;
    $('large-caption').textContent = caption;
    if (!dialog.open) dialog.showModal();
  };
  dialog.addEventListener('close', () => { enlarged = null; });
  const unit = (action) => action.startsWith('rotate') ? '°' : ' m';
  const amount = (action, value, digits = 1) => value === null || value === undefined || action === 'hold' || action === 'stop' ? '' : `${number(value, digits)}${unit(action)}`;

  const fillViews = (host, kind, step) => {
    const sensor = kind === 'camera' ? 'camera' : 'sonar';
    host.replaceChildren(...CAMERAS.filter((d) => step.views[`${kind}_${d}`]).map((direction) => {
      const name = `${kind}_${direction}`;
      const key = step.views[name];
      const seen = step.seen.filter((s) => s.sensor === `${sensor}/${direction}`);
      const caption = `${direction} ${kind === 'camera' ? 'camera' : 'sonar'}, decision ${step.i}`;
      const image = el('img', { src: data.pictures[key], alt: caption, loading: 'eager' });
      const label = seen.map((s) => `${named(s.target)} ${s.pixels || s.cells} ${s.pixels ? 'px' : 'cells'}`).join(', ');
      return el('figure', seen.length ? { class: 'has-target' } : {},
        el('button', { type: 'button', 'aria-label': `Enlarge ${caption}`, onclick: () => { enlarged = name; enlarge(key, caption); } }, image),
        el('figcaption', {}, el('span', {}, kind === 'camera' ? direction : `${direction} sonar`), label ? el('span', { class: 'in-view' }, label) : ''));
    }));
    host.hidden = !host.childElementCount;
  };
  const block = (title, content, more = '') => el('section', {}, el('h3', {}, title), el('pre', { tabindex: '0' }, content), more);

  // A re-ask repeats the whole prompt: only what is new in it is shown.
  const repeated = (call, before) => {
    if (!before) return 0;
    let k = 0;
    while (k < call.parts.length && JSON.stringify(call.parts[k]) === JSON.stringify(before.parts[k])) k += 1;
    return k;
  };
  const callNode = (call, k, calls) => {
    const node = el('div', { class: 'call' }, el('h3', {}, `Call ${k + 1}: ${call.purpose}`));
    const skipped = repeated(call, calls[k - 1]);
    if (skipped) node.append(el('p', { class: 'facts-line' }, `begins as call ${k}: ${skipped} of its ${calls[k - 1].parts.length} parts`));
    const parts = call.parts.slice(skipped);
    let role = null;
    let gallery = null;
    let label = '';
    parts.forEach((part, n) => {
      if (part.role !== role) { node.append(el('p', { class: 'role' }, part.role)); role = part.role; gallery = null; }
      if ('text' in part) {
        const words = text(part.text);
        // A short text before a picture is its label.
        if (words.length <= 120 && parts[n + 1] && 'image' in parts[n + 1]) { label = words; return; }
        node.append(el('pre', { tabindex: '0' }, words));
        gallery = null;
        return;
      }
      if (!gallery) { gallery = el('div', { class: 'sent' }); node.append(gallery); }
      const picture = part.image ? el('img', { src: data.pictures[part.image], alt: text(part.name) }) : el('em', {}, 'picture missing');
      gallery.append(el('figure', {}, picture, el('figcaption', {}, label, label ? el('br') : '', el('small', {}, text(part.name)))));
      label = '';
    });
    if (call.reply) {
      node.append(el('p', { class: 'role' }, 'reply'), el('pre', { tabindex: '0' }, text(call.reply.text) || '(empty)'), el('p', { class: 'facts-line' }, text(call.reply.facts)));
    }
    if (text(call.error)) node.append(el('p', { class: 'role' }, 'error'), el('pre', { class: 'error', tabindex: '0' }, text(call.error)));
    return node;
  };

  let openPrompt = false;
  const fillTexts = (step) => {
    const nodes = [];
    const { decision, trace } = step;
    let remembered = false;
    if (decision) {
      const reply = text(decision.reply);
      const facts = decision.tokensIn || decision.tokensOut
        ? `${decision.tokensIn} + ${decision.tokensOut} tokens · ${number(decision.cost, 4)} USD · ${number(decision.latency, 1)} s`
        : `decided in ${number(decision.latency, 2)} s`;
      const line = el('p', { class: 'facts-line' }, facts, decision.invalid ? ' · ' : '', decision.invalid ? el('span', { class: 'badge bad' }, `${decision.invalid} invalid ${decision.invalid === 1 ? 'reply' : 'replies'}`) : '');
      if (reply) nodes.push(block(trace ? "The model's reply" : 'Reply', reply, line));
      else nodes.push(el('section', {}, line));
      const description = text(decision.description);
      remembered = step.memory.length === 1 && text(step.memory[0]) === description;
      if (description && description !== reply) nodes.push(block(`What the agent says it sees${remembered ? ', and remembers' : ''}`, description));
      if (decision.finds.length) nodes.push(block('Finds it names', decision.finds.map(text).join('\n')));
    }
    if (trace && text(trace.parsed)) nodes.push(block('Understood as', text(trace.parsed)));
    if (trace && text(trace.error)) nodes.push(el('section', {}, el('h3', {}, 'Error'), el('pre', { class: 'error', tabindex: '0' }, text(trace.error))));
    if (step.memory.length && !remembered) nodes.push(block('Written to memory', step.memory.map(text).join('\n')));
    if (trace && trace.calls.length) {
      const details = el('details', {}, el('summary', {}, el('h3', {}, `What the model was told (${trace.calls.length} ${trace.calls.length === 1 ? 'call' : 'calls'})`)));
      // A prompt is long: built only when somebody looks.
      const fill = () => { if (details.childElementCount === 1) details.append(...trace.calls.map(callNode)); };
      details.addEventListener('toggle', () => { openPrompt = details.open; if (details.open) fill(); });
      if (openPrompt) { fill(); details.open = true; }
      nodes.push(details);
    }
    $('step-texts').replaceChildren(...nodes);
  };

  const fillFound = (step) => {
    const list = el('ul');
    for (const r of step.reports) {
      const kind = r.verdict === 'true_find' ? 'good' : r.verdict === 'repeat' || r.verdict === 'along' ? 'plain' : 'bad';
      list.append(el('li', {}, el('span', { class: `badge ${kind}` }, `Report ${r.n}: ${r.label}`), ` ${verdictName(r)}${r.distance === null ? '' : `, ${number(r.distance)} m from ${named(r.target || '')}`}${r.seen ? ` (${r.seen})` : ''}`));
    }
    for (const c of step.contacts) list.append(el('li', {}, el('span', { class: 'badge bad' }, 'Collision'), ` with ${c.with} on the way here, ${number(c.speed, 2)} m/s`));
    if (step.standoff[1] > 0) list.append(el('li', {}, el('span', { class: 'badge bad' }, 'Stand-off'), ` ${number(step.standoff[1])} s within ${data.limits.standOff} m of a rock or structure on the way here`));
    $('step-found').replaceChildren(...(list.childElementCount ? [list] : []));
  };

  const select = (k, scroll = false) => {
    current = Math.min(steps.length - 1, Math.max(0, k));
    const step = steps[current];
    $('slider').value = current;
    $('slider').setAttribute('aria-valuetext', `decision ${step.i}, ${minutes(step.t)}`);
    $('previous').disabled = current === 0;
    $('next').disabled = current === steps.length - 1;
    $('step-title').textContent = step.decision ? `Decision ${step.i} of ${steps.length - 1}` : `Observation ${step.i}, no decision`;
    const [x, y, z] = step.p;
    const odom = data.shifted ? ` · told ${step.odom.map((v) => number(v)).join(', ')}, yaw ${number(step.odomYaw, 0)}°` : '';
    $('step-place').textContent = `${minutes(step.t)} · ${number(x)}, ${number(y)}, ${number(z)} m · yaw ${number(step.yaw, 0)}°${odom}`;
    const order = $('step-order');
    order.replaceChildren();
    if (step.decision) {
      const d = step.decision;
      const m = step.maneuver;
      order.append(el('strong', {}, `→ ${named(d.action)} ${amount(d.action, d.magnitude, 1)}${d.course ? `, ${d.course}` : ''}`));
      if (m && amount(d.action, m.applied)) order.append(el('span', { class: 'muted' }, `made ${amount(d.action, m.applied)}${m.saturated ? ', less than asked' : ''}${m.end === 'completed' ? '' : `, ended by ${m.end}`}`));
    }
    fillViews($('cameras'), 'camera', step);
    fillViews($('sonars'), 'sonar', step);
    $('no-pictures').hidden = Object.keys(step.views).length > 0;
    fillFound(step);
    fillTexts(step);
    const mark = $('here');
    Object.assign(mark.dataset, { x, y: -y, a: -step.yaw });
    placeMark(mark, metresPerPixel());
    $('views').setAttribute('transform', `translate(${x} ${-y}) rotate(${-step.yaw})`);
    charts.forEach(moveCursor);
    if (enlarged && step.views[enlarged]) enlarge(step.views[enlarged], `${named(enlarged)}, decision ${step.i}`);
    // A browser refuses hundreds of addresses a second, as a slider that is dragged would set.
    clearTimeout(addressing);
    addressing = setTimeout(() => history.replaceState(null, '', `#step-${step.i}`), 250);
    if (scroll) $('step-title').scrollIntoView({ block: 'nearest' });
  };
  const indexOf = (hash) => {
    const match = /^#step-(\d+)$/.exec(hash);
    return match ? steps.findIndex((s) => s.i === Number(match[1])) : -1;
  };
  $('slider').addEventListener('input', (event) => select(Number(event.target.value)));
  $('previous').addEventListener('click', () => select(current - 1));
  $('next').addEventListener('click', () => select(current + 1));
  for (const link of document.querySelectorAll('a.to-step')) {
    link.addEventListener('click', (event) => {
      event.preventDefault();
      const k = indexOf(link.getAttribute('href'));
      if (k >= 0) select(k, true);
    });
  }
  window.addEventListener('hashchange', () => { const k = indexOf(location.hash); if (k >= 0) select(k); });
  document.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches('input, pre, textarea, select')) return;
    const move = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: steps.length - 1 }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    select(move);
  });
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('body > section details:not([open])')];
    for (const details of opened) details.open = true;
  });
  window.addEventListener('afterprint', () => { for (const details of opened) details.open = false; });
  new ResizeObserver(() => { drawMap(); charts.forEach((chart) => chart.draw()); }).observe(map);
  const first = indexOf(location.hash);
  select(first >= 0 ? first : 0);
})();
