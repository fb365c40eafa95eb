// Project: problems, files, what the files define, and the graph: which agent has which tool, and what guards it.

import { h, show, button, failure, waiting } from './dom.js';
import { get } from './api.js';
import { block } from './text.js';
import { problem } from './simulator.js';
import { bytes, line, plain, plural } from './format.js';

export function view(main, { about }) {
  const place = h('div.viewbody', waiting(6)), trusted = h('span');
  let closed = false;
  show(main, h('div.viewhead', h('h1', 'Project'), h('div.meta', h('span.mono', plain(about?.root)), h('span', `harness ${plain(about?.version)}`), trusted)), place);
  async function load() {
    try {
      const [project, files, trust, policy] = await Promise.all([get('project'), get('files'), get('trust'), get('policy').catch(() => null)]);
      if (closed) return;
      show(trusted, h(`span.badge.${isTrusted(trust) ? 'done' : 'warn'}`, trust.state === 'not needed' ? 'needs no trust' : plain(trust.state)));
      draw(place, project, files, trust, policy);
    } catch (e) {
      if (!closed) show(place, failure(e, load));
    }
  }
  load();
  return { close: () => { closed = true; } };
}

const isTrusted = trust => ['trusted', 'not needed'].includes(trust.state);

function draw(place, project, files, trust, policy) {
  const text = h('div'), problems = project.problems ?? [];
  const open = async path => {
    try { show(text, h('h3.mono', plain(path)), block((await get('file', { path })).text, path)); } catch (e) { show(text, failure(e, () => open(path))); }
  };
  show(place, h('div.stack',
    isTrusted(trust) ? null : h('div.note.warn', h('p', 'Calls, resume, fork and the simulator are off until you trust this project. Read its files, then run in a terminal: ', h('code', 'harness trust')),
      h('ul.plain', (trust.grants ?? []).slice(0, 50).map(grant))),
    h('section.part', h('h2', 'Problems'), problems.length === 0 ? h('p.hint', 'None: every file loads.') : h('ul.plain.problems', problems.slice(0, 200).map(problem))),
    h('div.columns', part('Agents', project.agents), part('Hooks', project.hooks), part('Rules', project.rules), part('Tools', project.tools)),
    graph(policy?.agents),
    h('section.part', h('h2', 'Policy files'), files.length === 0 ? h('p.hint', 'There are none yet. ', h('code', 'harness init')) : h('ul.files', files.slice(0, 300).map(f => h('li.line', button(plain(f.path), () => open(f.path), { kind: 'link' }), h('span.hint', bytes(f.bytes)))))), text));
}

// As harness trust prints it: what it asks for, and where that is written.
function grant(g) {
  return h('li', line(g.what, 120), ' ', h('span.mono', line(g.value, 200)), ' ', h('small.mono', `${plain(g.file)}${g.line ? `:${g.line}` : ''}`));
}

// Agent, its tools, and the guards of each, as harness inspect --graph prints them. A project that does not load has none.
function graph(agents) {
  const name = a => (a.name ? line(a.name, 60) : 'Main agent'), tools = a => (a.tools ?? []).slice(0, 100);
  const guards = t => (t.guards ?? []).slice(0, 30).map(g => [plain(g.name), plain(g.effect)].filter(Boolean).join(' ')).join(' · ');
  return !Array.isArray(agents) ? null : h('section.part', h('h2', 'Graph'), h('p.hint', 'Each agent, its tools, and what guards them'), agents.slice(0, 100).map(a => h('details.raw',
    h('summary', `${name(a)}: ${plural((a.tools ?? []).length, 'tool')}`), h('ul.plain', tools(a).map(t => h('li', h('span.mono', line(t.name, 60)), ' ', h('small', t.denied ? 'denied' : line(guards(t), 400) || 'nothing guards it')))))));
}

function part(title, list) {
  const all = Array.isArray(list) ? list : [];
  return h('section.part', h('h2', title), h('p.hint', plural(all.length, title.slice(0, -1).toLowerCase())), h('ul.plain', all.slice(0, 100).map(x => {
    const name = typeof x === 'string' ? x : x.name ?? x.id ?? '';
    return h('li', h('span.mono', line(name, 80)), typeof x === 'object' && x.file ? h('div', h('small.mono', `${plain(x.file)}${x.line ? `:${x.line}` : ''}`)) : null);
  })), all.length > 100 ? h('p.hint', `and ${all.length - 100} more`) : null);
}
