// A list of any length with a bounded number of elements: only rows near the visible part are in the document. Rows have one height.
// Keys: j, k, arrows, Home, End, Page Up, Page Down; Enter opens. One row is in the order of Tab (a roving tabindex).

import { h } from './dom.js';

const spare = 10;                                                    // rows beyond each end of the visible part

// columns: [{ name, cls }]; height(): of a row, in pixels; cells(item): one node or text per column; classes(item): of the row;
// open(item, index): Enter or a click; more(): asked for when the end comes near; role: 'grid' or 'treegrid' (then level(item)); stick: a list
// that is scrolled to its end stays there when rows are added.
export function windowed({ label, columns, height, cells, classes = () => '', open, moved, more, role = 'grid', level, cls = '', stick = false }) {
  const head = h('div.row.head', { role: 'row', 'aria-rowindex': '1' },
    columns.map(c => h(`span.cell${c.cls ? `.${c.cls}` : ''}`, { role: 'columnheader' }, c.name)));
  const body = h('div.rows', { role: 'rowgroup' });
  const element = h(`div.grid${cls && `.${cls}`}`, { role, 'aria-label': label, 'aria-colcount': columns.length },
    h('div.headgroup', { role: 'rowgroup' }, head), body);
  const drawn = new Map();                                           // index → { row, item, version }
  let items = [], active = 0, selected = -1, ended = true, planned = false, tall = height();

  function plan() {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => { planned = false; draw(); });
  }

  function draw() {
    tall = height();
    body.style.height = `${items.length * tall}px`;
    element.setAttribute('aria-rowcount', ended ? String(items.length + 1) : '-1');
    const top = Math.max(0, element.scrollTop - head.offsetHeight), seen = Math.min(element.clientHeight || 600, 6000);
    const from = Math.max(0, Math.floor(top / tall) - spare), to = Math.min(items.length, Math.ceil((top + seen) / tall) + spare, from + 280);
    for (const [i, was] of drawn) {
      if ((i >= from && i < to) || (i === active && was.row.contains(document.activeElement) && i < items.length)) continue;
      was.row.remove();
      drawn.delete(i);
    }
    for (let i = from; i < to; i++) place(i);
    if (drawn.has(active)) place(active);
    if (!ended && to >= items.length - spare) more?.();
  }

  function place(i) {
    const item = items[i], was = drawn.get(i);
    if (!was || was.item !== item || was.version !== item.version) {
      const row = was?.row ?? insert(i);
      fill(row, item, i);
      drawn.set(i, { row, item, version: item.version });
    }
    const { row } = drawn.get(i);
    row.style.transform = `translateY(${i * tall}px)`;
    row.style.height = `${tall}px`;
    row.tabIndex = i === active ? 0 : -1;
    if (selected >= 0) row.setAttribute('aria-selected', String(i === selected));
  }

  // In the order of the list, so that a screen reader meets the rows in it.
  function insert(i) {
    const row = h('div.row', { role: 'row' });
    const next = [...drawn.keys()].filter(n => n > i).sort((a, b) => a - b)[0];
    body.insertBefore(row, next === undefined ? null : drawn.get(next).row);
    row.addEventListener('click', e => {
      if (e.defaultPrevented || String(getSelection()).length > 0) return;
      const at = Number(row.getAttribute('aria-rowindex')) - 2;
      active = at;
      activate(at);
    });
    return row;
  }

  function fill(row, item, i) {
    row.className = `row ${classes(item)}`;
    row.setAttribute('aria-rowindex', String(i + 2));
    if (level) row.setAttribute('aria-level', String(level(item)));
    row.replaceChildren(...cells(item).map((content, n) => {
      const cell = h(`span.cell${columns[n].cls ? `.${columns[n].cls}` : ''}`, { role: 'gridcell' });
      cell.append(content ?? '');
      return cell;
    }));
  }

  function activate(i) {
    if (items[i] === undefined) return;
    if (moved) select(i);
    open?.(items[i], i);
    plan();
  }

  function select(i) {
    selected = i;
    draw();
    moved?.(items[i], i);
  }

  // The user moved by a key: focus follows the key.
  function move(to) {
    if (items.length === 0) return;
    active = Math.max(0, Math.min(items.length - 1, to));
    const top = active * tall, room = element.clientHeight - head.offsetHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + tall > element.scrollTop + room) element.scrollTop = top + tall - room;
    draw();
    place(active);
    drawn.get(active).row.focus({ preventScroll: true });
    if (moved) select(active);
  }

  function key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e.target)) return false;
    const inside = element.contains(document.activeElement), page = Math.max(1, Math.floor(element.clientHeight / tall) - 1);
    const steps = { j: 1, k: -1, ...(inside ? { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -items.length, End: items.length } : {}) };
    if (e.key in steps) move(inside ? active + steps[e.key] : active);
    else if (e.key === 'Enter' && inside && document.activeElement.getAttribute('role') === 'row') activate(active);
    else return false;
    e.preventDefault();
    return true;
  }

  element.addEventListener('scroll', plan, { passive: true });
  const watch = new ResizeObserver(plan);
  watch.observe(element);

  return {
    element, key, draw: plan, body,
    get items() { return items; },
    // `done` false: there are more, and more() brings them.
    set(list, done = true) {
      const follows = stick && element.scrollTop > 0 && element.scrollTop + element.clientHeight >= element.scrollHeight - 4;
      items = list;
      ended = done;
      if (active >= items.length) active = 0;
      plan();
      if (follows) requestAnimationFrame(() => { element.scrollTop = element.scrollHeight; });
    },
    select, top() { element.scrollTop = 0; active = 0; plan(); },
    reset() { for (const { row } of drawn.values()) row.remove(); drawn.clear(); items = []; active = 0; selected = -1; element.scrollTop = 0; },
    close() { watch.disconnect(); },
  };
}

export function isTyping(target) {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null && target.type !== 'checkbox';
}
