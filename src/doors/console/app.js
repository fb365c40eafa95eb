// The frame of the page: which view is shown, the navigation, the number of open questions, the state of the connection.

import { h, show, empty, failure, say } from './dom.js';
import { takeToken, get } from './api.js';
import * as dialogs from './dialogs.js';
import * as live from './live.js';
import { plural, line } from './format.js';
import { isTyping } from './list.js';

const views = [
  { name: 'runs', title: 'Runs', load: () => import('./runs.js') },
  { name: 'approvals', title: 'Approvals', load: () => import('./approvals.js') },
  { name: 'playground', title: 'Playground', load: () => import('./playground.js') },
  { name: 'policy', title: 'Policy', load: () => import('./policy.js') },
  { name: 'cost', title: 'Cost', load: () => import('./cost.js'), gap: true },
  { name: 'servers', title: 'Servers', load: () => import('./servers.js') },
  { name: 'project', title: 'Project', load: () => import('./project.js') },
  { name: 'run', title: 'Run', load: () => import('./run.js'), under: 'runs' },
];

const main = document.getElementById('main');
let current = null, open = 0, shown = 0;
const state = { about: null };

function route() {
  const [name, ...rest] = location.hash.slice(1).split('/');
  const view = views.find(v => v.name === name) ?? views[0];
  return { view, parts: rest.map(decode) };
}

function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

async function go() {
  const { view, parts } = route(), turn = ++shown;
  current?.close?.();
  current = null;
  live.follow(null);
  navigation(view);
  title(view.title);
  try {
    const module = await view.load();
    if (turn !== shown) return;
    show(main);
    current = module.view(main, { parts, about: state.about, title, redirect: to => { location.hash = to; } });
  } catch (e) {
    if (turn === shown) show(main, h('div.viewbody', failure(e, go)));
  }
}

// The number of open questions comes first, so that it is seen in a narrow tab.
let heading = '';
function title(text = heading) {
  heading = text;
  document.title = `${open > 0 ? `(${open}) ` : ''}${line(heading, 80)} · ${line(state.about?.name ?? 'harness', 40)}`;
}

function navigation(view) {
  const links = views.filter(v => !v.under).flatMap(v => [
    v.gap && h('hr', { 'aria-hidden': 'true' }),
    h('a', { href: `#${v.name}`, 'aria-current': v.name === (view.under ?? view.name) ? 'page' : null, 'data-view': v.name },
      v.title, v.name === 'approvals' && open > 0 ? h('span.number', { 'aria-label': plural(open, 'open question') }, open) : null),
  ]);
  const nav = document.getElementById('nav'), had = nav.contains(document.activeElement) ? document.activeElement.dataset.view : null;
  const left = nav.scrollLeft;
  show(nav, links);
  nav.scrollLeft = left;
  const now = nav.querySelector('[aria-current]');                   // on small screens the row of views is wider than the window
  if (now && (now.offsetLeft < left || now.offsetLeft + now.offsetWidth > left + nav.clientWidth)) nav.scrollLeft = now.offsetLeft - 16;
  if (had) nav.querySelector(`[data-view="${had}"]`)?.focus();
}

function questions(n) {
  const more = n > open;
  open = n;
  navigation(route().view);
  title();
  if (!more) return;
  say(`${plural(n, 'question')} ${n === 1 ? 'waits' : 'wait'} for an answer`);
  if (document.hidden && 'Notification' in window && Notification.permission === 'granted') {
    new Notification(`${plural(n, 'question')} from an agent`, { body: 'Open the console to answer.', tag: 'harness-approvals' });
  }
}

const words = {
  off: ['', ''], connecting: ['off', 'connecting'], live: ['live', 'live'], paused: ['off', 'paused'], lost: ['bad', 'no connection, trying again'], refused: ['bad', 'the token was refused'],
};
function link(now) {
  const [tone, text] = words[now] ?? words.off;
  show(document.getElementById('link'), text && h(`span.badge.${tone}`, h('span.words', text)));
}

function keys(e) {
  if (document.querySelector('dialog[open]') || e.defaultPrevented) return;
  if (current?.key?.(e)) return;
  if (e.key === '/' && !isTyping(e.target)) {
    const search = main.querySelector('input[type="search"]');
    if (search) { e.preventDefault(); search.focus(); }
  }
}

async function begin() {
  if (!takeToken()) {
    show(main, h('div.viewbody', empty('This tab has no token', 'Open the URL that harness console printed: the part after # lets this tab in. A new tab needs the whole URL.',
      h('p', 'To start a console: ', h('code', 'harness console')))));
    return;
  }
  addEventListener('hashchange', () => { if (!takeFragment()) go(); });
  addEventListener('keydown', keys);
  live.on('link', link);
  live.on('hello', ({ open: n }) => questions(n));
  live.on('approvals', ({ open: n }) => questions(n));
  dialogs.start();
  try {
    state.about = await get('about');
    document.getElementById('project').textContent = line(state.about.name, 60);
    document.getElementById('project').title = state.about.root;
  } catch (e) {
    show(main, h('div.viewbody', failure(e, () => location.reload())));
    return;
  }
  live.start();
  go();
}

// The printed URL was opened in a tab that shows the page already.
function takeFragment() {
  if (!location.hash.startsWith('#token=')) return false;
  takeToken();
  location.reload();
  return true;
}

begin();
