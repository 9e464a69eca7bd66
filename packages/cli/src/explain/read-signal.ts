/** A signal to explain: a sample by its name, or a payload in a file. Nothing is sent. */
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Policy, Signal, SourcePolicy } from '@headgate/domain';
import { CommandEnd, EXIT } from '../exit.js';

export interface SignalQuestion {
  /** `check_run.completed#0`, or the path of a JSON file. */
  readonly what: string;
  /** The event of a file; by default taken from its name. */
  readonly event?: string;
  /** The source that would receive it; by default the only github source. */
  readonly source?: string;
  readonly cwd: string;
  readonly now: Date;
}

const MAX_PAYLOAD_BYTES = 25 * 1024 * 1024;

export async function readSignal(question: SignalQuestion, policy: Policy): Promise<Signal> {
  const source = sourceOf(question.source, policy);
  const { event, body } = question.what.endsWith('.json')
    ? await fromFile(question)
    : await fromSample(question);
  const { readWebhook } = await import('@headgate/sources');
  const reading = readWebhook({
    sourceId: source.id,
    rawBody: body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': '00000000-0000-4000-8000-000000000000',
    },
    receivedAt: question.now,
    traceparent: null,
  });
  if (reading.kind === 'signal') return reading.signal;
  const detail = reading.kind === 'malformed' ? reading.detail : 'It is neither JSON nor a form.';
  throw new CommandEnd(EXIT.usage, `${question.what} cannot be read as a delivery. ${detail}`);
}

function sourceOf(id: string | undefined, policy: Policy): SourcePolicy {
  const github = policy.sources.filter(({ kind }) => kind === 'github');
  const names = github.map((source) => source.id).join(', ');
  const found =
    id === undefined ? (github.length === 1 ? github[0] : undefined) : github.find((it) => it.id === id);
  if (found !== undefined) return found;
  throw new CommandEnd(
    EXIT.usage,
    id === undefined
      ? 'It is not clear which source would receive it.'
      : `There is no github source "${id}".`,
    names === '' ? 'The configuration has no github source.' : `Write --source: ${names}.`,
  );
}

async function fromSample({ what }: SignalQuestion): Promise<{ event: string; body: Buffer }> {
  const { findSample } = await import('@headgate/sources');
  const found = findSample(what);
  if (found.kind === 'unknown') {
    throw new CommandEnd(EXIT.usage, found.detail, 'A payload of your own is a file that ends in .json.');
  }
  return { event: found.sample.event, body: Buffer.from(JSON.stringify(found.sample.payload), 'utf8') };
}

async function fromFile({ what, event, cwd }: SignalQuestion): Promise<{ event: string; body: Buffer }> {
  const path = resolve(cwd, what);
  const body = await readFile(path).catch((fault: unknown) => {
    throw new CommandEnd(EXIT.usage, `${what} cannot be read.`, 'Name a JSON file.', { cause: fault });
  });
  if (body.length > MAX_PAYLOAD_BYTES) throw new CommandEnd(EXIT.usage, `${what} is larger than 25 MB.`);
  const { GITHUB_EVENTS } = await import('@headgate/domain');
  const named = event ?? basename(path).split('.')[0] ?? '';
  if (GITHUB_EVENTS.includes(named)) return { event: named, body };
  throw new CommandEnd(
    EXIT.usage,
    `Which event ${what} is of does not stand in it.`,
    'Write --event check_run, or call the file check_run.json.',
  );
}
