/** A signal to explain: a sample by its name, or a GitHub payload in a file. Nothing is sent. */
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Policy, Signal, SourceKind, SourcePolicy } from '@headgate/domain';
import { CommandEnd, EXIT } from '../exit.js';
import { sampleSignal } from './sample-signal.js';

export interface SignalQuestion {
  /** `check_run.completed#0`, or the path of a JSON file. */
  readonly what: string;
  /** The event of a file; by default taken from its name. */
  readonly event?: string;
  /** The source that would receive it; by default the only one of its kind. */
  readonly source?: string;
  /** The repository that a sample is about; by default the first of the source. */
  readonly repository?: string;
  readonly cwd: string;
  readonly now: Date;
}

const MAX_PAYLOAD_BYTES = 25 * 1024 * 1024;
const KINDS = { github: 'github', cloudevents: 'cloudevents', webhook: 'standard-webhooks' } as const;

export async function readSignal(question: SignalQuestion, policy: Policy): Promise<Signal> {
  if (question.what.endsWith('.json')) return fileSignal(question, policy);
  const { readSampleName } = await import('@headgate/sources');
  const sample = readSampleName(question.what);
  if (sample.family === 'unknown') {
    throw new CommandEnd(
      EXIT.usage,
      sample.detail,
      'A payload of GitHub of your own is a file that ends in .json.',
    );
  }
  const source = sourceOf(question.source, KINDS[sample.family], policy);
  return sampleSignal(sample, { source, repository: question.repository ?? null, now: question.now });
}

function sourceOf(id: string | undefined, kind: SourceKind, policy: Policy): SourcePolicy {
  const candidates = policy.sources.filter((source) => source.kind === kind);
  const names = candidates.map((source) => source.id).join(', ');
  const [only] = candidates.length === 1 ? candidates : [];
  const found = id === undefined ? only : candidates.find((it) => it.id === id);
  if (found !== undefined) return found;
  throw new CommandEnd(
    EXIT.usage,
    id === undefined
      ? 'It is not clear which source would receive it.'
      : `There is no ${kind} source "${id}".`,
    names === '' ? `The configuration has no source of kind ${kind}.` : `Write --source: ${names}.`,
  );
}

async function fileSignal(question: SignalQuestion, policy: Policy): Promise<Signal> {
  const source = sourceOf(question.source, 'github', policy);
  const { event, body } = await fromFile(question);
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
  throw new CommandEnd(EXIT.usage, `${question.what} cannot be read as a delivery. ${reading.detail}`);
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
