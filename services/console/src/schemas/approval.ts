import { APPROVAL_OUTCOMES, APPROVAL_SUBJECTS, OPERATION_KINDS } from '@headgate/domain';
import type { Approval, ListedApproval, RunAction } from '@headgate/sdk';
import { TOKEN_ROLES } from '@headgate/store';
import { aboutRunFields, instant, pageOf, pageQuery, shapeOf, storableText, z } from './shape.js';

const proposedOperation = z
  .object({
    kind: z.enum(OPERATION_KINDS),
    repository: z.string(),
    ref: z.string(),
    commitSha: z.string(),
    expectedOldSha: z.string().nullable(),
  })
  .openapi('ProposedOperation');

const approvalFields = {
  id: z.string(),
  subject: z.enum(APPROVAL_SUBJECTS),
  requestedAt: instant,
  expiresAt: instant,
  requester: z.string().nullable(),
  fourEyes: z.boolean(),
  policyVersion: z.number().int(),
  resultSha256: z.string().nullable(),
  operations: z.array(proposedOperation),
  outcome: z.enum(APPROVAL_OUTCOMES).nullable(),
  decidedAt: instant.nullable(),
  decidedBy: z.string().nullable(),
  reason: z.string().nullable(),
};

export const approvalSchema = shapeOf<Approval>()(z.object(approvalFields).openapi('Approval'));

export const approvalPage = pageOf(
  shapeOf<ListedApproval>()(
    z
      .object({
        ...approvalFields,
        ...aboutRunFields,
      })
      .openapi('ListedApproval'),
  ),
  'ApprovalPage',
);
export const approvalQuery = z.strictObject({
  ...pageQuery,
  open: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: 'true: only what nobody has answered yet' }),
});

export const runActionSchema = shapeOf<RunAction>()(
  z
    .object({
      name: z.enum(['publish', 'discard', 'approve', 'decline', 'cancel', 'retry']),
      role: z.enum(TOKEN_ROLES),
      allowed: z.boolean(),
      why: z.string().nullable(),
    })
    .openapi('RunAction'),
);

export const wordBody = z
  .strictObject({
    approvalId: z
      .string()
      .regex(/^apr_[0-9a-z]{26}$/, 'it is not the id of an approval (apr_…)')
      .optional()
      .openapi({ description: 'The request that was read; by default the newest' }),
    reason: storableText(1_000).optional(),
  })
  .openapi('WordRequest');
