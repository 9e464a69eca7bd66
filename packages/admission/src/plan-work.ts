/** Which work a signal asks of a route, and which resource its run would hold. Pure. */
import { compilePrompt, compileTemplate, expressionContext, type PromptValues } from '@headgate/config';
import type { RoutePolicy, Signal, Verdict, WorkIdentity } from '@headgate/domain';
import { asksForFiles, identify } from '@headgate/sources';
import type { SignalRepository } from './repository.js';
import type { Submission } from './submission.js';

export interface ConcurrencyKey {
  readonly key: string;
  readonly limit: number;
}

export interface WorkPlan {
  readonly work: WorkIdentity | null;
  readonly verdict: Verdict | null;
  readonly concurrency: ConcurrencyKey | null;
  readonly prompt: Prompt;
}

/** What the agent is told, and what was filled in. */
export interface Prompt {
  readonly text: string | null;
  readonly values: PromptValues;
}

export function planOf(
  submission: Submission,
  route: RoutePolicy,
  repository: SignalRepository | null,
  isResolvable = false,
): WorkPlan {
  if (submission.observe != null && submission.work != null) {
    return { work: submission.work, verdict: null, concurrency: null, prompt: NO_PROMPT };
  }
  const kept = keptConcurrency(submission, route);
  const concurrency = kept === null ? concurrencyOf(route, submission.signal, repository) : { key: kept };
  if ('error' in concurrency) return refused('concurrency.key', concurrency.error);
  const { work, verdict } =
    submission.work != null
      ? { work: submission.work, verdict: null }
      : workOf(submission.signal, route, isResolvable);
  const prompt = promptOf(submission, route, work?.inputVersion ?? null);
  if ('error' in prompt) return refused('prompt', prompt.error);
  const plan = { work, verdict, concurrency: concurrency.key, prompt };
  const isFileWanted =
    submission.work == null && isResolvable && verdict === null && asksForFiles(route, submission.signal);
  return isFileWanted ? { ...plan, work: null, verdict: toBeRead(submission.signal, FILES_FIRST) } : plan;
}

const NO_PROMPT: Prompt = { text: null, values: {} };

/** Filled with what the signal brings; a run that is run again keeps what its own signal brought. */
function promptOf(
  { signal, again }: Submission,
  { prompt }: RoutePolicy,
  version: string | null,
): Prompt | { readonly error: string } {
  if (prompt === null || !prompt.includes('{{')) return { text: prompt, values: {} };
  const compiled = compilePrompt(prompt);
  if (!compiled.ok) return { error: compiled.problem.message };
  const rendered = compiled.render({ signal, version, before: again?.promptValues ?? {} });
  if (rendered.kind === 'refused') return { error: rendered.detail };
  return { text: rendered.text, values: rendered.values };
}

const FILES_FIRST = 'The files of the pull request are read first.';

/** Due at once: the reconciler reads what is missing, since nobody is asked before the answer. */
const toBeRead = (signal: Signal, detail: string): Verdict => ({
  outcome: 'defer',
  reasonCode: 'HEAD_UNRESOLVED',
  detail,
  retryAfter: new Date(signal.receivedAt),
  rule: 'work-identity',
});

const keptConcurrency = ({ again }: Submission, route: RoutePolicy): ConcurrencyKey | null =>
  again?.concurrencyKey == null ? null : { key: again.concurrencyKey, limit: route.concurrency?.limit ?? 1 };

/**
 * Which work a signal asks of a route. What a person names wins over the route's templates, and those over what the
 * kind of event implies.
 */
export function workOf(
  signal: Signal,
  route: RoutePolicy,
  isResolvable = false,
): { readonly work: WorkIdentity | null; readonly verdict: Verdict | null } {
  const key = writtenPart(route.work?.key ?? null, signal);
  if ('error' in key) return refused('work.key', key.error);
  const version = writtenPart(route.work?.version ?? null, signal);
  if ('error' in version) return refused('work.version', version.error);
  const identified = identify(signal, route, { key: key.value, version: version.value });
  if (identified.kind === 'work') return { work: identified.work, verdict: null };
  const { reasonCode, detail } = identified;
  const rule = 'work-identity';
  if (reasonCode === 'HEAD_UNRESOLVED' && isResolvable) {
    return { work: null, verdict: toBeRead(signal, detail) };
  }
  const outcome = reasonCode === 'TARGET_CLOSED' ? 'no-work' : 'reject';
  return { work: null, verdict: { outcome, reasonCode, detail, retryAfter: null, rule } };
}

const refused = (what: string, problem: string): WorkPlan => ({
  work: null,
  concurrency: null,
  prompt: NO_PROMPT,
  verdict: {
    outcome: 'reject',
    reasonCode: 'TASK_CONTRACT_INVALID',
    detail: `${what}: ${problem}`,
    retryAfter: null,
    rule: `route.${what}`,
  },
});

const writtenPart = (
  template: string | null,
  signal: Signal,
): { readonly value: string | null } | { readonly error: string } =>
  template === null ? { value: null } : rendered(template, signal);

/** Compiled templates, by their text: a configuration has few, and signals are many. */
const templates = new Map<string, ReturnType<typeof compileTemplate>>();
const REMEMBERED = 1_000;

function rendered(source: string, signal: Signal): { value: string } | { error: string } {
  let compiled = templates.get(source);
  if (compiled === undefined) {
    if (templates.size >= REMEMBERED) templates.clear();
    compiled = compileTemplate(source);
    templates.set(source, compiled);
  }
  return compiled.ok ? compiled.render(expressionContext(signal)) : { error: compiled.problem.message };
}

/**
 * One run per target unless the route says otherwise: the key follows the conflicting resource (I11). A key that
 * cannot be made protects nothing, so the work is refused; an empty one says that nothing is shared.
 */
function concurrencyOf(
  route: RoutePolicy,
  signal: Signal,
  repository: SignalRepository | null,
): { readonly key: ConcurrencyKey | null } | { readonly error: string } {
  if (route.concurrency !== null) {
    const key = rendered(route.concurrency.key, signal);
    if ('error' in key) return key;
    return { key: key.value === '' ? null : { key: key.value, limit: route.concurrency.limit } };
  }
  const { target } = signal;
  if (repository === null || target === null || target.kind === 'repository') return { key: null };
  return { key: { key: `${repository.identity}/${target.kind}/${target.id}`, limit: 1 } };
}
