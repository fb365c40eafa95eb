// Bridge tools: a notification, a dialog or a file picker that an agent asked for. They are labelled with the agent and are never approvals.

import { h, button, dialog, failure, show } from './dom.js';
import { get, post } from './api.js';
import * as live from './live.js';
import { line, plain } from './format.js';

const open = new Map();

// The stream tells of the open ones when it begins.
export function start() {
  live.on('dialog', take);
}

function take(d) {
  if (d.state === 'closed') { open.get(d.id)?.(); open.delete(d.id); return; }
  if (open.has(d.id)) return;
  open.set(d.id, banner(d));
}

const from = d => `${d.agent ? `Agent ${line(d.agent, 60)}` : 'The agent'} says`;

// A banner in a corner: it does not take the focus.
function banner(d) {
  const place = document.body.querySelector('.banners') ?? document.body.appendChild(h('section.banners', { 'aria-label': 'Messages of agents' }));
  const box = h('div.card', { role: 'status' }, h('small', from(d)), h('h2', line(d.title, 120)), d.message ? h('p', plain(String(d.message).slice(0, 2000))) : null);
  const close = () => { box.remove(); open.delete(d.id); };
  const answer = body => post(`dialogs/${encodeURIComponent(d.id)}`, body).then(close, e => { if (e.status === 409 || e.status === 404) close(); else box.append(failure(e)); });
  box.append(h('div.line', d.kind === 'dialog' ? (d.buttons ?? []).slice(0, 6).map(text => button(line(text, 40), () => answer({ button: text }))) : null,
    d.kind === 'files' ? button('Choose…', () => choose(d, answer)) : null, button(d.kind === 'notify' ? 'Close' : 'No answer', () => answer({ dismissed: true }), { kind: 'quiet' })));
  place.append(box);
  return close;
}

// Files of the workspace only: the server lists them.
function choose(d, answer) {
  dialog(line(d.title, 120), close => {
    const list = h('ul.picklist'), chosen = new Set(), where = h('p.mono.hint');
    const load = under => get('paths', { under }).then(paths => {
      where.textContent = under || '.';
      show(list, under ? h('li', button('..', () => load(under.replace(/[^/]*\/?$/, '')), { kind: 'quiet' })) : null, paths.slice(0, 300).map(p => h('li', p.endsWith('/') ? button(plain(p), () => load(p), { kind: 'quiet' })
        : h('label.check', h('input', { type: d.multiple ? 'checkbox' : 'radio', name: 'path', on: { change: e => { if (!d.multiple) chosen.clear(); if (e.target.checked) chosen.add(p); else chosen.delete(p); } } }), plain(p)))));
    }, e => show(list, failure(e)));
    load('');
    return h('div.stack', h('small', from(d)), where, list, h('div.line', button('Choose', () => { answer({ paths: [...chosen] }); close(); }, { kind: 'primary' }), button('Back', close, { kind: 'quiet' })));
  });
}
