// Runs: the live list. New runs wait behind a button, so that rows do not move while the user reads them.

import { h, show, button, empty, failure, say, waiting } from './dom.js';
import { get } from './api.js';
import * as live from './live.js';
import { windowed } from './list.js';
import { age, at, money, count, plural, line, plain, tone } from './format.js';

const states = ['queued', 'waiting', 'running', 'completed', 'failed', 'interrupted', 'cancelled'];
const narrow = matchMedia('(max-width: 48rem)');
const kept = { search: '', status: '', since: '', all: false };      // the filter outlives the view

export function view(main, { redirect }) {
  const known = new Map();
  let runs = [], pending = [], next = null, loading = null, ended = false, timer = 0, version = 0;

  const search = h('input', { type: 'search', placeholder: 'Search title, agent or id', 'aria-label': 'Search runs', value: kept.search, on: { input: () => later('search', search.value) } });
  const status = choice('State', [['', 'Any state'], ...states.map(s => [s, s])], 'status');
  const since = choice('Age', [['', 'Any age'], ['1h', 'Last hour'], ['24h', 'Last day'], ['7d', 'Last week'], ['30d', 'Last month']], 'since');
  const all = h('input', { type: 'checkbox', checked: kept.all, on: { change: () => { kept.all = all.checked; load(); } } });
  const fresh = h('span.fresh', { role: 'status' });
  const list = windowed({
    label: 'Runs, newest first', cls: 'runs', height: () => (narrow.matches ? 56 : 40), more, cells, open: run => redirect(`run/${encodeURIComponent(run.id)}`),
    columns: [{ name: 'State', cls: 'state' }, { name: 'Title', cls: 'main' }, { name: 'Agent', cls: 'agent.soft' }, { name: 'Calls', cls: 'calls.right' },
      { name: 'Cost', cls: 'cost.right' }, { name: 'Age', cls: 'age.right' }],
  });
  const place = h('div.grid', waiting()), below = h('p.below');
  show(main, h('div.viewhead', h('h1', 'Runs'), h('div.filters', search, status, since, h('label.check', all, 'Single calls too'), fresh)), place, below);

  function choice(label, options, key) {
    const select = h('select', { 'aria-label': label, on: { change: () => { kept[key] = select.value; load(); } } }, options.map(([v, text]) => h('option', { value: v }, text)));
    select.value = kept[key];
    return select;
  }

  function later(key, value) {
    kept[key] = value;
    clearTimeout(timer);
    timer = setTimeout(load, 200);
  }

  function cells(run) {
    return [
      h(`span.badge.${run.open > 0 ? 'warn' : tone(run.status)}`, plain(run.status)),
      run.title ? line(run.title, 160) : h('span.untitled', run.id),
      run.agent ? line(run.agent, 40) : '', run.tool_calls ? count(run.tool_calls) : '', money(run.cost),
      h('time', { datetime: run.started, title: at(run.started) }, age(run.started)),
    ];
  }

  async function load() {
    const mine = ++version;
    loading = null;
    pending = [];
    announce();
    try {
      const page = await get('runs', { limit: 100, ...kept });
      if (mine !== version) return;
      runs = [];
      known.clear();
      next = page.next;
      add(page.runs);
      list.top();
      if (runs.length === 0 && next === null) nothing();
      else draw();
      if (runs.length === 0 && next !== null) more();
    } catch (e) {
      if (mine === version) show(place.isConnected ? place : replace(list.element, place), h('div.viewbody', failure(e, load)));
    }
  }

  function add(page) {
    for (const run of page) if (!known.has(run.id)) { known.set(run.id, run); runs.push(run); }
    ended = next === null;
  }

  function replace(old, by) {
    old.replaceWith(by);
    return by;
  }

  function draw() {
    if (!list.element.isConnected) replace(place, list.element);
    list.set(runs, ended);
    show(below, ended ? plural(runs.length, 'run') : `${count(runs.length)} loaded, more as you scroll`,
      h('span.keys.push', h('kbd', 'j'), ' ', h('kbd', 'k'), ' move  ', h('kbd', 'Enter'), ' open  ', h('kbd', '/'), ' search'));
  }

  function nothing() {
    const filtered = kept.search || kept.status || kept.since;
    if (list.element.isConnected) replace(list.element, place);
    show(below, 'No runs');
    show(place, filtered
      ? empty('No run matches', 'Change the search or the filters.', button('Show all', clear))
      : empty('No runs yet', 'Runs of this project appear here as soon as they start.', h('p', 'Start one: ', h('code', 'harness run -p "list the files"'))));
  }

  function clear() {
    Object.assign(kept, { search: '', status: '', since: '' });
    search.value = status.value = since.value = '';
    load();
  }

  // One page at a time; a page can be empty although there are more.
  function more() {
    if (loading || next === null) return;
    const mine = version;
    loading = get('runs', { limit: 200, before: next, ...kept }).then(page => {
      if (mine !== version) return;
      next = page.next;
      add(page.runs);
      loading = null;
      if (runs.length === 0 && next === null) nothing();
      else draw();
    }, e => { if (mine === version) show(below, h('span', `More runs could not be loaded: ${e.message} `), button('Try again', () => { loading = null; more(); }, { kind: 'link' })); });
  }

  function changed(run) {
    const old = known.get(run.id);
    if (old) {
      Object.assign(old, run, { version: (old.version ?? 0) + 1 });
      list.draw();
      return;
    }
    const waits = pending.findIndex(p => p.id === run.id);
    if (waits >= 0) pending[waits] = run;
    else if (matches(run)) pending.push(run);
    if (runs.length === 0 && next === null && pending.length > 0) take();
    else announce();
  }

  function matches(run) {
    const text = `${run.title ?? ''}\n${run.agent ?? ''}\n${run.id}`.toLowerCase();
    return (kept.all || run.title) && (!kept.status || run.status === kept.status) && text.includes(kept.search.toLowerCase());
  }

  function announce() {
    show(fresh, pending.length > 0 ? button(`${count(pending.length)} new`, take, { kind: 'primary' }) : null);
  }

  function take() {
    pending.sort((a, b) => (a.id < b.id ? 1 : -1));
    for (const run of pending) known.set(run.id, run);
    runs = [...pending, ...runs];
    say(`${plural(pending.length, 'run')} added`);
    pending = [];
    announce();
    draw();
    list.top();
  }

  const off = [live.on('run', changed), live.on('reset', load)];
  const tick = setInterval(() => { if (!document.hidden) { for (const run of runs.slice(0, 200)) run.version = (run.version ?? 0) + 1; list.draw(); } }, 30_000);
  load();
  return { key: e => list.key(e), close: () => { version++; clearTimeout(timer); clearInterval(tick); list.close(); off.forEach(f => f()); } };
}
