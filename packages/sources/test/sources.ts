import type { SourcePolicy } from '@headgate/domain';

export const aSource = (change: Partial<SourcePolicy> = {}): SourcePolicy => ({
  id: 'acme',
  kind: 'github',
  webhookSecrets: [],
  app: null,
  token: null,
  baseUrl: null,
  authority: 'payload',
  replayWindowMs: null,
  toleranceMs: 300_000,
  from: [],
  scan: null,
  redeliveries: 0,
  repositories: [{ fullName: 'acme/api', url: '/srv/api.git', defaultBranch: 'main', ciTrusted: false }],
  tenant: 'default',
  realForge: false,
  ...change,
});
