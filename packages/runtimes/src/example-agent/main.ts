/**
 * The agent that ships with Headgate. It is not a model: it reads what it is asked for, and does one of two
 * small repairs, always in the same way. It uses nothing but Node, so that it runs in any sandbox.
 *
 *   fix-failing-check  finds `FIXME: \`a\` should be \`b\`` in the code and does what it says
 *   tidy               brings NOTES.md into order
 *   any other route    both
 *
 * HEADGATE_EXAMPLE_SLEEP_MS makes it work for that long. HEADGATE_EXAMPLE_MODE makes it misbehave: `hang` (says
 * nothing more), `fork` (leaves a process of another session behind), `fail` (ends with 1), `noisy` (never
 * stops talking).
 */
import { spawn } from 'node:child_process';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fixMarkedDefects } from './fix-marked-defects.js';
import { tidyNotes } from './tidy-notes.js';

const SAY_EVERY_MS = 500;

async function main(): Promise<void> {
  const input = await readInput();
  console.log(`example agent: run ${input.runId}, attempt ${input.attempt}, route ${input.route}`);
  await work(Number(process.env['HEADGATE_EXAMPLE_SLEEP_MS'] ?? '0'));
  await misbehave(process.env['HEADGATE_EXAMPLE_MODE'] ?? '');

  const root = process.cwd();
  const done: string[] = [];
  if (input.route !== 'tidy') done.push(...(await tool('fix_marked_defects', () => fixMarkedDefects(root))));
  if (input.route !== 'fix-failing-check') done.push(...(await tool('tidy_notes', () => tidyNotes(root))));
  for (const line of done) console.log(line);
  const summary = done.length === 0 ? 'Nothing had to be changed.' : done.join('\n');
  const resultFile = process.env['HEADGATE_RESULT'];
  if (resultFile !== undefined) await writeFile(resultFile, `${JSON.stringify({ summary })}\n`);
  console.log(done.length === 0 ? 'example agent: nothing to do' : 'example agent: done');
}

let calls = 0;

/** Does it, and reports it as a tool call. */
async function tool<T>(name: string, act: () => Promise<T>): Promise<T> {
  const startedAt = new Date().toISOString();
  calls += 1;
  const id = String(calls);
  let error: string | null = null;
  try {
    return await act();
  } catch (fault) {
    error = fault instanceof Error ? fault.name : 'fault';
    throw fault;
  } finally {
    const file = process.env['HEADGATE_TOOL_CALLS'];
    const call = { name, id, startedAt, endedAt: new Date().toISOString(), error };
    if (file !== undefined) await appendFile(file, `${JSON.stringify(call)}\n`);
  }
}

async function readInput(): Promise<{ runId: string; attempt: number; route: string }> {
  const file = process.env['HEADGATE_INPUT'];
  if (file === undefined) throw new Error('HEADGATE_INPUT names no file');
  const input: unknown = JSON.parse(await readFile(file, 'utf8'));
  const { run, task } = input as { run: { id: string; attempt: number }; task: { route: string } };
  return { runId: run.id, attempt: run.attempt, route: task.route };
}

/** Takes its time, audibly: a silent agent is stopped. */
async function work(totalMs: number): Promise<void> {
  for (let leftMs = totalMs; leftMs > 0; leftMs -= SAY_EVERY_MS) {
    console.log(`example agent: working, ${leftMs} ms left`);
    await delay(Math.min(leftMs, SAY_EVERY_MS));
  }
}

async function misbehave(mode: string): Promise<void> {
  switch (mode) {
    case '':
      return;
    case 'hang':
      console.log('example agent: hanging');
      await new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
      return;
    case 'fork': {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
        detached: true,
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      console.log(`example agent: left process ${child.pid} behind`);
      child.unref();
      return;
    }
    case 'fail':
      console.error('example agent: failing as asked');
      process.exit(1);
      return;
    case 'noisy':
      for (;;) {
        const accepted = process.stdout.write(`example agent: ${'noise '.repeat(1000)}\n`);
        if (!accepted) await new Promise((resolve) => process.stdout.once('drain', resolve));
      }
    default:
      throw new Error(`HEADGATE_EXAMPLE_MODE ${JSON.stringify(mode)} is not known`);
  }
}

await main();
