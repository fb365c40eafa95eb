// ajv on the same schema and instances: prints "first compile validate valid", times in milliseconds.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const require = createRequire(new URL('../../tests/e2e/package.json', import.meta.url));
const Ajv = require('ajv/dist/2020.js').default;

const schema = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const instances = JSON.parse(readFileSync(process.argv[3], 'utf8'));
const options = { strict: false };

let start = performance.now();
const ajv = new Ajv(options);
const validate = ajv.compile(schema);
validate(instances[0]);
const first = performance.now() - start;

// The best case for ajv: one instance, with all of its code warmed up.
let compile = Infinity;
for (let i = 0; i < 200; i++) {
  const copy = structuredClone(schema);
  start = performance.now();
  ajv.compile(copy);
  compile = Math.min(compile, performance.now() - start);
}

let best = Infinity, valid = 0;
for (let round = 0; round < 500; round++) {
  valid = 0;
  start = performance.now();
  for (const instance of instances) valid += validate(instance);
  best = Math.min(best, performance.now() - start);
}
console.log(first, compile, best, valid);
