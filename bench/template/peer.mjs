// Handlebars on the same template and context: prints "compile render bytes", times in microseconds. The first rendering counts as
// compiling: Handlebars compiles when it first renders.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const Handlebars = createRequire(import.meta.url)('/usr/share/javascript/handlebars/handlebars.js');

const text = readFileSync('bench/template/prompt.hbs', 'utf8'), context = JSON.parse(readFileSync('bench/template/context.json', 'utf8'));
const best = (rounds, times, work) => {
  let least = Infinity;
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < times; i++) work();
    least = Math.min(least, (performance.now() - start) / times);
  }
  return least * 1e3;
};
const compile = best(50, 20, () => Handlebars.compile(text, { noEscape: true })(context));
const render = Handlebars.compile(text, { noEscape: true });
console.log(compile, best(50, 500, () => render(context)), Buffer.byteLength(render(context)));
