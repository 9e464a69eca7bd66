export {
  BareRepository,
  type BareRepositoryOptions,
  bareRepository,
  type CommitOptions,
  type CommitRecord,
  type PushRecord,
} from './bare-repository.js';
export { Deliveries, type DeliveryOptions, type DeliveryResult } from './deliveries.js';
export { FakeGitHub, type FakeGitHubOptions } from './fake-github.js';
export type { Fault, FaultPlan } from './faults.js';
export type {
  CheckRunRecord,
  CommentRecord,
  ForgeApp,
  ForgeRepository,
  ForgeState,
  ForkRecord,
  IssueRecord,
  PullRequestRecord,
} from './forge-state.js';
export { type ProviderEntry, ProviderLog } from './provider-log.js';
