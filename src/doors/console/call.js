// The details of one row of the timeline: everything the events say about a call, a reply of the model or a message.

import { h, button } from './dom.js';
import { download } from './api.js';
import { args, block, changeOf, copy, diff } from './text.js';
import { asCommand, at, bytes, count, duration, line, money, plain, tone } from './format.js';
import { heading, verdict } from './trace.js';

// `bare`: without the buttons, where the call is already in the playground.
export function details(item, { run, bare = false }) {
  const make = { call, model, user: message, note: message }[item.kind];
  return h('article.stack', make(item, run, bare), raw(item));
}

const section = (title, ...content) => h('section.part', h('h3', title), ...content);

function call(item, run, bare) {
  const said = verdict(item);
  return [
    h('header.stack.tight', h('h2', h('span.mono', line(item.name, 120))),
      h('div.meta', h(`span.badge.${said.tone}`, plain(said.text) || 'open'), item.agent ? h('span', `by ${line(item.agent, 60)}`) : null, item.end !== null ? h('span', duration(item.spent?.elapsed_ms ?? item.end - item.start)) : null,
        h('time', { datetime: item.events[0].time }, at(item.events[0].time))),
      bare ? null : h('div.line', copy('Copy as harness call', () => asCommand(item.name, item.args ?? {})),
        h('a.go', { href: `#playground/${encodeURIComponent(item.name)}/${encodeURIComponent(run)}/${item.seq}` }, 'Open in the playground'))),
    item.error ? section(item.status === 'refused' ? `Refused at the step “${plain(item.step ?? 'policy')}”` : 'Error', block(item.error, 'Error')) : null,
    question(item),
    section('Arguments', args(item.args)),
    item.change ? section('Change', diff(item.change.diff ?? '', item.change.path)) : item.ended && item.status === 'completed' ? null : changed(item),
    steps(item),
    item.hooks.length > 0 ? section('Hooks', hooks(item.hooks)) : null,
    sandbox(item),
    item.value !== undefined ? section('Output', output(item.value)) : null,
    item.artifacts.length > 0 ? section('Artifacts', artifacts(run, item.artifacts)) : null,
    item.delegation ? section('Sub-agent', h('p', `${line(item.delegation.agent, 60)} · ${item.delegation.model ? line(item.delegation.model, 60) : ''} ${item.delegation.status ?? ''}`)) : null,
  ];
}

function changed(item) {
  const guess = changeOf(item.args);
  return guess ? section('Asked change', diff(guess.diff, guess.path)) : null;
}

function question(item) {
  if (!item.question) return null;
  const { reason, rule } = item.question, { answer } = item;
  return section('Question', h('dl.args',
    h('dt', 'Asked because'), h('dd', plain(reason ?? rule ?? 'a rule asks')),
    answer ? [h('dt', 'Answer'), h('dd', [plain(answer.answer), answer.by && `by ${plain(answer.by)}`, answer.source && `(${plain(answer.source)})`].filter(Boolean).join(' ')),
      answer.reason ? [h('dt', 'Reason'), h('dd', plain(answer.reason))] : null,
      answer.args ? [h('dt', 'Changed to'), h('dd', block(answer.args, 'Changed arguments'))] : null]
      : [h('dt', 'Answer'), h('dd', h('a', { href: '#approvals' }, 'waits under Approvals'))]));
}

// The time of every step, as bars of one scale.
function steps(item) {
  const spent = item.spent;
  if (!spent) return null;
  const named = Array.isArray(spent.steps) ? spent.steps.map(s => [s.step ?? s.name, s.ms ?? s.elapsed_ms])
    : spent.steps && typeof spent.steps === 'object' ? Object.entries(spent.steps)
      : [['hooks', spent.hooks_ms], ['waited for a person', spent.waited_ms], ['worked', spent.worked_ms], ['checks and records', rest(spent)]];
  const rows = named.filter(([, ms]) => Number.isFinite(ms) && ms > 0), most = Math.max(...rows.map(([, ms]) => ms), 0.001);
  if (rows.length === 0) return null;
  return section('Time of every step', h('dl.steps', rows.map(([name, ms]) => [h('dt', plain(name)),
    h('dd', h('span.gauge', { css: { width: `${Math.max(1, ms / most * 100)}%` } }), h('span.amount', duration(ms)))])));
}

