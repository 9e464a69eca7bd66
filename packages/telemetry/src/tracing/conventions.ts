/**
 * Attribute names of the OpenTelemetry conventions that our spans use. Written out, since the conventions
 * behind them are still marked as development and their package may rename constants; a test compares.
 */
export const ATTR = {
  messagingSystem: 'messaging.system',
  messagingOperationName: 'messaging.operation.name',
  messagingOperationType: 'messaging.operation.type',
  messagingDestinationName: 'messaging.destination.name',
  messagingMessageId: 'messaging.message.id',
  messagingConversationId: 'messaging.message.conversation_id',
  messagingBatchMessageCount: 'messaging.batch.message_count',
  messagingClientId: 'messaging.client.id',
  pipelineName: 'cicd.pipeline.name',
  pipelineRunId: 'cicd.pipeline.run.id',
  pipelineRunState: 'cicd.pipeline.run.state',
  pipelineResult: 'cicd.pipeline.result',
  pipelineTaskName: 'cicd.pipeline.task.name',
  pipelineTaskRunId: 'cicd.pipeline.task.run.id',
  pipelineTaskRunResult: 'cicd.pipeline.task.run.result',
  workerId: 'cicd.worker.id',
  repositoryUrl: 'vcs.repository.url.full',
  repositoryName: 'vcs.repository.name',
  changeId: 'vcs.change.id',
  headName: 'vcs.ref.head.name',
  headRevision: 'vcs.ref.head.revision',
  baseName: 'vcs.ref.base.name',
  agentName: 'gen_ai.agent.name',
  agentOperation: 'gen_ai.operation.name',
  requestModel: 'gen_ai.request.model',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  toolName: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  errorType: 'error.type',
} as const;

/** What the conventions have no name for. One trace leads from the task to the tool call (Q32). */
export const HEADGATE_ATTR = {
  tenant: 'headgate.tenant',
  taskId: 'headgate.task.id',
  runId: 'headgate.run.id',
  attempt: 'headgate.attempt.number',
  leaseId: 'headgate.lease.id',
  fencingToken: 'headgate.lease.fencing_token',
  receiptId: 'headgate.receipt.id',
  sandboxId: 'headgate.sandbox.id',
  sandboxKind: 'headgate.sandbox.kind',
  outcome: 'headgate.outcome',
  operationKey: 'headgate.operation.key',
  reasonCode: 'headgate.reason_code',
  status: 'headgate.run.status',
} as const;

export const MESSAGING_SYSTEM = 'bullmq';
