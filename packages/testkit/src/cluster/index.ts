export { Cluster, type ClusterOptions, type MemberOptions, startCluster } from './cluster.js';
export type { ForeignJob } from './foreign-jobs.js';
export type { AgentPush } from './forge-log.js';
export type { JudgedCluster, JudgeOptions } from './judge.js';
export { Member, SERVICE_NAMES, type ServiceName } from './member.js';
export type { ClusterAttempt, ClusterRun } from './questions.js';
export type { SignalReply } from './senders.js';
export { CLUSTER_REPOSITORY, CLUSTER_SOURCE, PATIENT_LEASE, SHORT_LEASE } from './workload.js';
