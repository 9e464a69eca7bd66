/** The span of an agent, by the conventions for generative AI (`gen_ai.*`), and those of its tool calls. */
import { type RuntimeResult, readToolCalls, type Workspace } from '@headgate/runtimes';
import { ATTR, currentTraceparent, HEADGATE_ATTR, recordSpan, span } from '@headgate/telemetry';
import type { Job } from './job.js';

/** The agent's span, told to the agent, and below it the tool calls that it reports. */
export function inAgentSpan(
  { run: { spec }, parts: { clock }, logger }: Job,
  { folders }: Workspace,
  start: (env: Readonly<Record<string, string>>) => Promise<RuntimeResult>,
): Promise<RuntimeResult> {
  const attributes = { [ATTR.agentOperation]: 'invoke_agent', [ATTR.agentName]: spec.agent.id };
  return span(`invoke_agent ${spec.agent.id}`, attributes, async (own) => {
    const fromMs = clock.now().getTime();
    const traceparent = currentTraceparent();
    const result = await start(traceparent === null ? {} : { TRACEPARENT: traceparent });
    own.setAttribute(HEADGATE_ATTR.outcome, result.kind);
    const { calls, leftOut } = await readToolCalls(folders, { fromMs, toMs: clock.now().getTime() });
    for (const { name, id, startedAtMs, endedAtMs, error } of calls) {
      recordSpan(
        `execute_tool ${name}`,
        {
          [ATTR.agentOperation]: 'execute_tool',
          [ATTR.toolName]: name,
          ...(id === null ? {} : { [ATTR.toolCallId]: id }),
        },
        { fromMs: startedAtMs, toMs: endedAtMs },
        error,
      );
    }
    logger.debug({ outcome: result.kind, toolCalls: calls.length, leftOut }, 'the agent has ended');
    return result;
  });
}
