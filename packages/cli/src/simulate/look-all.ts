/** A look back at every repository that one of the policies listens to, few at once and within bounds. */
import { type Policy, type Signal, systemClock } from '@headgate/domain';
import {
  AskOnce,
  asksForFiles,
  BoundedAsker,
  type GithubAsker,
  GithubClient,
  hasCredentials,
  type Look,
  type LookTarget,
  lookBack,
  lookTargets,
  readAtSource,
} from '@headgate/sources';
import type { RepositoryLook } from './report.js';

export interface PolicyFile {
  readonly policy: Policy;
  /** `file:` references start in its folder. */
  readonly path: string;
}

export interface LookAllRequest {
  readonly files: readonly PolicyFile[];
  readonly since: Date;
  readonly until: Date;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onLook: (name: string) => void;
}

export interface LookedAll {
  /** Each received when its fact happened, oldest first. */
  readonly signals: readonly Signal[];
  readonly looks: readonly RepositoryLook[];
}

/** Questions to GitHub in one simulation; an hour's rate limit is 5 000. */
const MOST_READS = 1_500;
/** Of one repository. */
const LOOK_MS = 180_000;
const AT_ONCE = 4;

interface AskedTarget extends LookTarget {
  readonly client: GithubAsker;
}

export async function lookAll(request: LookAllRequest): Promise<LookedAll> {
  const queue = [...targetsOf(request).entries()];
  const found: { readonly look: RepositoryLook; readonly signals: readonly Signal[] }[] = [];
  const hands = Array.from({ length: Math.min(AT_ONCE, queue.length) }, async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [at, target] = next;
      request.onLook(`${target.repository.fullName} (${target.source.id})`);
      found[at] = await lookAtOne(target, request);
    }
  });
  await Promise.all(hands);
  const signals = found.flatMap((one) => one.signals);
  return {
    signals: signals.sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime()),
    looks: found.map(({ look }) => look),
  };
}

/** Once each, by the first file that has it, for what any of them listens to. */
function targetsOf({ files, env }: LookAllRequest): readonly AskedTarget[] {
  const targets = new Map<string, AskedTarget>();
  for (const { policy, path } of files) {
    const github = new GithubClient({ clock: systemClock, env, configPath: path });
    const client = new BoundedAsker({ client: github, mostReads: MOST_READS });
    for (const target of lookTargets(policy)) {
      const key = `${target.source.kind} ${target.source.id} ${target.repository.fullName.toLowerCase()}`;
      const known = targets.get(key) ?? { ...target, client };
      targets.set(key, { ...known, listened: [...new Set([...known.listened, ...target.listened])] });
    }
  }
  return [...targets.values()];
}

async function lookAtOne(target: AskedTarget, { since, until, files }: LookAllRequest) {
  const { client, source, repository, listened } = target;
  const signal = AbortSignal.timeout(LOOK_MS);
  const look = await lookBack({ source, repository, listened, since, now: until, signal }, client);
  const told = look.kind === 'looked' ? look.changes.flatMap(({ signals }) => signals) : [];
  const reads = await readMissing(told, target, files);
  return { look: repositoryLook(target, look, reads), signals: reads.signals };
}

interface Reads {
  readonly signals: readonly Signal[];
  /** What could not be read; null: all was. */
  readonly detail: string | null;
}

/** What a payload leaves out is read at its source, as it would be before it is decided. */
async function readMissing(
  told: readonly Signal[],
  { source, client }: AskedTarget,
  files: readonly PolicyFile[],
): Promise<Reads> {
  if (!hasCredentials(source)) return { signals: told, detail: null };
  const asker = new AskOnce(client);
  const routes = files.flatMap(({ policy }) => policy.routes);
  const wantsFiles = (found: Signal): boolean => routes.some((route) => asksForFiles(route, found));
  const signals: Signal[] = [];
  let detail: string | null = null;
  for (const signal of told) {
    const isHeadless = signal.inputVersion === null && signal.command != null;
    if (!isHeadless && !wantsFiles(signal)) {
      signals.push(signal);
      continue;
    }
    const question = { client: asker, source, signal, isWake: false, asksForFiles: wantsFiles };
    const read = await readAtSource(question);
    if (read.kind === 'unavailable') detail = read.detail;
    signals.push(read.kind === 'read' ? { ...read.signal, receivedAt: signal.receivedAt } : signal);
  }
  return { signals, detail };
}

function repositoryLook({ source, repository }: LookTarget, look: Look, reads: Reads): RepositoryLook {
  const about = { source: source.id, repository: repository.fullName, signals: reads.signals.length };
  if (look.kind === 'failed') {
    return { ...about, outcome: look.outcome, detail: look.detail, until: look.until };
  }
  const detail = look.detail ?? reads.detail;
  return { ...about, outcome: detail === null ? 'whole' : 'partial', detail, until: look.until };
}
