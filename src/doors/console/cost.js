// Cost: by day as bars, by agent and model as tables.

import { h, svg, show, empty, failure, waiting } from './dom.js';
import { get } from './api.js';
import { count, money, plain } from './format.js';

export function view(main) {
  const since = h('select', { 'aria-label': 'Time', on: { change: load } }, [['7', 'Last week'], ['30', 'Last month'], ['90', 'Last 90 days'], ['365', 'Last year']].map(([v, t]) => h('option', { value: v }, t)));
  since.value = '30';
  const place = h('div.viewbody', waiting(6));
  let turn = 0;
  show(main, h('div.viewhead', h('h1', 'Cost'), h('div.filters', since)), place);

  async function load() {
    const mine = ++turn;
    try {
      const [day, agent, model] = await Promise.all(['day', 'agent', 'model'].map(by => get('cost', { days: since.value, by })));
      if (mine === turn) draw(day, agent, model);
    } catch (e) {
      if (mine === turn) show(place, failure(e, load));
    }
  }

  function draw(day, agent, model) {
    if (day.rows.length === 0) { show(place, empty('No runs in this time', 'Costs are recorded with each reply of a model that has prices.')); return; }
    const t = day.total ?? {};
    show(place, h('div.stack', h('dl.figures', [['Cost', money(t.cost) || '$0.00'], ['Runs', count(t.runs)], ['Calls', count(t.tool_calls)], ['Input tokens', count(t.input)], ['Output tokens', count(t.output)],
      ['From the cache', t.input ? `${Math.round((t.cached ?? 0) / t.input * 100)} %` : '0 %']].map(([k, v]) => h('div', h('dt', k), h('dd', v)))),
    chart(day.rows), day.truncated ? h('p.hint', 'There are more runs than are counted here.') : null, table('By agent', agent.rows, 'Main agent'), table('By model', model.rows, 'unknown', tokens), table('By day', [...day.rows].reverse(), '')));
  }

  load();
  return { close: () => { turn++; } };
}

// Bars; the same numbers are in the table below.
function chart(rows) {
  const shown = [...rows].sort((a, b) => (a.key < b.key ? -1 : 1)).slice(-90), amount = r => r.cost || 0, money_ = shown.some(r => r.cost > 0), value = r => (money_ ? amount(r) : r.tool_calls);
  const most = Math.max(...shown.map(value), money_ ? 0.01 : 1), wide = 720, tall = 140, step = wide / Math.max(shown.length, 7), bar = Math.min(step - 3, 40);
  const name = money_ ? `Cost by day; the highest is ${money(most)}` : `Calls by day; the highest is ${count(most)}`;
  return h('figure.chart', svg('svg', { viewBox: `0 0 ${wide} ${tall + 1}`, role: 'img', 'aria-label': name, preserveAspectRatio: 'xMinYMin meet' },
    svg('line.axis', { x1: 0, x2: wide, y1: tall, y2: tall }),
    shown.map((r, i) => svg('rect.column', { x: i * step, y: tall - value(r) / most * (tall - 12), width: Math.max(1, bar), height: Math.max(value(r) > 0 ? 1 : 0, value(r) / most * (tall - 12)), rx: 2 }, svg('title', `${plain(r.key)}: ${money_ ? money(amount(r)) : count(r.tool_calls)}`)))),
  h('div.ends', h('span', plain(shown[0].key)), shown.length > 1 ? h('span', plain(shown.at(-1).key)) : null), h('figcaption.hint', name));
}

const all = [['Runs', 'runs'], ['Calls', 'tool_calls'], ['Input', 'input'], ['Cached', 'cached'], ['Output', 'output']];
const tokens = all.slice(2);                                         // a run can use several models, so runs and calls have no model

function table(title, rows, unnamed, columns = all) {
  return h('div.scroll.amounts', { tabindex: '0', role: 'region', 'aria-label': title }, h('table', h('caption', title),
    h('thead', h('tr', ['', ...columns.map(([name]) => name), 'Cost'].map((t, i) => h(i === 0 ? 'td' : 'th.right', { scope: i === 0 ? null : 'col' }, t)))),
    h('tbody', rows.slice(0, 100).map(r => h('tr', h('th', { scope: 'row' }, plain(r.key) || unnamed), columns.map(([, key]) => h('td.right', count(r[key]))), h('td.right', money(r.cost)))))));
}
