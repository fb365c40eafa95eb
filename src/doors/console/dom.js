// Builds elements. Strings become text nodes and nothing else: no function here parses HTML.

// h('p.note', { title: 'x', on: { click } }, 'text', node, [more], null)
export function h(spec, ...rest) {
  const [tag, ...classes] = spec.split('.');
  return fill(document.createElement(tag || 'div'), classes, rest);
}

// The same for SVG. Classes are set as an attribute, because className of an SVG element cannot be assigned.
export function svg(spec, ...rest) {
  const [tag, ...classes] = spec.split('.');
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), classes, rest);
}

function fill(element, classes, rest) {
  if (classes.length > 0) element.setAttribute('class', classes.join(' '));
  if (isOptions(rest[0])) apply(element, rest.shift());
  put(element, ...rest);
  return element;
}

function isOptions(x) {
  return x !== null && typeof x === 'object' && !Array.isArray(x) && !(x instanceof Node);
}

// Attributes that can run or load something. The page sets none of them to a string from outside; this makes sure.
const refused = /^(on|style$|srcdoc$|formaction$|ping$)/i;

function apply(element, options) {
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') for (const [type, f] of Object.entries(value)) element.addEventListener(type, f);
    else if (name === 'css') for (const [property, x] of Object.entries(value)) element.style.setProperty(property, x);
    else if (name === 'value' || name === 'checked' || name === 'indeterminate') element[name] = value;
    else if (refused.test(name)) throw new Error(`attribute ${name} is refused`);
    else if (name === 'href' && !/^(#|blob:)/.test(value)) throw new Error('a link leads to a view of this page only');
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

// Appends; null and false are left out, lists are flattened.
export function put(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// Replaces the content.
export function show(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

let numbers = 0;
export const unique = prefix => `${prefix}-${++numbers}`;

export function button(text, click, options = {}) {
  const { kind = '', ...more } = options;
  return h(`button${kind && `.${kind}`}`, { type: 'button', on: { click }, ...more }, text);
}

// A control with its visible label.
export function labelled(text, control, hint) {
  control.id ||= unique('field');
  const note = hint && h('span.hint', { id: `${control.id}-hint` }, hint);
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div.field', h('label', { for: control.id }, text), control, note);
}

// Tells users of screen readers what changed; the text is visible elsewhere.
export function say(text) {
  const place = document.getElementById('said');
  if (place) place.textContent = text;
}

// An empty state: what would be here, and how it gets here.
export function empty(title, text, ...more) {
  return h('div.empty', h('h2', title), text && h('p', text), ...more);
}

// A failure: what happened and what to do.
export function failure(error, again) {
  return h('div.note.bad', { role: 'alert' },
    h('p', h('strong', 'This did not work. '), error.message || String(error)),
    error.hint && h('p', error.hint),
    again && button('Try again', again));
}

// Grey bars in the place of rows that are on their way; they have the height of the rows.
export function waiting(rows = 6) {
  return h('div.waiting', { 'aria-hidden': 'true' }, Array.from({ length: rows }, () => h('div.bar')));
}

// Tabs by the pattern of ARIA: arrows move between them. `tabs`: [[name, () => node]]. A panel is built when it is first shown.
export function tabs(label, list, { start = 0, changed } = {}) {
  const panel = h('div.panel', { role: 'tabpanel', tabindex: '0', id: unique('panel') });
  const built = [];
  const heads = list.map(([name], i) => h('button.tab', {
    type: 'button', role: 'tab', id: unique('tab'), 'aria-controls': panel.id,
    on: { click: () => select(i), keydown: e => arrow(e, i) },
  }, name));
  function select(i) {
    heads.forEach((head, n) => { head.setAttribute('aria-selected', String(n === i)); head.tabIndex = n === i ? 0 : -1; });
    panel.setAttribute('aria-labelledby', heads[i].id);
    built[i] ??= list[i][1]();
    show(panel, built[i]);
    changed?.(i);
  }
  function arrow(e, i) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    e.preventDefault();
    const next = (i + step + heads.length) % heads.length;
    select(next);
    heads[next].focus();
  }
  const element = h('div.tabs', h('div.tablist', { role: 'tablist', 'aria-label': label }, heads), panel);
  select(start);
  return { element, select, panel, heads };
}

// A modal dialog. `build(close)` returns its content. Focus goes back to where it was, because the user closed it.
export function dialog(title, build) {
  const head = h('h2', { id: unique('dialog') }, title);
  const box = h('dialog', { 'aria-labelledby': head.id });
  const close = () => { box.close(); box.remove(); };
  put(box, head, build(close));
  box.addEventListener('cancel', e => { e.preventDefault(); close(); });
  document.body.append(box);
  box.showModal();
  return close;
}
