/** What an agent's commands may reach, by name and port. */
import { parseHostAndPort } from '@headgate/domain';
import { z } from 'zod';
import { say } from './complaint.js';
import { text } from './scalars.js';
import { strict } from './strict.js';

const hostAndPort = text(300)
  .refine((written) => parseHostAndPort(written) !== null, {
    error: ({ input }) =>
      say(
        `"${String(input)}" is no host to reach`,
        'Write a name, with a port unless it is 443: "packages.example.com", "*.example.com:8443".',
      ),
  })
  .transform((written) => parseHostAndPort(written) ?? { host: '', port: 0 });

const rule = z.union([
  hostAndPort.transform((target) => ({ ...target, allowPrivate: false })),
  strict(null, { host: hostAndPort, private: z.boolean().optional() }).transform((entry) => ({
    ...entry.host,
    allowPrivate: entry.private === true,
  })),
]);

const rules = z.array(rule).max(200, { error: say('more than 200 hosts', 'Use patterns: "*.example.com".') });

export const agentNetwork = strict(null, { setup: rules.optional(), agent: rules.optional() });
