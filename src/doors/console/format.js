// How values look: times, sizes, money, JSON, and text that tries to look like something else.

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
export const count = n => number.format(n ?? 0);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// Control characters, bidirectional overrides and characters without a shape, written out: what is shown is what is there.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
export function plain(text) {
  return String(text ?? '').replace(hidden, c => `\\u{${c.codePointAt(0).toString(16)}}`);
}

// One line, at most n characters.
export function line(text, n = 200) {
  const cut = String(text ?? '').slice(0, n * 2).replace(/\s+/g, ' ').trim();
  const safe = plain(cut);
  return safe.length > n ? `${safe.slice(0, n - 1)}…` : safe;
}

export function json(value, indent = 2) {
  return plain(typeof value === 'string' ? value : JSON.stringify(value, null, indent) ?? '');
}

// Text of the model or of a tool with its lines kept.
export function lines(value) {
  return plain(typeof value === 'string' ? value : JSON.stringify(value, null, 2) ?? '');
}

export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return '';
  if (ms < 1) return '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor(ms % 60_000 / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round(ms % 3_600_000 / 60_000)} min`;
}

export function age(time, now = Date.now()) {
  const s = Math.max(0, (now - Date.parse(time)) / 1000);
  if (Number.isNaN(s)) return '';
  if (s < 5) return 'now';
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
export const at = time => (Number.isNaN(Date.parse(time)) ? plain(time) : moment.format(new Date(time)));

export function money(usd) {
  if (!usd) return '';
  return usd < 0.01 ? '<$0.01' : `$${usd.toFixed(2)}`;
}

export function bytes(n) {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}

// The argument that says most about a call, as the timeline of the terminal chooses it.
const telling = ['command', 'pattern', 'query', 'url', 'task', 'path', 'file_path', 'text', 'name'];
export function summary(args) {
  if (args === null || typeof args !== 'object') return line(args, 120);
  const key = telling.find(k => typeof args[k] === 'string') ?? Object.keys(args)[0];
  if (key === undefined) return '';
  return line(typeof args[key] === 'string' ? args[key] : JSON.stringify(args[key]), 120);
}

// A command line that makes the same call.
export const quote = text => `'${String(text).replaceAll("'", `'\\''`)}'`;
export const asCommand = (tool, args) => `harness call ${/^[\w.:-]+$/.test(tool) ? tool : quote(tool)} ${quote(JSON.stringify(args))}`;

// A draft of YAML, for looking at: JSON is YAML too.
export const yaml = object => Object.entries(object).map(([k, v]) => `${k}: ${JSON.stringify(v)}`).join('\n');

// Words for states of runs and calls, and which of the four tones they have.
const tones = {
  running: 'live', open: 'live', completed: 'done', cancelled: 'off', interrupted: 'warn', waiting: 'warn', asked: 'warn', ask: 'warn',
  failed: 'bad', refused: 'bad', deny: 'bad', denied: 'bad', allow: 'done', allowed: 'done', approved: 'done', limited: 'warn',
};
export const tone = state => tones[state] ?? 'off';
