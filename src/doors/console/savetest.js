// "Save as test": writes a case for `harness test` into the project. The text is shown first; nothing is written without the button.

import { h, button, dialog, failure, labelled, say, show } from './dom.js';
import { post } from './api.js';
import { line, plain, yaml } from './format.js';

// outcome: null, { failed, item, value } of a call, or { decision, rule } of the simulator. guard: { vendor, payload } of another agent's call, instead of tool and args.
export function saveTest({ tool, args, guard, outcome }) {
  dialog('Save as test', close => {
    const name = h('input', { type: 'text', value: suggestion(tool, outcome), spellcheck: 'false', on: { input: draw } });
    const kind = h('select', { on: { change: draw } }, kinds(guard).map(([value, words]) => h('option', { value }, words)));
    const detail = h('textarea.mono', { rows: '3', spellcheck: 'false', on: { input: draw } }), what = h('div'), preview = h('pre.block', { tabindex: '0', role: 'region', 'aria-label': 'The file' }), trouble = h('div');
    const subject = guard ? { guard } : { call: { tool, args } };
    start();
    const save = button('Save', send, { kind: 'primary' });

    function start() {
      if (guard) { kind.value = outcome.decision; detail.value = outcome.rule ?? ''; return; }
      const rule = outcome?.rule ?? outcome?.item?.rule ?? outcome?.item?.step;
      if (outcome?.decision === 'deny' || outcome?.item?.status === 'refused') { kind.value = 'blocked'; detail.value = rule ?? ''; }
      else if (outcome?.decision === 'ask') { kind.value = 'blocked'; detail.value = 'confirm'; }
      else if (outcome?.failed) { kind.value = 'error'; detail.value = outcome.item?.error ?? ''; }
      else if (outcome?.value !== undefined) { kind.value = 'result'; detail.value = JSON.stringify(outcome.value, null, 2); }
    }

    function expect() {
      if (guard) return { decision: kind.value, ...(detail.value.trim() ? { rule: detail.value.trim() } : {}) };
      if (kind.value === 'ok') return {};
      if (kind.value === 'result') return { result: JSON.parse(detail.value || 'null') };
      if (kind.value === 'error') return { error: detail.value.trim() || true };
      return { blocked_by: detail.value.trim() };
    }

    function draw() {
      show(what, kind.value === 'ok' ? null : labelled(guard ? 'Rule or hook; empty: any' : { result: 'Value, as JSON; a map is compared in part', blocked: 'Rule, hook or step', error: 'Part of the message; empty: any error' }[kind.value], detail));
      try {
        preview.textContent = plain(`${yaml({ ...subject, ...expect() })}\n`);
        detail.removeAttribute('aria-invalid');
      } catch (e) {
        detail.setAttribute('aria-invalid', 'true');
        preview.textContent = plain(`The value is not JSON: ${e.message}`);
      }
    }

    async function send() {
      try {
        save.disabled = true;
        const { file } = await post('tests', { name: name.value.trim(), ...subject, expect: expect() });
        say(`Saved ${file}`);
        show(trouble, h('p.note', `Saved ${line(file, 120)}. Run it with: harness test ${line(name.value, 60)}`));
        save.remove();
      } catch (e) {
        save.disabled = false;
        show(trouble, failure(e));
      }
    }
    draw();
    return h('div.stack', labelled('Name', name, 'The file is .harness/tests/NAME.yaml'), labelled('The call', kind), what, preview, trouble, h('div.line', save, button('Close', close, { kind: 'quiet' })));
  });
}

const kinds = guard => (guard ? [['allow', 'must be allowed'], ['ask', 'must ask the user'], ['deny', 'must be denied']]
  : [['ok', 'must succeed'], ['result', 'must return a value'], ['blocked', 'must be blocked by a rule, hook or step'], ['error', 'must fail with an error']]);

function suggestion(tool, outcome) {
  const base = String(tool).toLowerCase().replace(/[^a-z0-9]+/g, '_').slice(0, 40);
  return outcome?.decision === 'deny' || outcome?.item?.status === 'refused' ? `blocks_${base}` : base;
}
