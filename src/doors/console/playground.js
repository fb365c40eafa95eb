// Playground: call one tool as `harness call` does, through the whole policy. A form or JSON; the trace; earlier calls; save as test.

import { h, show, button, empty, failure, say, tabs, waiting } from './dom.js';
import { get, post } from './api.js';
import { form } from './form.js';
import { block, copy } from './text.js';
import { Trace } from './trace.js';
import { details } from './call.js';
import { saveTest } from './savetest.js';
import { age, asCommand, line, plain, tone } from './format.js';

const drafts = new Map();                                            // tool → arguments that were written, kept while the page is open

export function view(main, { parts: [wanted, fromRun, fromSeq] }) {
  let tools = [], tool = null, fields = null, source = null, showing = 0, closed = false;
  const search = h('input', { type: 'search', placeholder: 'Search tools', 'aria-label': 'Search tools', on: { input: draw } });
  const names = h('ul.picklist', { 'aria-label': 'Tools' }), work = h('div.work'), side = h('div.picker', search, names);
  const select = h('select.only-narrow', { 'aria-label': 'Tool', on: { change: () => choose(select.value) } });
  show(main, h('div.viewhead', h('h1', 'Playground'), select), h('div.two', side, work));
  show(work, waiting(5));

  async function load() {
    try {
      tools = await get('tools');
      if (closed) return;
      draw();
      show(select, tools.map(t => h('option', { value: t.name }, line(t.name, 60))));
      if (tools.length === 0) { show(work, empty('No tools', 'This project has no tools yet.', h('p', 'Make one: ', h('code', 'harness new tool hello')))); return; }
      const name = tools.some(t => t.name === wanted) ? wanted : tools[0].name;
      choose(name);
      if (wanted && name !== wanted) say(`There is no tool ${wanted} now`);
      if (fromRun && fromSeq && name === wanted) await fill(fromRun, Number(fromSeq));
    } catch (e) {
      if (!closed) show(work, failure(e, load));
    }
  }

  function draw() {
    const text = search.value.toLowerCase();
    show(names, tools.filter(t => `${t.name} ${t.title ?? ''}`.toLowerCase().includes(text)).slice(0, 250).map(t => h('li',
      h('button.pick', { type: 'button', 'aria-pressed': String(t.name === tool?.name), on: { click: () => choose(t.name) } }, h('span', line(t.name, 60)), h('small', plain(t.kind ?? ''))))));
  }

  // The arguments of a recorded call.
  async function fill(run, seq) {
    const { events } = await get(`runs/${encodeURIComponent(run)}/events`, { after: seq - 1, limit: 1 });
    if (events[0]?.data?.args) write(events[0].data.args);
  }

  let page = null;
  function write(args) {
    drafts.set(tool.name, args);
    fields.set(args);
    source.value = JSON.stringify(args, null, 2);
  }

  // Both tabs hold the same arguments: the one that is left is read, the other one is filled.
  function read() {
    return showing === 0 ? fields.get() : JSON.parse(source.value || '{}');
  }

  function choose(name) {
    tool = tools.find(t => t.name === name);
    select.value = name;
    for (const b of names.querySelectorAll('.pick')) b.setAttribute('aria-pressed', String(b.firstChild.textContent === line(name, 60)));
    fields = form(tool.parameters ?? { type: 'object', properties: {} });
    source = h('textarea.mono', { rows: '12', spellcheck: 'false', 'aria-label': 'Arguments as JSON' });
    const trouble = h('div'), result = h('div.stack'), history = h('div.stack');
    showing = 0;
    page = tabs('Ways to write the arguments', [['Form', () => h('div.stack.padded', fields.element)], ['JSON', () => h('div.padded', source)]], {
      changed: i => {
        if (i === showing) return;
        try {
          const args = read();
          if (i === 1) source.value = JSON.stringify(args ?? {}, null, 2);
          else fields.set(args);
          show(trouble);
        } catch (e) {
          if (i === 0) show(trouble, h('p.note.bad', { role: 'alert' }, `The JSON tab has an error, so the form does not have its changes: ${e.message}`));
        }
        showing = i;
      },
    });
    if (drafts.has(name)) write(drafts.get(name));
    const call = button('Call', () => run(), { kind: 'primary' });
    const s = tool.safety ?? {};
    show(work, h('div.stack.measure', h('div.stack.tight', h('h2', h('span.mono', line(tool.name, 120))), tool.description ? h('p.prose', plain(tool.description.slice(0, 2000))) : null,
      h('div.line', h('span.tag', plain(tool.kind ?? '')), s.read_only ? h('span.tag', 'only reads') : null, s.destructive ? h('span.tag.bad', 'destructive') : null, s.networked ? h('span.tag', 'network') : null,
        s.requires_confirmation ? h('span.tag.warn', 'asks a person') : null)),
    page.element, trouble, h('div.line', call, copy('Copy as harness call', () => asCommand(tool.name, safely() ?? {})), button('Save as test…', () => save(null)), h('span.hint', { role: 'status' })), result, history));
    past(history);

    function safely() {
      try { show(trouble); return read() ?? {}; } catch (e) { show(trouble, h('p.note.bad', { role: 'alert' }, e.message)); return null; }
    }

    function save(outcome) {
      const args = safely();
      if (args) saveTest({ tool: tool.name, args, outcome });
    }

    async function run() {
      const args = safely();
      if (args === null) return;
      drafts.set(tool.name, args);
      call.disabled = true;
      show(result, h('p.badge.live', { role: 'status' }, 'Calling. A question about it waits under Approvals.'));
      try {
        const answer = await post('call', { tool: tool.name, args });
        show(result, await outcome(answer, args, save));
        say(answer.result?.is_error ? 'The call failed' : 'The call completed');
      } catch (e) {
        show(result, failure(e));
      }
      call.disabled = false;
      past(history);
    }
  }

  async function outcome(answer, args, save) {
    const trace = new Trace();
    if (answer.run) (await get(`runs/${encodeURIComponent(answer.run)}/events`, { limit: 1000 }).catch(() => ({ events: [] }))).events.forEach(e => trace.add(e));
    const item = trace.items.find(i => i.kind === 'call');
    const failed = answer.result?.is_error ?? answer.exit !== 0;
    return [h('section.result', { 'aria-label': 'Result' },
      item ? details(item, { run: answer.run, bare: true }) : h('div.stack', h('h2', failed ? 'The call failed' : 'Result'), block(answer.result?.value ?? answer.result?.content ?? answer.errors ?? '', 'Result')),
      !item && answer.errors ? block(answer.errors, 'Messages') : null,
      h('div.line', answer.run ? h('a', { href: `#run/${encodeURIComponent(answer.run)}` }, 'Open the run') : null, button('Save this outcome as test…', () => save({ failed, item, value: answer.result?.value }))))];
  }

  async function past(place) {
    const mine = tool.name;
    try {
      const { calls } = await get('calls', { tool: mine, limit: 20 });
      if (closed || tool.name !== mine) return;
      show(place, h('h2', 'Earlier calls'), calls.length === 0 ? h('p.hint', 'No calls of this tool are recorded.')
        : h('ul.history', calls.map(c => h('li.line', h(`span.badge.${tone(c.outcome)}`, plain(c.outcome)), h('code.gist', line(JSON.stringify(c.args), 100)), c.rule ? h('span.tag', line(c.rule, 40)) : null,
          h('span.push.line', c.redacted ? null : button('Use', () => write(c.args), { kind: 'link', 'aria-label': `Use these arguments: ${line(JSON.stringify(c.args), 60)}` }), h('a', { href: `#run/${encodeURIComponent(c.run)}` }, 'run'), h('time.hint', { datetime: c.time }, age(c.time)))))));
    } catch (e) {
      show(place, h('h2', 'Earlier calls'), h('p.hint', `They could not be read: ${e.message}`));
    }
  }

  load();
  return { close: () => { closed = true; } };
}
