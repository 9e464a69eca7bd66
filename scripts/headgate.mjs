#!/usr/bin/env node
// npx headgate, in a clone.
import './node-version.mjs';
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { CLI_ENTRY, preloads } from './cli-entry.mjs';

if (!existsSync(CLI_ENTRY)) {
  console.error('Headgate has not been built yet: run npm start first.');
  process.exit(2);
}
process.argv[1] = CLI_ENTRY;
for (const url of preloads(process.argv[2])) await import(url);
await import(pathToFileURL(CLI_ENTRY).href);
