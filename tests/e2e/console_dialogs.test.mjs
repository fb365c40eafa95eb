// Bridge tools in an open page of the console: a run of another process shows a dialog there and gets the answer, through the store.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { caller } from './calls.mjs';
import { serve, stream } from './consoles.mjs';
import { bin, environment, folder } from './harness.mjs';

const LISTED = { 'harness.md': '---\nbuiltin_tools: [read, notify, show_dialog, show_file_picker]\n---\n', 'a.csv': '1\n', 'sub/b.csv': '2\n', 'c.txt': '3\n' };
const terminal = new URL('terminal.py', import.meta.url).pathname;

async function until(what) {
  for (let i = 0; i < 800; i++) {
    const got = await what();
    if (got) return got;
    await sleep(25);
  }
  return assert.fail(`never: ${what}`);
}

// A console with an open page.
async function opened(t, files = LISTED) {
  const p = caller(t, files), s = await serve(t, p), page = stream(t, s);
  await page.until(e => e.event === 'hello');
  await until(() => reached(p));
  const shown = () => until(async () => (await s.json('dialogs'))[0]);
  return { p, s, page, shown, answer: (d, body) => s.post(`dialogs/${d.id}/answer`, body) };
}

// A notification tells whether a page is open, and is closed again.
function reached(p) {
  const r = p.call('notify', { title: 'probe' });
  return r.status === 0 && r.value.place === 'page';
}

async function clear(s) {
  for (const d of await s.json('dialogs')) assert.equal((await s.post(`dialogs/${d.id}/answer`)).status, 200);
}

function atTerminal(p, args, steps) {
  const child = spawn('python3', [terminal, bin, '-C', p.dir, ...args], { cwd: p.dir, env: { ...environment, TERM: 'xterm', ...p.env } });
  const done = new Promise(resolve => {
    let out = '';
    child.stdout.on('data', d => { out += d; });
    child.on('close', () => resolve(JSON.parse(out)));
  });
  child.stdin.end(JSON.stringify(steps));
  return done;
}

test('a dialog: shown in the page, answered there, once; it cannot be approved', async t => {
  const { p, s, page, shown, answer } = await opened(t);
  await clear(s);
  const calling = p.start('show_dialog', { title: 'Save?', message: 'two\nlines', buttons: ['Save', 'Discard'] });
  const d = await shown();
  assert.deepEqual([d.kind, d.label, d.title, d.text, d.buttons, d.tool], ['dialog', 'harness', 'Save?', 'two\nlines', ['Save', 'Discard'], 'show_dialog']);
  await page.until(e => e.event === 'dialogs' && e.data.dialogs === 1);
  assert.deepEqual(await s.json('approvals'), []);
  assert.equal(p.run(['approvals', '--json']).stdout.replace(/\s/g, ''), '[]');
  assert.equal((await s.get(`approvals/${d.id}`)).status, 404);
  assert.equal((await s.post(`approvals/${d.id}/approve`)).status, 404);
  assert.match(p.run(['approvals', 'approve', d.id, '--yes']).stderr, /there is no question/);
  for (const bad of [{ button: 2 }, { button: -1 }, { button: '0' }, { files: ['a.csv'] }, { button: 0, files: [] }, { answer: 'yes' }]) assert.equal((await answer(d, bad)).status, 400, JSON.stringify(bad));
  assert.equal((await s.post('dialogs/d0000000000000000/answer')).status, 404);
  const both = await Promise.all([answer(d, { button: 1 }), answer(d, { button: 1 })]);
  assert.deepEqual(both.map(r => r.status).sort(), [200, 409]);
  assert.match(both.find(r => r.status === 409).json.by, /^console, uid/);
  assert.deepEqual((await calling).value, { button: 'Discard', closed: false, place: 'page' });
  assert.deepEqual(await s.json('dialogs'), []);
  const closing = p.start('show_dialog', { title: 'Again?' });
  await answer(await shown(), {});
  assert.deepEqual((await closing).value, { button: null, closed: true, place: 'page' });
});

