// The timeline: one row a step, its bar in time beside it, and the details of the selected row.

import { h, show, button } from './dom.js';
import { windowed } from './list.js';
import { heading, verdict } from './trace.js';
import { details } from './call.js';
import { duration, line, money, plain, plural } from './format.js';

const narrow = matchMedia('(max-width: 48rem)');

export function timeline(trace, run) {
  let picked = null, pickedVersion = -1;
  const detail = h('div.detail', { role: 'region', 'aria-label': 'Details' });
  const list = windowed({
    label: 'Steps of the run', role: 'treegrid', cls: 'trace', stick: true, height: () => (narrow.matches ? 50 : 32), level: item => item.level,
    classes: item => (item.kind === 'note' ? `remark ${item.tone}` : item.kind), cells, moved: pick, open: () => split.classList.add('picked'),
    columns: [{ name: 'Step', cls: 'step' }, { name: 'Verdict and rule', cls: 'verdict' }, { name: 'Waterfall', cls: 'fall' }, { name: 'Time', cls: 'right.took' }],
  });
  const split = h('div.split.wide', list.element, detail);

  function cells(item) {
    const { who, what } = heading(item), said = verdict(item), ends = item.end ?? now();
    const step = h('span.what', { css: { 'padding-left': `${Math.min(item.level - 1, 8) * 1.1}rem` } },
      h('span.mark', { 'aria-hidden': 'true' }), item.depth > 0 && item.kind === 'user' ? h('span.who', line(item.agent, 40)) : h('span.who', plain(who)), h('span.gist', what));
    return [step, said.text ? h(`span.badge.${said.tone}`, said.text) : '', fall(item, ends), item.kind === 'note' || item.kind === 'user' ? '' : duration(item.spent?.elapsed_ms ?? ends - item.start)];
  }

  const now = () => (run.status === 'running' ? Math.max(Date.now(), trace.end) : trace.end);

  // The bar: from start to end, with the time that a person took to answer in another tone.
  function fall(item, ends) {
    const all = Math.max(1, now() - trace.start), left = (item.start - trace.start) / all * 100, width = Math.max(0, (ends - item.start) / all * 100);
    if (item.kind === 'note' || item.kind === 'user') return h('span.track', { 'aria-hidden': 'true' }, h('span.point', { css: { left: `${Math.min(left, 99.5)}%` } }));
    const waited = item.spent?.waited_ms && ends > item.start ? Math.min(1, item.spent.waited_ms / (ends - item.start)) : 0;
    return h('span.track', { 'aria-hidden': 'true' }, h(`span.span.${item.kind}.${item.status === 'asked' ? 'warn' : verdict(item).tone}`, { css: { left: `${Math.min(left, 99.5)}%`, width: `max(2px, ${width}%)` } },
      waited > 0.01 ? h('span.waited', { css: { width: `${waited * 100}%` } }) : null));
  }

  function pick(item) {
    picked = item;
    pickedVersion = item.version;
    show(detail, h('p.backline', button('Back to the timeline', () => split.classList.remove('picked'), { kind: 'link' })), details(item, { run: run.id }));
    detail.scrollTop = 0;
  }

  function overview() {
    const prompt = trace.items.find(i => i.kind === 'user' && i.depth === 0), answer = trace.items.findLast(i => i.kind === 'model' && i.depth === 0 && i.text);
    const calls = trace.items.filter(i => i.kind === 'call'), trouble = calls.filter(i => ['refused', 'failed', 'asked'].includes(i.status));
    show(detail, h('article.stack', h('h2', 'Overview'),
      prompt ? h('section.part', h('h3', 'First message'), h('div.prose', plain(prompt.text.slice(0, 4000)))) : null,
      answer ? h('section.part', h('h3', run.status === 'running' ? 'Last reply so far' : 'Last reply'), h('div.prose', plain(answer.text.slice(0, 4000)))) : null,
      h('section.part', h('h3', 'Needs attention'), trouble.length === 0
        ? h('p.hint', calls.length > 0 ? `Nothing: ${plural(calls.length, 'call')}, none was blocked or failed.` : 'Nothing: no calls.')
        : h('ul.plain', trouble.slice(0, 20).map(i => h('li', button(`${line(i.name, 40)} ${heading(i).what}`.slice(0, 120), () => choose(i), { kind: 'link' }), ' ', h(`span.badge.${verdict(i).tone}`, verdict(i).text))),
          trouble.length > 20 ? h('li.hint', `and ${trouble.length - 20} more`) : null)),
      run.cost ? h('section.part', h('h3', 'Cost'), h('p', money(run.cost))) : null));
  }

  function choose(item) {
    const i = trace.rows.indexOf(item);
    if (i < 0) return;
    list.element.scrollTop = Math.max(0, i * 32 - 100);
    list.select(i);
    split.classList.add('picked');
  }

  let shownItems = -1;
  function update() {
    const live = run.status === 'running';
    if (live) for (const item of trace.items.slice(-400)) item.version++;   // bars grow with time
    list.set(trace.rows);
    if (picked) { if (picked.events.length !== picked.seenEvents) { picked.seenEvents = picked.events.length; if (pickedVersion >= 0 && !detail.contains(document.activeElement)) pick(picked); } }
    else if (shownItems !== trace.items.length) { shownItems = trace.items.length; if (!detail.contains(document.activeElement)) overview(); }
  }
  return { element: split, key: e => list.key(e), update, close: list.close };
}
