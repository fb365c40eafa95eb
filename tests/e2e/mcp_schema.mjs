// The official JSON Schemas of the protocol, as the newest conformance package carries them, and validation of messages against them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import vm from 'node:vm';
import { root } from './harness.mjs';

const require = createRequire(import.meta.url);
const ajv = { '2020-12': require('ajv/dist/2020').default, 'draft-07': require('ajv').default };

// The schemas are object literals, one behind the other, before the table that names them by version.
function schemas() {
  const text = readFileSync(join(root, 'tests/e2e/node_modules/conformance-next/dist/index.js'), 'utf8');
  const found = /[\w$]+=\{\$schema:`http:\/\/json-schema\.org\/draft-07\/schema#`,definitions:/.exec(text);
  const table = /;const [\w$]+=\{"2025-03-26":([\w$]+),"2025-06-18":([\w$]+),"2025-11-25":([\w$]+),\[[\w$]+\]:([\w$]+)\};/.exec(text);
  if (!found || !table || found.index > table.index) throw new Error('the conformance package keeps its schemas elsewhere now');
  return vm.runInNewContext(`const ${text.slice(found.index, table.index)};[${table.slice(1)}]`);
}

// The package has no schema for 2024-11-05; that of 2025-03-26 is a superset.
const versions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];
const judges = new Map();

function judgeOf(version) {
  if (version === '2024-11-05') version = '2025-03-26';
  if (judges.size === 0) schemas().forEach((schema, i) => judges.set(versions[i], makeJudge(repaired(schema))));
  return judges.get(version);
}

// The schemas require an integer where the text of the protocol and all implementations allow any number: defaults, bounds and values of forms.
function repaired(schema) {
  const { NumberSchema, ElicitResult } = schema.$defs ?? schema.definitions;
  for (const name of ['default', 'minimum', 'maximum']) if (NumberSchema?.properties[name]) NumberSchema.properties[name].type = 'number';
  const wider = node => {
    if (Array.isArray(node.type)) node.type = node.type.map(type => (type === 'integer' ? 'number' : type));
    for (const part of Object.values(node)) if (part && typeof part === 'object') wider(part);
  };
  if (ElicitResult) wider(ElicitResult.properties.content);
  return schema;
}

function makeJudge(schema) {
  const recent = schema.$schema.includes('2020-12');
  const checker = new ajv[recent ? '2020-12' : 'draft-07']({ strict: false, allErrors: true, validateFormats: false });
  checker.addSchema({ ...schema, $id: 'mcp' });
  const place = recent ? '$defs' : 'definitions', definitions = schema[place], methods = new Map();
  for (const [name, { properties }] of Object.entries(definitions))
    if (properties?.method?.const && !/^(Client|Server)/.test(name)) methods.set(properties.method.const, name);
  const compiled = new Map();
  const errors = (name, value) => {
    if (!compiled.has(name)) compiled.set(name, checker.compile({ $ref: `mcp#/${place}/${name}` }));
    const check = compiled.get(name);
    return check(value) ? [] : check.errors.map(e => `${name}${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
  };
  return { definitions, methods, errors };
}

// The problems of a message of this version; [] if it is valid. `answers` is the method that a response answers.
export function faults(version, message, answers) {
  const { definitions, methods, errors } = judgeOf(version);
  if (message.method !== undefined)
    return errors(methods.get(message.method) ?? ('id' in message ? 'JSONRPCRequest' : 'JSONRPCNotification'), message);
  const shell = (...names) => errors(names.find(name => name in definitions), message);
  if (message.error) return shell('JSONRPCErrorResponse', 'JSONRPCError');
  const result = message.result?.resultType === 'input_required' ? 'InputRequiredResult' : methods.get(answers)?.replace(/Request$/, 'Result');
  const task = message.result?.resultType === 'task';          // of an extension that these schemas do not know
  return [...shell('JSONRPCResultResponse', 'JSONRPCResponse'), ...(result in definitions && !task ? errors(result, message.result) : [])];
}

// Watches the messages that pass a transport of either SDK: [{ from: 'server' | 'client', message, answers }].
export function recorded(transport) {
  const seen = [], asked = { client: new Map(), server: new Map() };
  const note = (from, message) => {
    const to = from === 'client' ? 'server' : 'client';
    if (message.method !== undefined && message.id !== undefined) asked[from].set(message.id, message.method);
    seen.push({ from, message: structuredClone(message), answers: message.method === undefined ? asked[to].get(message.id) : undefined });
  };
  const send = transport.send.bind(transport);
  transport.send = (message, options) => (note('client', message), send(message, options));
  let handler;
  Object.defineProperty(transport, 'onmessage', {
    configurable: true, get: () => handler,
    set: f => { handler = f && ((message, extra) => (note('server', message), f(message, extra))); },
  });
  return seen;
}
