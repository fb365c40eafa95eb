// Servers: MCP servers of the project, and the agents of other vendors that harness guard judges.

import { h, show, button, empty, failure, waiting } from './dom.js';
import { get } from './api.js';
import { age, at, count, line, plain, tone } from './format.js';

export function view(main) {
  const place = h('div.viewbody', waiting(5));
  let closed = false;
  show(main, h('div.viewhead', h('h1', 'Servers')), place);
  const load = () => get('servers').then(s => { if (!closed) draw(place, s); }, e => show(place, failure(e, load)));
  load();
  return { close: () => { closed = true; } };
}

function draw(place, { servers = [], guarded = [] }) {
  show(place, h('div.stack',
    h('section.part', h('h2', 'MCP servers'), servers.length === 0 ? h('p.hint', 'This project uses none. Add one: ', h('code', 'harness mcp add NAME -- COMMAND')) : h('ul.cards', servers.map(server))),
    h('section.part', h('h2', 'Guarded agents'), guarded.length === 0 ? h('p.hint', 'No decisions of harness guard are recorded. It judges calls of Claude Code, Codex, Cursor and others: ', h('code', 'harness guard install')) : agents(guarded)),
    guarded.length > 0 ? decisions() : null));
}

function server(s) {
  const status = s.state ?? s.status ?? '', tools = Array.isArray(s.tools) ? s.tools.length : s.tools, error = s.error ?? s.last_error;
  return h('li.card', h('div.line', h('h3', line(s.name, 80)), status ? h(`span.badge.${tone(status) === 'off' && !error ? 'live' : error ? 'bad' : tone(status)}`, plain(status)) : null, tools !== undefined && tools !== null ? h('span.hint', `${count(tools)} tools`) : null),
    h('code', line(s.url ?? (Array.isArray(s.command) ? s.command.join(' ') : s.command ?? ''), 200)), error ? h('p.hint', plain(typeof error === 'string' ? error : error.message)) : null,
    s.file ? h('small.mono', plain(s.file)) : null);
}

function agents(list) {
  return h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Guarded agents' }, h('table', h('thead', h('tr', h('th', { scope: 'col' }, 'Agent'), ['Sessions', 'Decisions', 'Denied', 'Asked', 'Last'].map(t => h('th.right', { scope: 'col' }, t)))),
    h('tbody', list.map(g => h('tr', h('th', { scope: 'row' }, plain(g.vendor)), [g.sessions, g.decisions, g.denied, g.asked].map(n => h('td.right', count(n))), h('td.right', h('time', { datetime: g.last, title: at(g.last) }, age(g.last))))))));
}

// The newest decisions; more on demand, at most 300 in the page.
function decisions() {
  const body = h('tbody'), more = h('div');
  let shown = 0;
  async function load(before) {
    try {
      const page = await get('decisions', { limit: 50, before });
      for (const d of page.decisions) {
        body.append(h('tr', h('td', h(`span.badge.${tone(d.verdict)}`, plain(d.verdict))), h('td', plain(d.vendor)), h('td', h('span.mono', line(d.tool || d.vendor_tool, 60)), ' ', h('span.gist', line(d.subject, 120))), h('td', line(d.rule ?? '', 60), d.reason ? h('div.hint', line(d.reason, 200)) : null), h('td.right', h('time', { datetime: d.time, title: at(d.time) }, age(d.time)))));
        shown++;
      }
      show(more, page.next !== null && shown < 300 ? button('Earlier decisions', () => load(page.next)) : null);
      if (shown === 0) show(more, empty('No decisions', null));
    } catch (e) {
      show(more, failure(e, () => load(before)));
    }
  }
  load();
  return h('section.part', h('h2', 'Decisions'), h('div.scroll', { tabindex: '0', role: 'region', 'aria-label': 'Decisions' }, h('table', h('thead', h('tr', ['Verdict', 'Agent', 'Call', 'Rule'].map(t => h('th', { scope: 'col' }, t)), h('th.right', { scope: 'col' }, 'Age'))), body)), more);
}
