// The stream of server-sent events, read with fetch so that the token stays in a header. One stream for the page; it is closed while
// the tab is hidden, unless the tab may notify the user, and continues after the last id that was seen.

import { open } from './api.js';

const listeners = new Map();
let run = null, last = null, running = null, state = 'off', wait = 500;

// Calls f(data) for messages of this type; returns a function that ends it. 'link' tells how the connection is.
export function on(type, f) {
  if (!listeners.has(type)) listeners.set(type, new Set());
  listeners.get(type).add(f);
  if (type === 'link') f(state);
  return () => listeners.get(type).delete(f);
}

function emit(type, data) {
  for (const f of listeners.get(type) ?? []) f(data);
}

function become(next) {
  if (state === next) return;
  state = next;
  emit('link', state);
}

// Follows the events of one run too; null: of none.
export function follow(id) {
  if (run === id) return;
  run = id;
  last = null;
  restart();
}

export function start() {
  document.addEventListener('visibilitychange', () => {
    if (!isNeeded()) stop();
    else if (!running) restart();
  });
  restart();
}

// A hidden tab shows nothing, but a notification is for a user who looks elsewhere.
const isNeeded = () => !document.hidden || globalThis.Notification?.permission === 'granted';

function stop() {
  running?.abort();
  running = null;
  become('paused');
}

function restart() {
  running?.abort();
  running = null;
  if (!isNeeded()) return;
  const control = new AbortController();
  running = control;
  loop(control);
}

async function loop(control) {
  let first = state === 'off';
  while (!control.signal.aborted) {
    try {
      become(first ? 'connecting' : state === 'live' ? 'live' : 'connecting');
      await read(control);
    } catch (e) {
      if (control.signal.aborted) return;
      if (e.status === 401 || e.status === 403) { become('refused'); return; }
      become('lost');
    }
    first = false;
    await new Promise(done => setTimeout(done, wait));
    wait = Math.min(wait * 2, 8000);
  }
}

async function read(control) {
  const response = await open(`stream${run ? `?run=${encodeURIComponent(run)}` : ''}`, {
    signal: control.signal, headers: { Accept: 'text/event-stream', ...(last ? { 'Last-Event-ID': last } : {}) },
  });
  become('live');
  wait = 500;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parse = parser((type, data, id) => {
    if (control.signal.aborted) return;
    if (id) last = id;
    if (type === 'reset') last = null;
    emit(type, data);
  });
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    parse(value);
  }
}

// Server-sent events from pieces of text.
export function parser(tell) {
  let rest = '', type = 'message', data = [], id = null;
  return text => {
    rest += text;
    for (let end; (end = rest.indexOf('\n')) >= 0;) {
      const row = rest.slice(0, end).replace(/\r$/, '');
      rest = rest.slice(end + 1);
      if (row === '') {
        if (data.length > 0) tell(type, JSON.parse(data.join('\n')), id);
        type = 'message';
        data = [];
        continue;
      }
      const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(row);
      if (field === 'event') type = value;
      else if (field === 'data') data.push(value);
      else if (field === 'id') id = value;
    }
  };
}
