/** How the facts of a source reach us: told by a hook, or looked for; with which credentials. */
import type { ScanPolicy, SourcePolicy } from '@headgate/domain';
import type { SourceEntry } from '../schema/sources.js';
import { DEFAULT_POLL_MS, DEFAULT_REDELIVERIES, DEFAULT_SCAN_MS, DEFAULT_TOLERANCE_MS } from './defaults.js';

type WayIn = Omit<SourcePolicy, 'id' | 'kind' | 'repositories' | 'tenant' | 'realForge'>;
type Problem = (key: string, message: string, fix: string) => void;
type Github = Extract<SourceEntry, { kind: 'github' }>;
type Looks = Github['poll'];

const NOTHING: WayIn = {
  webhookSecrets: [],
  app: null,
  token: null,
  baseUrl: null,
  authority: 'payload',
  replayWindowMs: null,
  toleranceMs: DEFAULT_TOLERANCE_MS,
  from: [],
  scan: null,
  redeliveries: 0,
};

export function resolveWayIn(source: SourceEntry, listensToGit: boolean, problem: Problem): WayIn {
  const replayWindowMs = source.replayWindow ?? null;
  switch (source.kind) {
    case 'github':
      return { ...githubWayIn(source, problem), replayWindowMs };
    case 'git':
      return {
        ...NOTHING,
        authority: 'source',
        replayWindowMs,
        scan: looking('poll', source.poll ?? listensToGit, DEFAULT_POLL_MS),
      };
    case 'cloudevents':
      return { ...NOTHING, replayWindowMs, from: source.from ?? [] };
    case 'standard-webhooks':
      return {
        ...NOTHING,
        webhookSecrets: source.webhookSecrets,
        replayWindowMs,
        toleranceMs: source.tolerance ?? DEFAULT_TOLERANCE_MS,
      };
  }
}

function githubWayIn(source: Github, problem: Problem): WayIn {
  const webhookSecrets = source.webhookSecrets ?? [];
  const hasCredentials = source.app !== undefined || source.token !== undefined;
  checkGithub(source, hasCredentials, problem);
  const poll = looking(
    'poll',
    source.poll ?? (hasCredentials && webhookSecrets.length === 0),
    DEFAULT_POLL_MS,
  );
  const scan = looking('scan', source.scan ?? hasCredentials, DEFAULT_SCAN_MS);
  return {
    ...NOTHING,
    webhookSecrets,
    app: source.app ?? null,
    token: source.token ?? null,
    baseUrl: source.baseUrl ?? null,
    authority: source.authority ?? 'payload',
    scan: poll ?? scan,
    ...(source.self === undefined
      ? {}
      : {
          self: {
            appId: source.self.appId === undefined ? null : String(source.self.appId),
            logins: source.self.logins ?? [],
          },
        }),
    redeliveries: source.redeliver ?? (hasCredentials && poll === null ? DEFAULT_REDELIVERIES : 0),
  };
}

function checkGithub(source: Github, hasCredentials: boolean, problem: Problem): void {
  if (source.app !== undefined && source.token !== undefined) {
    problem('token', 'a source speaks as its App or with a token, not both', 'Remove one of the two.');
  }
  if (hasCredentials) return;
  if (source.authority === 'source') {
    problem(
      'authority',
      'GitHub is not asked without credentials, so nothing could be decided',
      'Write app or token in the source, or authority: payload.',
    );
  }
  if (source.webhookSecrets === undefined) {
    problem(
      'webhookSecrets',
      'nothing could come in: no secret for a hook, and no App or token to look with',
      'Write app: "file:.headgate/github-app.json", or webhookSecrets.',
    );
  }
  const needy = [
    ...(isOn(source.poll) ? ['poll'] : []),
    ...(isOn(source.scan) ? ['scan'] : []),
    ...(source.redeliver === undefined || source.redeliver === 0 ? [] : ['redeliver']),
  ];
  for (const key of needy) {
    problem(key, 'GitHub is not asked without credentials', 'Write app or token in the source.');
  }
}

const isOn = (looks: Looks): boolean => looks !== undefined && looks !== false;

const looking = (via: ScanPolicy['via'], looks: Looks, defaultMs: number): ScanPolicy | null =>
  looks === undefined || looks === false
    ? null
    : { via, everyMs: (looks === true ? undefined : looks.every) ?? defaultMs };
