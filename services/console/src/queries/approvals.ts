/** What a person is asked about a run, and what can be done with it as it stands. */
import {
  type ApprovalRequest,
  answerWord,
  formatId,
  isCancelling,
  isTerminal,
  type RunStatus,
  WORD_MEANINGS,
  WORDS,
} from '@headgate/domain';
import type { Approval, RunAction, RunActionName } from '@headgate/sdk';
import { actorOf, type Caller, mayAct } from '../auth/index.js';
import { instantOf, instantOrNull } from './instants.js';

export const approvalAnswer = (request: ApprovalRequest): Approval => ({
  ...request,
  id: formatId('apr', request.id),
  requestedAt: instantOf(request.requestedAt),
  expiresAt: instantOf(request.expiresAt),
  operations: [...request.operations],
  decidedAt: instantOrNull(request.decidedAt),
});

/** The first is the next thing a person would do. Pure. */
export function actionsOf(
  status: RunStatus,
  request: ApprovalRequest | null,
  caller: Caller,
): readonly RunAction[] {
  if (isTerminal(status)) return [actionOf('retry', 'operator', caller, null)];
  if (isCancelling(status)) return [];
  const words = status === 'WAITING_APPROVAL' && request !== null ? wordsOf(status, request, caller) : [];
  return [...words, actionOf('cancel', 'operator', caller, null)];
}

function wordsOf(status: RunStatus, request: ApprovalRequest, caller: Caller): readonly RunAction[] {
  const actor = actorOf(caller);
  // Time alone is not asked here: what has run out is refused when it is said, and soon ended.
  const nowMs = request.requestedAt.getTime();
  return WORDS.filter((word) => WORD_MEANINGS[word].subject === request.subject).map((word) => {
    const answer = answerWord({ word, actor, status, request, nowMs });
    return actionOf(word, 'approver', caller, answer.kind === 'refused' ? answer.detail : null);
  });
}

function actionOf(
  name: RunActionName,
  role: RunAction['role'],
  caller: Caller,
  objection: string | null,
): RunAction {
  const why = mayAct(caller.role, role) ? objection : `It needs the role ${role}; yours is ${caller.role}.`;
  return { name, role, allowed: why === null, why };
}
