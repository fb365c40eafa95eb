// The attempts of tests/sandbox/escapes.txt to hold more memory than a call may have, each in a sandbox of its own.
import { test } from 'node:test';
import { readTable } from '../sandbox/table.mjs';
import { eachAlone, users } from './escapes.mjs';
import { limits } from './escapes_limits.mjs';

const entries = readTable().filter(e => e.group === 'alone' && e.name.startsWith('memory-'));

for (const user of users)
  test(`memory, as ${user.name}`, { concurrency: 2 }, t => eachAlone(t, user, entries, limits));
