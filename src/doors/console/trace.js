// Events of a run, made into the rows of its timeline: messages, replies of the model, calls with everything that belongs to them,
// sub-agents below the call that started them.

import { summary, line } from './format.js';

// Milliseconds with their fraction; Date.parse drops what is below one.
export function instant(time) {
  const [, whole, fraction = '0'] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [null, time, '0'];
  const ms = Date.parse(`${whole}Z`);
  return Number.isNaN(ms) ? Date.parse(time) : ms + Number(`0.${fraction}`) * 1000;
}

export class Trace {
  items = [];                                                        // in the order of their first event
  last = 0;                                                          // number of the newest event
  events = [];
  turns = [];
  #calls = new Map();                                                // id of a call → its newest row
  #models = new Map();                                               // agent and delegation → the reply that is open
  #rows = null;

  // Adds an event; one that is known is left out.
  add(event) {
    if (event.seq <= this.last) return false;
    this.last = event.seq;
    this.events.push(event);
    const time = instant(event.time), data = event.data ?? {};
    this.start ??= time;
    this.end = Math.max(this.end ?? time, time);
    (handlers[event.type] ?? handlers[event.type.split('.')[0]])?.(this, event, data, time);
    this.#rows = null;
    return true;
  }

  // The rows with sub-agents below the call that started them.
  get rows() {
    if (this.#rows) return this.#rows;
    const children = new Map(), top = [];
    for (const item of this.items) {
      const parent = item.parent ? this.#parents.get(item.parent) : null;
      if (!parent || parent === item) { top.push(item); continue; }
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(item);
    }
    const rows = [];
    const walk = (item, level) => {
      item.level = level;
      rows.push(item);
      for (const child of children.get(item) ?? []) walk(child, level + 1);
    };
    top.forEach(item => walk(item, 1));
    this.#rows = rows;
    return rows;
  }
  #parents = new Map();

  row(kind, event, time, more) {
    const item = { kind, seq: event.seq, start: time, end: time, agent: event.agent, depth: event.depth, parent: event.parent, events: [event], version: 0, ...more };
    this.items.push(item);
    return item;
  }

  model(event) {
    return this.#models.get(`${event.agent}\n${event.parent}`);
  }

  openModel(event, item) {
    this.#models.set(`${event.agent}\n${event.parent}`, item);
  }

  // The row of a call; one that was refused before it started gets its row here.
  call(event, data, time, isNew = false) {
    let item = this.#calls.get(data.id);
    if (item && !(isNew && item.ended)) return item;
    if (!data.name && !item) return null;
    item = this.row('call', event, time, { id: data.id, name: data.name ?? '', args: data.args ?? null, status: 'open', hooks: [], end: null, artifacts: [] });
    this.#calls.set(data.id, item);
    this.#parents.set(data.id, item);
    return item;
  }
}

function touch(item, event) {
  if (!item) return;
  if (item.events[0] !== event) item.events.push(event);
  item.version++;
}

function finish(item, event, time, status) {
  item.end = time;
  item.ended = true;
  item.status = status;
  touch(item, event);
}

const note = (text, mood = 'off') => (trace, event, data, time) => trace.row('note', event, time, { text: text(data), tone: mood });

const handlers = {
  'run.resumed': note(() => 'Resumed'),
  'run.workspace': note(d => `Files ${d.state}: ${d.path} on ${d.host}`),
  'run.forked': note(d => `Forked from ${d.from} after turn ${d.turn}`),
  'run.ended': (trace, event, data, time) => trace.row('note', event, time, { text: `Run ${data.status}`, tone: data.status === 'completed' ? 'done' : 'warn' }),
  'turn.started': (trace, event, data, time) => {
    if (event.depth === 0) trace.turns.push(data.turn);
    trace.row('user', event, time, { text: data.text ?? '', attached: data.attached, turn: data.turn });
  },
  'turn.message': (trace, event, data, time) => trace.row('note', event, time, { text: data.text ?? '', tone: 'off', who: data.command ? 'said from elsewhere' : 'harness' }),
  'turn.ended': (trace, event, data, time) => {
    if (data.status && data.status !== 'completed') trace.row('note', event, time, { text: `Turn ${data.status}${data.reason ? `: ${data.reason}` : ''}`, tone: 'warn' });
  },
  'turn.undone': note(d => `Undone: ${d.messages} messages`),
  conversation: (trace, event, data, time) => trace.row('note', event, time, { text: event.type.replace('conversation.', 'Conversation: '), tone: 'off', data }),
  'completion.started': (trace, event, data, time) => {
    trace.openModel(event, trace.row('model', event, time, { name: data.model, text: '', status: 'open', end: null }));
  },
  'completion.completed': (trace, event, data, time) => {
    const item = trace.model(event) ?? trace.row('model', event, time, { name: '' });
    Object.assign(item, { text: data.text ?? '', reasoning: data.reasoning, usage: data.usage, cost: data.cost, wants: (data.tool_calls ?? []).map(c => c.name), side: data.side });
    finish(item, event, time, 'completed');
  },
  'completion.failed': (trace, event, data, time) => {
    const item = trace.model(event) ?? trace.row('model', event, time, { name: '' });
    item.error = data.error;
    finish(item, event, time, 'failed');
  },
  'completion.retried': (trace, event, data, time) => trace.row('note', event, time, { text: `Attempt ${data.attempt} after ${data.wait_ms} ms: ${data.error}`, tone: 'warn' }),
  'completion.fallback': note(d => `Model ${d.model} is unavailable; using ${d.to}`, 'warn'),
  'tool.started': (trace, event, data, time) => touch(trace.call(event, data, time, true), event),
  'tool.executing': (trace, event, data, time) => {
    const item = trace.call(event, data, time);
    if (!item) return;
    Object.assign(item, { args: data.args ?? item.args, verdict: data.verdict, rule: data.rule ?? item.rule, executing: time });
    touch(item, event);
  },
  'tool.completed': (trace, event, data, time) => ending(trace, event, data, time, 'completed'),
  'tool.failed': (trace, event, data, time) => ending(trace, event, data, time, 'failed'),
  'tool.refused': (trace, event, data, time) => {
    const item = trace.call(event, data, time, true);
    if (!item) return;
    Object.assign(item, { verdict: 'refused', rule: data.rule, step: data.step, error: data.message });
    finish(item, event, time, 'refused');
  },
  'approval.asked': (trace, event, data, time) => {
    const item = trace.call(event, data, time);
    if (!item) return;
    Object.assign(item, { question: data, status: 'asked', rule: data.rule ?? item.rule });
    touch(item, event);
  },
  'approval.answered': (trace, event, data, time) => {
    const item = trace.call(event, data, time);
    if (!item) return;
    Object.assign(item, { answer: data, status: 'open' });
    touch(item, event);
  },
  hook: (trace, event, data, time) => {
    const item = data.id ? trace.call(event, { id: data.id }, time) : null;
    if (!item) return;
    item.hooks.push(data);
    touch(item, event);
  },
  'limit.reached': note(d => `Limit reached: ${d.limit} ${d.value ?? ''}`, 'warn'),
  'sandbox.denied': (trace, event, data, time) => {
    const item = trace.call(event, { id: data.id }, time);
    if (item) { (item.denied ??= []).push(data.what); touch(item, event); }
  },
  'sandbox.applied': (trace, event, data, time) => {
    const item = trace.call(event, { id: data.id }, time);
    if (item) { item.sandbox = data; touch(item, event); }
  },
  'sandbox.tampered': note(d => d.message, 'bad'),
  log: (trace, event, data, time) => trace.row('note', event, time, { text: data.message ?? '', tone: data.level === 'error' ? 'bad' : 'off', who: data.source || 'log' }),
  task: (trace, event, data, time) => trace.row('note', event, time, { text: `${event.type.replace('.', ' ')}: ${data.name ?? ''}`, tone: 'off' }),
  delegation: (trace, event, data, time) => {
    const item = trace.call(event, { id: data.id }, time);
    if (item) { item.delegation = { ...item.delegation, ...data }; touch(item, event); }
  },
  custom: (trace, event, data, time) => trace.row('note', event, time, { text: `${event.type}: ${line(JSON.stringify(data.payload ?? data), 200)}`, tone: 'off', who: 'script' }),
};

function ending(trace, event, data, time, status) {
  const item = trace.call(event, data, time);
  if (!item) return;
  const { value, error, artifacts = [], media = [], change, rule } = data;
  Object.assign(item, { value, error, artifacts, media, change, rule: rule ?? item.rule, spent: data, timedOut: data.timed_out });
  finish(item, event, time, status);
}

// What a row says in one line.
export function heading(item) {
  if (item.kind === 'call') return { who: item.name, what: summary(item.args) };
  if (item.kind === 'model') return { who: item.side ? 'model, aside' : 'model', what: item.error ?? (item.text ? line(item.text, 200) : (item.wants?.length ? `calls ${line(item.wants.join(', '), 100)}` : '')) };
  if (item.kind === 'user') return { who: item.parent ? 'task' : 'user', what: line(item.text, 200) };
  return { who: item.who ?? '', what: line(item.text, 200) };
}

// The verdict of a call in words.
export function verdict(item) {
  if (item.kind !== 'call') return { text: '', tone: 'off' };
  const by = item.rule ? ` · ${line(item.rule, 60)}` : '';
  if (item.status === 'asked') return { text: `asks a person${by}`, tone: 'warn' };
  if (item.status === 'refused') return { text: `blocked${by || ` · ${item.step ?? ''}`}`, tone: 'bad' };
  if (item.status === 'failed') return { text: item.timedOut ? 'timed out' : 'failed', tone: 'bad' };
  if (item.answer) return { text: `approved by a person${by}`, tone: 'done' };
  if (item.verdict) return { text: `${line(item.verdict, 30)}${by}`, tone: item.ended ? 'done' : 'live' };
  return { text: item.ended ? '' : 'checking', tone: 'live' };
}
