// The conversation to read: messages in full, calls as one line. A page at a time, so that long runs stay quick.

import { h, show, button } from './dom.js';
import { heading, verdict } from './trace.js';
import { count, duration, line, plain } from './format.js';

const size = 150;

export function conversation(trace) {
  const place = h('div.viewbody.padded');
  let page = 0, shown = '';

  function update() {
    const rows = trace.rows.filter(i => i.kind !== 'model' || i.text || i.error), pages = Math.max(1, Math.ceil(rows.length / size));
    const part = rows.slice(page * size, (page + 1) * size), key = `${page} ${rows.length} ${part.map(i => i.events.length).join()}`;
    if (key === shown || place.contains(document.activeElement) && shown.startsWith(`${page} `) && page < pages - 1) return;
    shown = key;
    const turn = (text, to) => button(text, () => { page = to; shown = ''; update(); place.scrollTop = 0; }, { disabled: to < 0 || to >= pages });
    show(place, h('div.talk', part.map(entry)),
      pages > 1 ? h('div.line.pager', turn('Earlier', page - 1), h('span.hint', `${count(page * size + 1)} to ${count(Math.min(rows.length, (page + 1) * size))} of ${count(rows.length)}`), turn('Later', page + 1)) : null);
  }
  return { element: place, update };
}

function entry(item) {
  const css = { 'margin-left': `${Math.min(item.level - 1, 8) * 1.25}rem` };
  if (item.kind === 'call') {
    const said = verdict(item), { what } = heading(item);
    return h('p.said.call', { css }, h('code', line(item.name, 60)), ' ', h('span.gist', what), ' ', h(`span.badge.${said.tone}`, said.text), ' ', h('span.hint', duration(item.spent?.elapsed_ms)));
  }
  if (item.kind === 'note') return h('p.said.note-line', { css }, item.who ? `${plain(item.who)}: ` : '', plain(item.text));
  const who = item.kind === 'user' ? (item.depth > 0 ? `Task of ${line(item.agent, 40)}` : 'User') : item.agent ? line(item.agent, 40) : 'Agent';
  return h(`section.said.${item.kind}`, { css }, h('h3', who), h('div.prose', plain((item.error ?? item.text).slice(0, 50_000))));
}
