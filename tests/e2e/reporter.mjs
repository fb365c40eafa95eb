// A compact reporter for Node's test runner: one line per test, the whole error of a failure,
// the failures once more at the end, and a last line that scripts/test.sh reads.
import { inspect } from 'node:util';
import { relative } from 'node:path';

export default async function* report(source) {
  let passed = 0, failed = 0, skipped = 0;
  const failures = [];
  for await (const { type, data } of source) {
    if (type === 'test:stderr' || type === 'test:stdout') yield data.message;
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    const error = data.details?.error;
    if (error?.failureType === 'subtestsFailed') continue;      // the subtest was reported already
    if (data.details?.type === 'suite' && type === 'test:pass') continue;
    const where = data.file ? `${relative(process.cwd(), data.file)}:${data.line}` : '';
    const ms = Math.round(data.details?.duration_ms ?? 0);
    if (data.skip !== undefined) {
      skipped++;
      yield `   skip  ${data.name} (${data.skip || 'no reason given'})\n`;
    } else if (type === 'test:pass') {
      passed++;
      yield `     ok  ${data.name} (${ms} ms)\n`;
    } else {
      failed++;
      const cause = error?.cause ?? error;
      const name = `   FAIL  ${data.name} (${ms} ms) ${where}\n`;
      failures.push(name + indent(String(cause?.message ?? cause).slice(0, 600)));
      yield name + indent(inspect(cause, { maxStringLength: 4000 }));
    }
  }
  // A log of thousands of lines is often read from its end: name the failures there too.
  yield* failures;
  yield `end-to-end: ${passed} passed, ${failed} failed, ${skipped} skipped\n`;
}

const indent = text => text.replace(/^/gm, '         ') + '\n';
