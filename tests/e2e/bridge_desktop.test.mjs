// The bridge tools on a desktop: a real session bus (dbus-daemon) with a real notification service (dunst) and a real portal (xdg-desktop-portal and
// its GTK file chooser) on a virtual screen (Xvfb), driven as a user would; then a test service on a real bus that answers badly (bus_service.py).
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bin, environment, folder, project, root, undo } from './harness.mjs';
import { caller, tool } from './calls.mjs';
import { connect, ways } from './mcp_sdk.mjs';

const NAMES = '[read, notify, show_dialog, show_file_picker]';
const LISTED = { 'harness.md': `---\nbuiltin_tools: ${NAMES}\nmeta: { enabled: true }\n---\n` };

// ---- processes ----

// A program that runs until the test ends. `shows(pattern)` waits until its output matches.
function program(t, command, args, env, stdio = ['ignore', 'pipe', 'pipe']) {
  const child = spawn(command, args, { env, stdio });
  const p = { child, out: '' };
  for (const stream of child.stdio.slice(1)) stream?.on('data', data => { p.out += data; });
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  p.ended = ended;
  let over = false;
  ended.then(() => { over = true; }, () => { over = true; });
  p.shows = async pattern => {
    for (let i = 0; i < 600 && !pattern.test(p.out); i++) {
      if (over) throw new Error(`${command} ended: ${p.out}`);
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    assert.match(p.out, pattern);
    return p.out.match(pattern);
  };
  undo(t, async () => {
    if (!over) child.kill('SIGKILL');
    await ended.catch(() => {});
  });
  return p;
}

// The document portal, which the bus starts, mounts a file system there and may end without removing it.
const mounted = dir => readFileSync('/proc/mounts', 'utf8').includes(` ${dir}/`);

// A session bus; its environment for harness and for services.
async function session(t) {
  const home = folder(t), runtime = folder(t);
  chmodSync(runtime, 0o700);
  undo(t, () => poll('the mount of the document portal is gone', () => !mounted(runtime) || !spawnSync('umount', ['-l', join(runtime, 'doc')]).error && !mounted(runtime)));
  const env = { ...environment, HOME: home, XDG_RUNTIME_DIR: runtime, XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config'), GIO_USE_VFS: 'local', GSETTINGS_BACKEND: 'memory' };
  const bus = program(t, 'dbus-daemon', ['--session', '--nofork', '--nopidfile', '--print-address=1', `--address=unix:path=${join(runtime, 'bus')}`], env);
  env.DBUS_SESSION_BUS_ADDRESS = (await bus.shows(/^(unix:\S+)\n/))[1];
  return { home, env };
}

async function screen(t, s) {
  const x = program(t, 'Xvfb', ['-displayfd', '3', '-screen', '0', '1024x768x24', '-nolisten', 'tcp'], s.env, ['ignore', 'ignore', 'ignore', 'pipe']);
  s.env.DISPLAY = `:${(await x.shows(/^(\d+)\n/))[1]}`;
}

// Starts harness call; `done` is its exit status, and `value` then parses what it printed.
function calling(t, p, s, name, args) {
  const c = program(t, bin, ['-C', p.dir, 'call', name, JSON.stringify(args), '--events', join(p.state, 'events.jsonl')], { ...s.env, ...p.env });
  c.value = async () => {
    await c.ended;
    return JSON.parse(c.out.trim().split('\n').at(-1));
  };
  return c;
}

const poll = async (what, f) => {
  for (let i = 0; i < 600; i++) {
    const v = f();
    if (v) return v;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error(`${what} did not happen`);
};

// ---- dunst ----

async function dunst(t, s) {
  const menu = join(s.home, 'menu.sh'), config = join(s.home, 'dunstrc');
  writeFileSync(menu, '#!/bin/sh\ngrep -m1 "#Discard"\n');
  chmodSync(menu, 0o755);
  writeFileSync(config, `[global]\nmarkup = full\ndmenu = ${menu}\n`);
  const d = program(t, 'dunst', ['-conf', config, '-print'], s.env);
  const control = (...args) => spawnSync('dunstctl', args, { env: s.env, encoding: 'utf8' });
  await poll('dunst', () => control('count', 'displayed').status === 0);
  d.control = control;
  d.displayed = n => poll(`${n} notifications`, () => control('count', 'displayed').stdout.trim() === String(n));
  return d;
}

test('dunst: a notification is shown, with the label, as plain text', async t => {
  const s = await session(t), p = caller(t, LISTED);
  await screen(t, s);
  const d = await dunst(t, s);
  const c = calling(t, p, s, 'notify', { title: 'Build <b>done</b>', body: 'a & b <i>c</i>\x1b[31m' });
  assert.deepEqual(await c.value(), { shown: true, place: 'desktop' });
  await d.displayed(1);
  await d.shows(/summary: +'?harness: Build <b>done<\/b>/);
  assert.match(d.out, /a &amp; b &lt;i&gt;c&lt;\/i&gt;/);
  assert.doesNotMatch(d.out, /\x1b/);
});

test('dunst: a dialog has real buttons; closing is a result; Ctrl-C and the end of the service stop it', async t => {
  const s = await session(t), p = caller(t, LISTED), args = { title: 'Save?', message: 'It has changed.', buttons: ['Save', 'Discard'] };
  await screen(t, s);
  const d = await dunst(t, s);
  const pressed = calling(t, p, s, 'show_dialog', args);
  await d.displayed(1);
  d.control('context');                                // the menu of buttons: picks Discard
  assert.deepEqual(await pressed.value(), { button: 'Discard', closed: false, place: 'desktop' });
  await d.displayed(0);
  const closed = calling(t, p, s, 'show_dialog', args);
  await d.displayed(1);
  d.control('close');
  assert.deepEqual(await closed.value(), { button: null, closed: true, place: 'desktop' });
  assert.equal(await closed.ended, 0);
  const stopped = calling(t, p, s, 'show_dialog', args);
  await d.displayed(1);
  stopped.child.kill('SIGINT');
  assert.equal(await stopped.ended, 130);
  await d.displayed(0);                                // it does not stay on the screen
  const orphan = calling(t, p, s, 'show_dialog', args);
  await d.displayed(1);
  d.child.kill('SIGKILL');
  assert.match((await orphan.value()).error, /org\.freedesktop\.Notifications left the bus before the answer/);
  assert.match((await calling(t, p, s, 'show_dialog', args).value()).error, /^desktop: .*Notifications/);       // no service at all
});

test('MCP: a client without elicitation reaches the desktop over stdio, and never over HTTP', async t => {
  const s = await session(t), v = await service(t, s, { signals: [press('1')] });
  for (const name of ['SDK 1.x, stdio', 'SDK 2.x, stateless, stdio', 'SDK 1.x, http', 'SDK 2.x, stateless, http']) {
    const { client } = await connect(t, project(t, LISTED), ways[name], { env: { DBUS_SESSION_BUS_ADDRESS: s.env.DBUS_SESSION_BUS_ADDRESS } });
    const before = v.out.length, r = await client.callTool({ name: 'show_dialog', arguments: dialog });
    if (ways[name].http) {
      assert.match(r.content[0].text, /the client is not at this desktop/, name);
      assert.equal(v.out.length, before, 'the desktop was not asked');
    } else assert.deepEqual(r.structuredContent, { button: 'b', closed: false, place: 'desktop' }, name);
  }
  // A client that has forms is asked before the desktop is.
  const { client } = await connect(t, project(t, LISTED), ways['SDK 1.x, stdio'], { env: { DBUS_SESSION_BUS_ADDRESS: s.env.DBUS_SESSION_BUS_ADDRESS },
    answers: { 'elicitation/create': () => ({ action: 'accept', content: { button: 'a' } }) } });
  assert.equal((await client.callTool({ name: 'show_dialog', arguments: dialog })).structuredContent.place, 'client');
});

test('a dialog on the desktop ends with the wall clock of the run', async t => {
  const s = await session(t), p = caller(t, { 'harness.md': `---\nbuiltin_tools: ${NAMES}\nlimits: { wall_clock_ms: 3000 }\n---\n` });
  await screen(t, s);
  const d = await dunst(t, s);
  assert.match((await calling(t, p, s, 'show_dialog', { title: 'x' }).value()).error, /timed out/);
  await d.displayed(0);
});

// ---- the portal ----

async function portal(t, s) {
  await screen(t, s);
  const env = { ...s.env, XDG_CURRENT_DESKTOP: 'gnome', GTK_A11Y: 'none', NO_AT_BRIDGE: '1' };
  const owned = name => spawnSync('dbus-send', ['--session', '--print-reply', '--dest=org.freedesktop.DBus', '/', 'org.freedesktop.DBus.NameHasOwner', `string:${name}`],
    { env: s.env, encoding: 'utf8' }).stdout.includes('true');
  program(t, '/usr/libexec/xdg-desktop-portal-gtk', [], env);
  await poll('the file chooser of GTK', () => owned('org.freedesktop.impl.portal.desktop.gtk'));
  program(t, '/usr/libexec/xdg-desktop-portal', [], env);
  await poll('the portal', () => owned('org.freedesktop.portal.Desktop'));
  const x = (...args) => spawnSync('xdotool', args, { env: s.env, encoding: 'utf8' }).stdout.trim();
  return {
    x,
    window: title => poll(`window ${title}`, () => x('search', '--onlyvisible', '--name', title).split('\n')[0]),
    gone: title => poll(`no window ${title}`, () => x('search', '--onlyvisible', '--name', title) === ''),
  };
}

// Types into the chooser until it has closed: GTK may not be ready for the first keys.
async function type(desk, title, path, settle = 500) {
  for (let i = 0; i < 10; i++) {
    const window = desk.x('search', '--onlyvisible', '--name', title).split('\n')[0];
    if (!window) return;
    desk.x('windowfocus', '--sync', window);
    if (path) desk.x('key', 'ctrl+l'), desk.x('key', 'ctrl+a'), desk.x('type', '--delay', '20', path);
    await new Promise(resolve => setTimeout(resolve, settle));
    desk.x('key', path ? 'Return' : 'Escape');
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
}

// Calls a tool that opens the chooser and types a path there. On a busy machine GTK sees Return before the end of the path: then the call is repeated.
async function pick(t, p, s, desk, [name, args], title, path) {
  for (let settle = 500; ; settle *= 2) {
    const c = calling(t, p, s, name, args);
    await desk.window(title);
    await type(desk, title, path, settle);
    const v = await c.value();
    if (settle > 4000 || !/: no such file$/.test(v.error ?? '')) return v;
  }
}

test('portal: the user picks a file in the GTK chooser; outside the workspace it is granted to the run', async t => {
  const s = await session(t), p = caller(t, { ...LISTED, 'in.txt': 'inside',
    '.harness/tools/work.md': tool('path = meta.call_tool("show_file_picker", {"title": "Report", "filter": "*.txt"})[0]\nreturn {"path": path, "text": meta.call_tool("read", {"path": path})}') });
  const desk = await portal(t, s);
  writeFileSync(join(s.home, 'report.txt'), 'quarterly');
  writeFileSync(join(s.home, 'id_ed25519'), 'key');
  const v = await pick(t, p, s, desk, ['work', {}], 'harness: Report', join(s.home, 'report.txt'));
  assert.equal(v.path, join(s.home, 'report.txt'));
  assert.match(v.text, /quarterly/);
  assert.deepEqual(p.events('sandbox.granted').map(e => [e.data.path, e.data.source]), [[join(s.home, 'report.txt'), 'desktop']]);
  assert.deepEqual(await pick(t, p, s, desk, ['show_file_picker', { title: 'Inside' }], 'harness: Inside', join(p.dir, 'in.txt')), ['in.txt']);
  const key = await pick(t, p, s, desk, ['show_file_picker', { title: 'Key' }], 'harness: Key', join(s.home, 'id_ed25519'));
  assert.match(key.error, /has a sensitive name and cannot be picked/);
});

test('portal: closing the chooser is an empty list; Ctrl-C closes the window', async t => {
  const s = await session(t), p = caller(t, LISTED), desk = await portal(t, s);
  const closed = calling(t, p, s, 'show_file_picker', { title: 'Nothing', multiple: true });
  await desk.window('harness: Nothing');
  await type(desk, 'harness: Nothing', null);
  assert.deepEqual(await closed.value(), []);
  assert.equal(await closed.ended, 0);
  const stopped = calling(t, p, s, 'show_file_picker', { title: 'Stopped' });
  await desk.window('harness: Stopped');
  stopped.child.kill('SIGINT');
  assert.equal(await stopped.ended, 130);
  await desk.gone('harness: Stopped');
});

// ---- a test service that answers badly ----

async function service(t, s, how) {
  const v = program(t, '/usr/bin/python3', [join(root, 'tests/e2e/bus_service.py'), JSON.stringify(how)], s.env);
  await v.shows(/^ready\n/);
  return v;
}

async function outcome(t, how, name, args, files = LISTED) {
  const s = await session(t), p = caller(t, files), v = await service(t, s, how);
  const c = calling(t, p, s, name, args);
  return { value: await c.value(), status: await c.ended, service: v, p, s };
}

const dialog = { title: 'x', buttons: ['a', 'b'] };
const press = (key, more = {}) => ({ member: 'ActionInvoked', signature: 'us', values: ['$id', key], ...more });

for (const [what, [how, expected]] of Object.entries({
  'capabilities of another type': [{ caps: { signature: 'i', values: [1] } }, /sent data of the wrong type/],
  'capabilities that are an error': [{ caps: 'error' }, /Notifications: it is \\\S+broken/],
  'no buttons': [{ caps: { signature: 'as', values: [['body']] } }, /has no buttons here/],
  'an id of another type': [{ notify: { signature: 's', values: ['7'] } }, /sent data of the wrong type/],
  'the id 0': [{ notify: { signature: 'u', values: [0] } }, /sent data of the wrong type/],
  'an empty reply': [{ notify: { signature: '', values: [] } }, /sent data of the wrong type/],
  'leaves instead of an answer': [{ notify: 'exit' }, /org\.freedesktop\.Notifications/],
  'leaves before the answer': [{ signals: [{ exit: true }] }, /left the bus before the answer/],
  'no answer to the call': [{ notify: 'silent' }, /no answer within 10 s/],
}))
  test(`a test service on a real bus, notifications: ${what}`, async t => {
    const { value, status } = await outcome(t, how, 'show_dialog', dialog);
    assert.equal(status, 1);
    assert.match(value.error, /^desktop: /);
    assert.match(value.error, expected);
    assert.doesNotMatch(value.error, /[\x1b\u202e]/);
    assert.ok(value.error.length < 600);
  });

test('a test service on a real bus: signals of others, of other notifications, of other types and unknown buttons do not count', async t => {
  const noise = [press('0', { foreign: true }), { member: 'NotificationClosed', signature: 'uu', values: ['$id', 2], foreign: true }, press('9'), press('default'),
    { member: 'ActionInvoked', signature: 'us', values: [8, '0'] }, { member: 'ActionInvoked', signature: 's', values: ['0'] }, { member: 'ActionInvoked', signature: 'su', values: ['0', 7] },
    { member: 'NotificationClosed', signature: 's', values: ['x'] }, { flood: 5000 }];
  const { value } = await outcome(t, { signals: [...noise, press('1')] }, 'show_dialog', dialog);
  assert.deepEqual(value, { button: 'b', closed: false, place: 'desktop' });
});

test('a test service on a real bus: a flood of signals does not keep Ctrl-C from ending the call', async t => {
  const s = await session(t), p = caller(t, LISTED), v = await service(t, s, { signals: [{ flood: 0 }] });
  const c = calling(t, p, s, 'show_dialog', dialog);
  await v.shows(/Notify/);
  await new Promise(resolve => setTimeout(resolve, 500));
  c.child.kill('SIGINT');
  assert.equal(await c.ended, 130);
  await v.shows(/CloseNotification/);
});

test('a test service on a real bus: what harness sends', async t => {
  const { service: v } = await outcome(t, { signals: [press('0')] }, 'show_dialog', { title: 'T', message: '<x> & y', buttons: ['Yes & no', '<b>'] });
  const [, json] = await v.shows(/Notify (.*)\n/), [app, replaces, icon, summary, body, actions] = JSON.parse(json);
  assert.deepEqual([app, replaces, icon, summary, body, actions], ['harness', 0, '', 'harness: T', '&lt;x&gt; &amp; y', ['0', 'Yes & no', '1', '<b>']]);
  const picked = await outcome(t, { response: [{ signature: 'ua{sv}', values: [1, {}] }] }, 'show_file_picker', { title: 'P', multiple: true, filter: '*.a, *.b' });
  const [, text] = await picked.service.shows(/OpenFile (.*)\n/), [parent, title, options] = JSON.parse(text);
  assert.deepEqual([parent, title, options.multiple, options.filters], ['', 'harness: P', true, [['*.a, *.b', [[0, '*.a'], [0, '*.b']]]]]);
  assert.equal(Buffer.from(options.current_folder).toString(), `${picked.p.dir}\0`);
});

const response = (uris, more = {}) => ({ response: [{ signature: 'ua{sv}', values: [0, { uris }], ...more }] });

test('a test service on a real bus, file chooser: addresses that are not files of this machine, and bad answers', async t => {
  const far = folder(t), p = caller(t, LISTED), s = await session(t);
  writeFileSync(join(far, 'ok.txt'), 'ok');
  writeFileSync(join(far, '.env'), 'key');
  mkdirSync(join(far, 'folder'));
  spawnSync('mkfifo', [join(far, 'pipe')]);
  symlinkSync('.env', join(far, 'link.txt'));
  symlinkSync('loop', join(far, 'loop'));
  const cases = [
    [response([`file://${far}/ok.txt`]), [join(far, 'ok.txt')]],
    [response([`file://localhost${far}/o%6b.txt`]), [join(far, 'ok.txt')]],
    [response([]), []],
    [{ response: [{ signature: 'ua{sv}', values: [2, {}] }] }, []],
    [response([`file://evil.example${far}/ok.txt`]), /a file of another machine/],
    [response([`file://${far}/ok.txt%00.png`]), /contains a NUL byte/],
    [response([`http://localhost${far}/ok.txt`]), /not a file: address/],
    [response([`${far}/ok.txt`]), /not a file: address/],
    [response([`file://${far}/folder`]), /is a folder/],
    [response([`file://${far}/pipe`]), /not a regular file/],
    [response(['file:///dev/zero']), /not a regular file/],
    [response(['file:///proc/self/environ']), /process file system/],
    [response([`file://${far}/missing`]), /no such file/],
    [response([`file://${far}/loop`]), /too many links/],
    [response([`file://${far}/link.txt`]), /sensitive name/],
    [response([`file://${p.env.HARNESS_STATE}`]), /belongs to harness/],
    [response([`file://${far}/ok.txt`, `file://${p.dir}/harness.md`]), /2 files were picked instead of one/],
    [response([`file://${far}/ok.txt`], { repeat: 5000 }), /too many picked files \(limit 100\)/],
    [response(['file:///'], { pad: 8 << 20 }), /too long/],
    [{ response: [{ signature: 's', values: ['x'] }] }, /wrong type/],
    [{ response: [{ signature: 'ua{sv}', values: [0, { uris: 'file:///x' }] }] }, /wrong type/],
    [{ response: [{ signature: 'us', values: [0, 'x'] }] }, /wrong type/],
    [{ response: [{ signature: 'ua{sv}', values: [77, {}] }] }, /unknown answer/],
    [{ response: [{ exit: true }] }, /left the bus before the answer/],
    [{ open: { signature: 's', values: ['x'] } }, /wrong type/],
    [{ open: 'error' }, /broken/],
    [{ response: [{ signature: 'ua{sv}', values: [0, { uris: ['file:///etc/hostname'] }], foreign: true }, { signature: 'ua{sv}', values: [0, { uris: ['file:///etc/hostname'] }], path: '/x' },
      { signature: 'ua{sv}', values: [1, {}] }] }, []],                                     // of another sender, of another request
    [{ open: { signature: 'o', values: ['/old/portal/request'] }, handle: '/old/portal/request', ...response([`file://${far}/ok.txt`]) }, [join(far, 'ok.txt')]],
  ];
  for (const [how, expected] of cases) {
    const v = await service(t, s, how), c = calling(t, p, s, 'show_file_picker', { title: 'x' }), value = await c.value(), about = JSON.stringify(how).slice(0, 200);
    if (Array.isArray(expected)) assert.deepEqual(value, expected, about);
    else assert.match(value.error ?? JSON.stringify(value), expected, about);
    assert.ok((value.error ?? '').length < 600);
    v.child.kill();
    await v.ended;
  }
});

test('no session bus, a bus that does not answer, and an address that would start a program', async t => {
  const p = caller(t, LISTED), dir = folder(t);
  const call = env => p.call('notify', { title: 'x' }, [], { env });
  assert.match(call({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${dir}/none` }).error.message, /^desktop: no session bus: No such file/);
  assert.match(call({ XDG_RUNTIME_DIR: dir }).error.message, /^desktop: no session bus/);
  assert.match(call({ DBUS_SESSION_BUS_ADDRESS: `unixexec:path=/usr/bin/touch,argv1=${dir}/made` }).error.message, /would start a program/);
  assert.match(call({ DBUS_SESSION_BUS_ADDRESS: 'nonsense' }).error.message, /^desktop: /);
  const mute = program(t, 'python3', ['-c', `import socket,time\ns=socket.socket(socket.AF_UNIX)\ns.bind("${dir}/mute")\ns.listen()\nprint("ready", flush=True)\ntime.sleep(300)`], environment);
  await mute.shows(/ready/);
  assert.match(call({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${dir}/mute` }).error.message, /did not answer within 10 s/);
  assert.throws(() => readFileSync(join(dir, 'made')));
});