const rest = s => (s.elapsed_ms ?? 0) - (s.hooks_ms ?? 0) - (s.worked_ms ?? 0);

function hooks(list) {
  return h('ul.plain', list.map(k => h('li.line', h('code', plain(k.hook)), h(`span.badge.${tone({ block: 'deny' }[k.decision] ?? 'allow')}`, plain(k.decision)),
    k.reason ? h('span', plain(k.reason)) : null, h('span.hint.push', duration((k.elapsed_us ?? 0) / 1000)))));
}

function sandbox(item) {
  if (!item.sandbox && !item.denied) return null;
  const layers = item.sandbox?.layers;
  return section('Sandbox', h('dl.args',
    item.sandbox?.program ? [h('dt', 'Program'), h('dd', h('code', plain(item.sandbox.program)))] : null,
    layers ? (typeof layers === 'string' ? layers.split('\n').filter(Boolean).map(layer) : [h('dt', 'Layers'), h('dd', plain(JSON.stringify(layers)))]) : null,
    item.denied ? [h('dt', 'Denied'), h('dd', item.denied.map(d => h('p', plain(typeof d === 'string' ? d : JSON.stringify(d)))))] : null));
}

// A layer is its name, a tab and what it does.
function layer(row) {
  const [name, ...what] = row.split('\t');
  return [h('dt', plain(name)), h('dd', plain(what.join(' ')))];
}

// Output of programs as text; other values as JSON.
function output(value) {
  if (value !== null && typeof value === 'object' && typeof value.stdout === 'string') {
    const more = Object.fromEntries(Object.entries(value).filter(([k]) => k !== 'stdout' && k !== 'stderr'));
    return [value.stdout && block(value.stdout, 'Standard output'), value.stderr && h('div', h('p.hint', 'standard error'), block(value.stderr, 'Standard error')), args(more)];
  }
  return block(value ?? null, 'Output');
}

export function artifacts(run, list) {
  return h('ul.plain', list.map(entry => {
    const key = typeof entry === 'string' ? entry : entry.key ?? entry.id, path = `runs/${encodeURIComponent(run)}/artifacts/${encodeURIComponent(key)}`;
    const error = h('span.hint', { role: 'status' });
    return h('li.line', h('code', plain(key)), entry.mime && h('span.hint', plain(entry.mime)), entry.bytes !== undefined && h('span.hint', bytes(entry.bytes)), entry.tool && h('span.hint', plain(entry.tool)),
      button('Download', () => download(path, key).catch(e => { error.textContent = e.message; }), { kind: 'link' }), error);
  }));
}

function model(item) {
  const use = item.usage ?? {};
  return [
    h('header.stack.tight', h('h2', 'Reply of the model'), h('div.meta', h('span', line(item.name, 80)), h('span', item.end !== null ? duration(item.end - item.start) : 'running'),
      item.cost || use.usd ? h('span', money(item.cost ?? use.usd)) : null,
      use.input || use.output ? h('span', `${count(use.input)} in · ${count(use.output)} out${use.cached ? ` · ${count(use.cached)} cached` : ''}`) : null)),
    item.error ? section('Error', block(item.error, 'Error')) : null,
    item.reasoning ? section('Reasoning', block(item.reasoning, 'Reasoning')) : null,
    item.text ? section('Text', h('div.prose', plain(item.text))) : null,
    item.wants?.length > 0 ? section('Calls', h('p', item.wants.map(name => [h('code', line(name, 80)), ' ']))) : null,
  ];
}

function message(item) {
  const { who } = heading(item);
  return [h('header.stack.tight', h('h2', { user: 'Message of the user', task: 'Task of the sub-agent' }[who] ?? 'Note'), h('div.meta', h('time', { datetime: item.events[0].time }, at(item.events[0].time)))),
    section('Text', h('div.prose', plain(item.text))), item.attached ? section('Attached', block(item.attached, 'Attached')) : null];
}

function raw(item) {
  const box = h('details.raw', h('summary', `Raw events (${item.events.length})`));
  box.addEventListener('toggle', () => { if (box.open && box.children.length === 1) box.append(block(item.events.map(e => JSON.stringify(e, null, 1)).join('\n\n'), 'Raw events')); });
  return box;
}
