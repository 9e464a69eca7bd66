#!/usr/bin/env node
// The pinned pnpm in a clone that has been set up: `node scripts/pnpm.mjs check`.
import './node-version.mjs';
import { run } from './children.mjs';
import { ROOT, setUp } from './setup.mjs';

const { env } = await setUp();
const { code } = await run('pnpm', process.argv.slice(2), { cwd: ROOT, env, show: true });
process.exit(code);
