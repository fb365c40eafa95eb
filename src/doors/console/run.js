// One run: its head with the actions, the timeline beside the waterfall, the conversation to read, raw events, artifacts.

import { h, show, button, empty, failure, tabs, waiting } from './dom.js';
import { get } from './api.js';
import * as live from './live.js';
import { windowed } from './list.js';
import { Trace } from './trace.js';
import { timeline } from './timeline.js';
import { conversation } from './conversation.js';
import { artifacts } from './call.js';
import { cancel, fork, resume, tell } from './commands.js';
import { block } from './text.js';
import { age, at, count, duration, line, money, plain, plural, tone } from './format.js';

const most = 100_000;                                                // events that the page keeps

export function view(main, { parts: [id], title, redirect }) {
  const trace = new Trace(), off = [];
  let run = null, closed = false, catching = null, current = null, planned = false;

  const head = h('div.viewhead'), body = h('div.runbody', waiting(8));
  show(main, head, body);

  async function load() {
    try {
      run = await get(`runs/${encodeURIComponent(id)}`);
      if (closed) return;
      title(run.title || run.id);
      heading();
      await catchUp();
      if (closed) return;
      build();
      off.push(live.on('event', add), live.on('run', changed), live.on('hello', missed), live.on('approvals', refresh), live.on('reset', missed));
      live.follow(id);
    } catch (e) {
      if (closed) return;
      if (e.status === 404) show(main, h('div.viewbody', empty('There is no such run', 'It may have been pruned, or belong to another project.', h('p', h('a', { href: '#runs' }, 'All runs')))));
      else show(body, h('div.viewbody', failure(e, load)));
    }
  }

  // Everything after the last event that is known. The stream starts beside it; events that come twice are left out.
  function catchUp() {
    catching ??= (async () => {
      try {
        for (let next = trace.last; next !== null && !closed && trace.events.length < most;) {
          const page = await get(`runs/${encodeURIComponent(id)}/events`, { after: next, limit: 1000 });
          page.events.forEach(e => trace.add(e));
          next = page.next;
          if (page.events.length > 0) changedRows();
        }
      } finally { catching = null; }
    })();
    return catching;
  }

  function add(event) {
    if (event.run !== id) return;
    if (event.seq > trace.last + 1) catchUp();
    else if (trace.add(event)) changedRows();
  }

  function changedRows() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => { planned = false; if (!closed) current?.update?.(); });
  }

  function changed(next) {
    if (next.id !== id) return;
    Object.assign(run, next);
    heading();
  }

  // The stream has begun: what happened before it did is asked for.
  function missed() {
    catchUp();
    refresh();
  }

  async function refresh() {
    const next = await get(`runs/${encodeURIComponent(id)}`).catch(() => null);
    if (next && !closed) changed(next);
  }

  // Only what differs is replaced, so that a focused button stays.
  const facts = h('div.meta'), actions = h('div.line'), asks = h('div');
  let drawn = '';
  function heading() {
    if (!head.hasChildNodes()) show(head, h('p.crumb', h('a', { href: '#runs' }, 'Runs')), h('div.titleline', h('h1', line(run.title || run.id, 240)), actions), facts, asks);
    const long = (run.ended ? Date.parse(run.ended) : Date.now()) - Date.parse(run.started);
    show(facts, h(`span.badge.${tone(run.status)}`, plain(run.status)), run.agent ? h('span', line(run.agent, 60)) : null,
      h('time', { datetime: run.started, title: at(run.started) }, `${age(run.started)} ago`.replace('now ago', 'just now')), h('span', duration(long)),
      h('span', plural(run.turns ?? 0, 'turn')), h('span', plural(run.tool_calls ?? 0, 'call')), run.cost ? h('span', money(run.cost)) : null,
      run.parent ? h('a', { href: `#run/${encodeURIComponent(run.parent)}` }, 'forked from') : null, h('span.mono.faint', plain(run.id)));
    const key = `${run.status}`;
    if (key !== drawn) {
      drawn = key;
      const running = run.status === 'running';
      show(actions, running ? [button('Say something…', () => tell(run)), button('Cancel…', () => cancel(run), { kind: 'danger' })] : button('Resume…', () => resume(run)),
        button('Fork…', () => fork(run, trace, redirect)));
    }
    const open = run.questions?.length ?? 0;
    show(asks, open > 0 ? h('p.note.warn', h('a', { href: '#approvals' }, `${plural(open, 'question')} of this run ${open === 1 ? 'waits' : 'wait'} for an answer`)) : null);
  }

  function build() {
    const made = new Map();                                          // element → the part of the run that it shows
    const panel = make => () => { const part = make(); made.set(part.element, part); return part.element; };
    let set = null;
    set = tabs('Parts of the run', [
      ['Timeline', panel(() => timeline(trace, run))],
      ['Conversation', panel(() => conversation(trace))],
      ['Events', panel(() => events(trace))],
      ['Artifacts', panel(() => artifactList(id))],
    ], { changed: () => { if (set) current = made.get(set.panel.firstChild); current?.update?.(); } });
    set.element.classList.add('fill');
    current = made.get(set.panel.firstChild);
    show(body, set.element);
    off.push(() => made.forEach(part => part.close?.()));
    current.update?.();
  }

  const tick = setInterval(() => { if (!document.hidden && run?.status === 'running') { heading(); current?.update?.(); } }, 1000);
  load();
  return { key: e => current?.key?.(e) ?? false, close: () => { closed = true; clearInterval(tick); off.forEach(f => f()); } };
}

// Every event as it is stored.
function events(trace) {
  const detail = h('div.detail', h('p.hint', 'Select an event to see it whole.'));
  const list = windowed({
    label: 'Events', cls: 'events', height: () => 30, moved: e => show(detail, h('h2', h('span.mono', `${e.seq} ${plain(e.type)}`)), block(e, 'Event')),
    columns: [{ name: 'No.', cls: 'right' }, { name: 'Type', cls: 'mono' }, { name: 'Data', cls: 'soft.mono' }],
    cells: e => [count(e.seq), plain(e.type), line(JSON.stringify(e.data), 300)],
  });
  const split = h('div.split', list.element, detail);
  return { element: split, key: e => list.key(e), update: () => list.set(trace.events), close: list.close };
}

function artifactList(id) {
  const place = h('div.viewbody.padded', waiting(3));
  const load = () => get(`runs/${encodeURIComponent(id)}/artifacts`).then(
    list => show(place, list.length > 0 ? artifacts(id, list) : empty('No artifacts', 'Large outputs, media and what files held before a change are kept here.')),
    e => show(place, failure(e, load)));
  load();
  return { element: place };
}
