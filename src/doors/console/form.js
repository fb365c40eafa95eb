// A form from a JSON Schema. Each part is { element, get(), set(value) }: get() returns undefined for what is left out, and throws an
// error that names the field for what cannot be read. The server validates; the form only helps to write.

import { h, put, button, unique } from './dom.js';
import { line, plain } from './format.js';

const deepest = 12;

export function form(schema) {
  const made = part(schema ?? {}, { root: schema ?? {}, name: 'arguments', needed: true, depth: 0, bare: true });
  return made;
}

function part(schema, at) {
  const s = resolve(schema, at.root), choices = s.anyOf ?? s.oneOf ?? several(s);
  if (at.depth > deepest) return json(s, at);
  if (choices) return either(s, choices, at);
  if (Array.isArray(s.enum)) return options(s, s.enum, at);
  if ('const' in s) return options(s, [s.const], at);
  const type = s.type ?? (s.properties ? 'object' : s.items ? 'array' : null);
  if (type === 'object' && s.properties) return object(s, at);
  if (type === 'array') return array(s, at);
  if (type === 'boolean') return options(s, [true, false], at);
  if (type === 'integer' || type === 'number') return number(s, at);
  if (type === 'string') return string(s, at);
  return json(s, at);
}

// Follows $ref inside the schema and merges allOf. A reference that leads nowhere is any value.
function resolve(schema, root, seen = 0) {
  if (schema === true || schema === null || typeof schema !== 'object') return {};
  let s = schema;
  if (typeof s.$ref === 'string' && seen < deepest) {
    const target = s.$ref.startsWith('#') ? s.$ref.slice(1).split('/').filter(Boolean).reduce((x, key) => x?.[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')], root) : null;
    s = { ...resolve(target ?? {}, root, seen + 1), ...s, $ref: undefined };
  }
  if (Array.isArray(s.allOf)) {
    const all = s.allOf.map(x => resolve(x, root, seen + 1));
    s = all.reduce((a, b) => ({ ...a, ...b, properties: { ...a.properties, ...b.properties }, required: [...(a.required ?? []), ...(b.required ?? [])] }), { ...s, allOf: undefined });
  }
  return s;
}

const several = s => (Array.isArray(s.type) && s.type.length > 1 ? s.type.map(type => ({ ...s, type, enum: undefined })) : null);

// The label, the control and its description.
function field(s, at, control, ...more) {
  control.id ||= unique('arg');
  const text = at.index === undefined ? plain(s.title ?? at.name) : `${plain(at.name)} ${at.index + 1}`;
  const hint = s.description && h('span.hint', { id: `${control.id}-hint` }, line(s.description, 400));
  if (hint) control.setAttribute('aria-describedby', hint.id);
  if (at.needed) control.setAttribute('aria-required', 'true');
  return h('div.field', h('label', { for: control.id }, text, at.needed ? null : h('span.hint', ' optional')), control, hint, ...more);
}

function string(s, at) {
  const control = h('textarea.auto', { rows: '1', placeholder: typeof s.default === 'string' ? s.default : null, spellcheck: 'false' });
  if (s.default !== undefined && at.needed) control.value = s.default;
  return {
    element: field(s, at, control),
    get: () => (control.value === '' && !at.needed ? undefined : control.value),
    set: v => { control.value = v === undefined ? '' : String(v); },
  };
}

function number(s, at) {
  const control = h('input', { type: 'text', inputmode: 'decimal', placeholder: s.default ?? null });
  return {
    element: field(s, at, control),
    get: () => {
      const text = control.value.trim();
      if (text === '') { if (at.needed) wrong(control, at, 'needs a number'); return undefined; }
      const n = Number(text);
      if (!Number.isFinite(n)) wrong(control, at, 'is not a number');
      if (s.type === 'integer' && !Number.isInteger(n)) wrong(control, at, 'is not a whole number');
      control.removeAttribute('aria-invalid');
      return n;
    },
    set: v => { control.value = v === undefined ? '' : String(v); },
  };
}

function options(s, values, at) {
  const control = h('select', at.needed && values.length === 1 ? null : h('option', { value: '' }, at.needed ? 'Choose…' : 'not set'), values.map((v, i) => h('option', { value: String(i) }, typeof v === 'string' ? line(v, 80) : JSON.stringify(v))));
  const find = v => values.findIndex(x => JSON.stringify(x) === JSON.stringify(v));
  if (s.default !== undefined && at.needed && find(s.default) >= 0) control.value = String(find(s.default));
  return {
    element: field(s, at, control),
    get: () => {
      if (control.value !== '') { control.removeAttribute('aria-invalid'); return values[Number(control.value)]; }
      if (at.needed) wrong(control, at, 'needs a choice');
      return undefined;
    },
    set: v => { control.value = find(v) >= 0 ? String(find(v)) : ''; },
  };
}

// Any JSON.
function json(s, at) {
  const control = h('textarea.mono', { rows: '3', placeholder: 'JSON', spellcheck: 'false' });
  return {
    element: field(s, at, control),
    get: () => {
      if (control.value.trim() === '') { if (at.needed && !at.bare) wrong(control, at, 'needs a value'); return at.bare ? {} : undefined; }
      try { const v = JSON.parse(control.value); control.removeAttribute('aria-invalid'); return v; } catch (e) { return wrong(control, at, `is not JSON: ${e.message}`); }
    },
    set: v => { control.value = v === undefined ? '' : JSON.stringify(v, null, 2); },
  };
}

function wrong(control, at, text) {
  control.setAttribute('aria-invalid', 'true');
  throw new Error(`${at.name}${at.index === undefined ? '' : ` ${at.index + 1}`} ${text}`);
}

function object(s, at) {
  const needed = new Set(s.required ?? []), names = Object.keys(s.properties);
  let fields = null, rest = {};
  const inside = h('div.stack');
  const build = () => {
    fields = names.map(name => [name, part(s.properties[name], { root: at.root, name, needed: needed.has(name), depth: at.depth + 1 })]);
    put(inside, names.length > 0 ? fields.map(([, f]) => f.element) : h('p.hint', 'This tool takes no arguments.'));
  };
  const leave = () => { fields = null; rest = {}; inside.replaceChildren(); add(); };
  const add = () => put(inside, button(`Add ${plain(at.name)}`, () => { inside.replaceChildren(); build(); put(inside, button(`Leave out ${plain(at.name)}`, leave, { kind: 'quiet' })); }));
  if (at.needed) build();
  else add();
  const set = v => {
    if (v === undefined && !at.needed) { if (fields) leave(); return; }
    if (!fields) { inside.replaceChildren(); build(); put(inside, button(`Leave out ${plain(at.name)}`, leave, { kind: 'quiet' })); }
    fields.forEach(([name, f]) => f.set(v?.[name]));
    rest = Object.fromEntries(Object.entries(v ?? {}).filter(([k]) => !names.includes(k)));
  };
  const get = () => (fields ? Object.fromEntries([...fields.map(([name, f]) => [name, f.get()]), ...Object.entries(rest)].filter(([, v]) => v !== undefined)) : undefined);
  if (at.bare) return { element: inside, get, set };
  return { element: h('fieldset.group', h('legend', plain(s.title ?? at.name), at.needed ? null : h('span.hint', ' optional')), s.description && h('p.hint', line(s.description, 400)), inside), get, set };
}

function array(s, at) {
  const list = h('div.stack'), items = [];
  const append = value => {
    const made = part(s.items ?? {}, { root: at.root, name: at.name, index: items.length, needed: true, depth: at.depth + 1 });
    const row = h('div.item', made.element, button('Remove', () => { items.splice(items.indexOf(entry), 1); row.remove(); }, { kind: 'quiet', 'aria-label': `Remove ${plain(at.name)} ${items.length + 1}` }));
    const entry = { made, row };
    items.push(entry);
    list.append(row);
    if (value !== undefined) made.set(value);
  };
  for (let i = 0; i < Math.min(s.minItems ?? 0, 20) && at.needed; i++) append();
  return {
    element: h('fieldset.group', h('legend', plain(s.title ?? at.name), at.needed ? null : h('span.hint', ' optional')), s.description && h('p.hint', line(s.description, 400)), list,
      button(`Add to ${plain(at.name)}`, () => append())),
    get: () => (items.length === 0 && !at.needed ? undefined : items.map(({ made }) => made.get())),
    set: v => { items.splice(0).forEach(({ row }) => row.remove()); if (Array.isArray(v)) v.forEach(x => append(x)); },
  };
}

// anyOf and oneOf: one of several forms.
function either(s, choices, at) {
  const variants = choices.map(c => resolve(c, at.root)), place = h('div.stack');
  const pick = h('select', { on: { change: () => turn(Number(pick.value)) } }, at.needed ? null : h('option', { value: '-1' }, 'not set'), variants.map((v, i) => h('option', { value: String(i) }, title(v, i))));
  let chosen = null;
  const turn = i => {
    pick.value = String(i);
    chosen = i < 0 ? null : variants[i].type === 'null' ? { get: () => null, set: () => {} } : part({ ...variants[i], description: variants[i].description }, { ...at, needed: true, bare: false, name: at.name, depth: at.depth + 1 });
    place.replaceChildren(...(chosen?.element ? [chosen.element] : []));
  };
  turn(at.needed ? 0 : -1);
  return {
    element: h('div.either', field({ ...s, title: `${s.title ?? at.name}: kind` }, at, pick), place),
    get: () => chosen?.get(),
    set: v => { const i = v === undefined ? (at.needed ? 0 : -1) : fitting(variants, v); turn(i); if (v !== undefined) chosen?.set(v); },
  };
}

const title = (v, i) => line(v.title ?? (v.const !== undefined ? JSON.stringify(v.const) : v.enum ? v.enum.map(x => JSON.stringify(x)).join(' or ') : v.type ?? (v.properties ? 'object' : `kind ${i + 1}`)), 60);

function fitting(variants, value) {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  const is = v => v.type === type || (type === 'number' && v.type === 'integer' && Number.isInteger(value));
  const found = variants.findIndex(v => (v.enum ? v.enum.includes(value) : 'const' in v ? v.const === value : is(v) && (type !== 'object' || (v.required ?? []).every(k => k in value))));
  return Math.max(0, found >= 0 ? found : variants.findIndex(is));
}
