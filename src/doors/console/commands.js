// What a person can do with a run: say something, cancel, resume, fork. The server starts ordinary harness processes for it.

import { h, button, dialog, failure, labelled, say, show } from './dom.js';
import { get, post } from './api.js';
import { line } from './format.js';

// A form in a dialog: fields, a line for errors, one main button.
function ask(title, text, fields, action, send) {
  dialog(title, close => {
    const trouble = h('div');
    const main = button(action, async () => {
      main.disabled = true;
      try {
        await send();
        close();
      } catch (e) {
        show(trouble, failure(e));
        main.disabled = false;
      }
    }, { kind: 'primary' });
    return h('div.stack', text && h('p', text), fields, trouble, h('div.line', main, button('Close', close, { kind: 'quiet' })));
  });
}

const path = (run, what) => `runs/${encodeURIComponent(run.id)}/${what}`;

export function cancel(run) {
  ask('Cancel this run?', 'The step that runs now is stopped, and the run ends as cancelled. It can be resumed later.', [], 'Cancel the run', async () => {
    await post(path(run, 'cancel'));
    say('The run was asked to stop');
  });
}

export function tell(run) {
  const text = h('textarea', { rows: 3 });
  ask('Say something to the agent', 'The agent reads it before its next request to the model.', [labelled('Message', text)], 'Send', async () => {
    await post(path(run, 'say'), { text: text.value });
    say('Sent');
  });
}

// Models and agents to choose from; the lists come late, and the choice of the run itself is there at once.
function choices() {
  const model = h('select', h('option', { value: '' }, 'As before')), agent = h('select', h('option', { value: '' }, 'As before'));
  const add = (select, names) => names.filter(Boolean).forEach(name => select.append(h('option', { value: name }, line(name, 80))));
  get('models').then(list => add(model, list.map(m => m.profile ?? m.name)), () => {});
  get('project').then(p => add(agent, (p.agents ?? []).map(a => a.name)), () => {});
  return { model, agent, fields: [labelled('Model', model), labelled('Agent', agent)], body: () => ({ ...(model.value && { model: model.value }), ...(agent.value && { agent: agent.value }) }) };
}

export function resume(run) {
  const text = h('textarea', { rows: 3 }), more = choices();
  ask('Resume this run', 'The server starts harness runs resume for it, under the policy of the project as it is now.',
    [labelled('Message', text, 'Leave it empty to continue where the run stopped.'), more.fields], 'Resume', async () => {
      await post(path(run, 'resume'), { ...(text.value && { text: text.value }), ...more.body() });
      say('The run continues');
    });
}

export function fork(run, trace, redirect) {
  const turns = [...new Set(trace.turns)], more = choices(), text = h('textarea', { rows: 3 });
  const turn = h('select', turns.map(n => h('option', { value: String(n) }, `After turn ${n}`)));
  if (turns.length > 0) turn.value = String(turns.at(-1));
  ask('Fork this run', 'A new run begins with a copy of the conversation up to the end of a turn. It inherits no approvals, and the policy stays the same.',
    [labelled('From', turn), labelled('Message', text, 'Leave it empty to make the copy only.'), more.fields], 'Fork', async () => {
      const made = await post(path(run, 'fork'), { ...(turn.value && { turn: Number(turn.value) }), ...(text.value && { text: text.value }), ...more.body() });
      redirect(`run/${encodeURIComponent(made.run)}`);
    });
}
