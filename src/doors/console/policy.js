// Policy: every tool and what covers it; the simulator.

import { h, show, empty, failure, tabs, waiting } from './dom.js';
import { get } from './api.js';
import { simulator } from './simulator.js';
import { count, duration, line, plain, plural } from './format.js';

// The simulator is shown when the server has one: /api/about says so.
export function view(main, { parts: [part], about }) {
  const head = h('div.viewhead', h('h1', 'Policy'));
  if (!about?.simulator) {
    show(main, head, coverage());
    return {};
  }
  let second = null, shown = 0;
  const made = tabs('Parts of the policy', [['Coverage', coverage], ['Simulator', () => { second = simulator(); return second.element; }]], { start: part === 'simulator' ? 1 : 0, changed: i => { shown = i; } });
  made.element.classList.add('fill');
  show(main, head, h('div.runbody', made.element));
  return { key: e => (shown === 1 ? second.key(e) : false), close: () => second?.close() };
}

const isLimit = guard => guard.kind === 'limit';

function coverage() {
  const place = h('div.viewbody.padded', waiting(6));
  const load = () => get('policy').then(graph => draw(place, graph), e => show(place, failure(e, load)));
  load();
  return place;
}

function draw(place, graph) {
  const agents = graph.agents ?? [];
  const agent = h('select', { 'aria-label': 'Agent', on: { change: table } }, agents.map((a, i) => h('option', { value: String(i) }, a.name ? line(a.name, 60) : 'Main agent')));
  const bare = h('input', { type: 'checkbox', on: { change: table } }), body = h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Tools and what covers them' });
  const facts = h('p.meta');
  show(place, h('div.stack', h('div.filters', agent, h('label.check', bare, 'Only what nothing covers'), facts), body, limits(graph), idle(graph)));
  table();

  function table() {
    const tools = agents[Number(agent.value)]?.tools ?? [], open = tools.filter(t => !t.denied && !(t.guards ?? []).some(g => !isLimit(g)));
    show(facts, `${plural(tools.length, 'tool')}, ${count(open.length)} covered by nothing but limits`);
    const rows = bare.checked ? open : tools;
    if (rows.length === 0) { show(body, empty(tools.length === 0 ? 'This agent has no tools' : 'Every tool is covered', tools.length === 0 ? null : 'Each tool of this agent has a rule, a hook or a confirmation.')); return; }
    show(body, h('table.cover', h('thead', h('tr', ['Tool', 'Rules and confirmations', 'Hooks', 'Limits'].map(t => h('th', { scope: 'col' }, t)))),
      h('tbody', rows.slice(0, 300).map(t => row(t, open.includes(t))))), rows.length > 300 ? h('p.hint', `and ${count(rows.length - 300)} more; harness inspect --graph lists all`) : null);
  }
}

function row(tool, uncovered) {
  const guards = tool.guards ?? [], of = kinds => guards.filter(kinds);
  const rules = of(g => g.kind !== 'hook' && !isLimit(g));
  return h('tr', h('th', { scope: 'row' }, h('span.mono', line(tool.name, 60)), h('br'), h('small', [plain(tool.kind), tool.server && `server ${plain(tool.server)}`].filter(Boolean).join(' · '))),
    h('td', tool.denied ? h('span.tag.bad', 'denied') : uncovered ? h('span.tag.warn', 'nothing covers it') : null, list(rules)), h('td', list(of(g => g.kind === 'hook'))), h('td', list(of(isLimit))));
}

function list(guards) {
  return guards.length === 0 ? null : h('ul.plain', guards.map(g => h('li', h('span', isLimit(g) ? limit(g.name) : plain(g.name)), g.effect && g.kind !== 'limit' ? h('small', ` ${plain(g.effect)}`) : null,
    g.when ? h('div', h('code', line(g.when, 160))) : null, g.file ? h('div', h('small.mono', `${plain(g.file)}${g.line ? `:${g.line}` : ''}`)) : null)));
}

// "timeout 600000 ms" in the units of a reader.
const limit = name => plain(name).replace(/(\d+) ms$/, (all, ms) => duration(Number(ms)).replace(/ min 0 s$/, ' min'));

function limits(graph) {
  const all = Object.entries(graph.limits ?? {});
  return all.length === 0 ? null : h('section.part', h('h2', 'Limits of a run'), h('dl.args', all.map(([k, v]) => [h('dt', plain(k)), h('dd', typeof v === 'number' ? count(v) : plain(JSON.stringify(v)))])));
}

function idle(graph) {
  const hooks = graph.idle_hooks ?? [];
  return hooks.length === 0 ? null : h('section.part', h('h2', 'Hooks that cover no tool'), h('ul.plain', hooks.map(k => h('li.mono', plain(typeof k === 'string' ? k : k.name)))));
}