test('a file picker: files of the workspace only; a refused one is asked for again, with the reason', async t => {
  const { p, s, shown, answer } = await opened(t), far = folder(t);
  writeFileSync(`${far}/x.csv`, 'far');
  await clear(s);
  const picking = p.start('show_file_picker', { title: 'Which?', filter: '*.csv' });
  const first = await shown();
  assert.deepEqual([first.kind, first.multiple, first.globs, [...first.files].sort(), first.more_files, first.problem], ['picker', false, ['*.csv'], ['a.csv', 'sub/b.csv'], false, undefined]);
  assert.equal((await answer(first, { files: ['a.csv', 'sub/b.csv'] })).status, 400);
  assert.equal((await answer(first, { files: [`${far}/x.csv`] })).status, 200);
  const second = await until(async () => (await s.json('dialogs')).find(d => d.id !== first.id));
  assert.match(second.problem, /outside the workspace/);
  await answer(second, { files: ['c.txt'] });
  const third = await until(async () => (await s.json('dialogs')).find(d => d.id !== first.id && d.id !== second.id));
  assert.match(third.problem, /does not fit the filter/);
  await answer(third, { files: ['sub/b.csv'] });
  assert.deepEqual((await picking).value, ['sub/b.csv']);
  const more = p.start('show_file_picker', { multiple: true });
  await answer(await shown(), { files: ['a.csv', 'c.txt'] });
  assert.deepEqual((await more).value, ['a.csv', 'c.txt']);
});

test('a notification does not wait; it stays until it is dismissed', async t => {
  const { p, s } = await opened(t);
  await clear(s);
  assert.deepEqual(p.call('notify', { title: 'Done', body: 'all green' }).value, { shown: true, place: 'page' });
  const [d] = await s.json('dialogs');
  assert.deepEqual([d.kind, d.title, d.text], ['notification', 'Done', 'all green']);
  await clear(s);
  assert.deepEqual(await s.json('dialogs'), []);
});

test('without an open page everything is as it was', async t => {
  const { p, page } = await opened(t);
  page.close();
  await until(() => !reached(p));
  const r = p.call('show_dialog', { title: 'x' });
  assert.equal(r.status, 1);
  assert.equal(r.error.message, 'no user can be reached: no page of the console is open; no terminal; no client; no desktop (no session bus)');
});

test('a run at a terminal asks in both places; the first answer closes the other', async t => {
  const { p, s, shown, answer } = await opened(t), args = JSON.stringify({ title: 'Save?', buttons: ['Save', 'Discard'] });
  await clear(s);
  const inPage = atTerminal(p, ['call', 'show_dialog', args], [['', 'empty closes)> '], ['', '"place":"page"']]);
  await answer(await shown(), { button: 0 });
  assert.match((await inPage).output, /\{"button":"Save","closed":false,"place":"page"\}/);
  const atHand = await atTerminal(p, ['call', 'show_dialog', args], [['', 'empty closes)> '], ['2\n', '"place":"terminal"']]);
  assert.match(atHand.output, /\{"button":"Discard","closed":false,"place":"terminal"\}/);
  assert.deepEqual(await s.json('dialogs'), []);
  const far = folder(t);
  writeFileSync(`${far}/x.csv`, 'far');
  const outside = await atTerminal(p, ['call', 'show_file_picker', '{}'], [['', 'empty closes)> '], [`${far}/x.csv\n`, 'picked']]);
  assert.match(outside.output, /x\.csv"\]/);                          // the terminal may pick files outside of the workspace, the page may not
});

test('a cancelled or killed call takes its dialog back', async t => {
  const { p, s, shown, answer } = await opened(t);
  await clear(s);
  for (const signal of ['SIGINT', 'SIGKILL']) {
    const child = spawn(bin, ['-C', p.dir, 'call', 'show_dialog', '{"title": "Wait"}'], { env: { ...environment, ...p.env }, stdio: 'ignore' });
    const d = await shown();
    child.kill(signal);
    await until(async () => (await s.json('dialogs')).length === 0);
    const late = await answer(d, { button: 0 });
    assert.equal(late.status, signal === 'SIGINT' ? 409 : 200);
  }
});
