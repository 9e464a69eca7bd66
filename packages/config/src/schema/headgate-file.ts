/** The whole of headgate.yaml: one schema, from which the types, the errors and the JSON Schema come. */
import { z } from 'zod';
import { agent } from './agents.js';
import { otherVersion, say } from './complaint.js';
import { lease } from './lease.js';
import { budgets, capabilities, globalLimits, loopGuard, retention, tenant } from './limits.js';
import { route } from './routes.js';
import { id, risk } from './scalars.js';
import { source } from './sources.js';
import { strict } from './strict.js';

const queue = strict(null, {
  id,
  profile: capabilities.optional(),
  risk: z
    .array(risk)
    .min(1, { error: say('the list is empty', 'Name a risk, or remove the line.') })
    .optional(),
  tenants: z
    .array(id)
    .min(1, { error: say('the list is empty', 'Name a tenant, or remove the line.') })
    .optional(),
});

export const headgateFile = strict('file', {
  version: z.literal(1, {
    error: ({ input }) =>
      input === undefined
        ? say('the version of the file is missing', 'Write version: 1 as the first line.')
        : otherVersion(input),
  }),
  tenants: z.record(id, tenant).optional(),
  sources: z.record(id, source).optional(),
  agents: z.record(id, agent).optional(),
  routes: z.record(id, route).optional(),
  queues: z
    .array(queue)
    .max(100, { error: say('more than 100 queues', 'Use wider profiles.') })
    .optional(),
  limits: globalLimits.optional(),
  budgets: budgets.optional(),
  loopGuard: loopGuard.optional(),
  lease: lease.optional(),
  retention: retention.optional(),
});

export type HeadgateFile = z.output<typeof headgateFile>;

/** JSON Schema (draft 2020-12) of headgate.yaml, for editors: what may be written, not what it becomes. */
export function jsonSchema(): Readonly<Record<string, unknown>> {
  const schema = z.toJSONSchema(headgateFile, {
    io: 'input',
    target: 'draft-2020-12',
    // A preset brings what a route must have.
    override: ({ zodSchema, jsonSchema: made }) => {
      if (zodSchema !== route || made.required === undefined) return;
      const required = made.required.filter((key) => key !== 'on');
      delete made.required;
      if (required.length > 0) made.required = required;
      made.anyOf = [{ required: ['on'] }, { required: ['use'] }];
    },
  });
  return { ...schema, title: 'headgate.yaml' };
}
