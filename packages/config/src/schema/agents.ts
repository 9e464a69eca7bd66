import { z } from 'zod';
import { notSupported } from '../not-supported.js';
import { suggest } from '../problems/index.js';
import { complain, say } from './complaint.js';
import { agentNetwork } from './network.js';
import { text } from './scalars.js';
import { strict } from './strict.js';

/** The agent that ships with Headgate; the only one that may run without isolation. */
export const EXAMPLE_AGENT_COMMAND = 'headgate-example-agent';
/** What may be set for it: a variable such as NODE_OPTIONS would run other code without isolation. */
const EXAMPLE_AGENT_ENV = /^HEADGATE_EXAMPLE_[A-Z0-9_]+$/;

export const agent = strict('agent', {
  runtime: z.enum(['command'], {
    error: ({ input }) => {
      const written = String(input);
      if (input === undefined) return say('the runtime of the agent is missing', 'Write runtime: command.');
      const later = notSupported('runtime', written);
      return later === null
        ? say(`"${written}" is not a runtime`, suggest(written, ['command']))
        : say(later.message, later.fix);
    },
  }),
  command: z
    .array(text(4096), {
      error: ({ input }) =>
        typeof input === 'string'
          ? say('the command is one text', 'Write it as a list: ["my-agent", "--fast"].')
          : undefined,
    })
    .min(1, { error: say('the command is empty', 'Write the program first: ["my-agent"].') })
    .max(100, { error: say('more than 100 arguments', 'Move them into a script.') }),
  env: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
        error: ({ input }) =>
          say(`"${String(input)}" is not a variable name`, 'Use letters, digits and "_".'),
      }),
      z
        .string({
          error: ({ input }) =>
            typeof input === 'number' || typeof input === 'boolean'
              ? say(`${input} is not text`, `Put it in quotes: "${input}".`)
              : undefined,
        })
        .max(8192)
        .refine((value) => !/^(\$\{.*\}|file:.*)$/.test(value), {
          error: say('the value is a reference to a secret', 'Write plain text: agents hold no credentials.'),
        }),
    )
    .optional(),
  network: agentNetwork.optional(),
}).superRefine(({ command, env, network }, context) => {
  if (command[0] !== EXAMPLE_AGENT_COMMAND) return;
  if ((network?.agent ?? []).length > 0) {
    complain(
      context,
      {
        message: 'the example agent takes no network list',
        fix: 'It reaches nothing; use it for setup only.',
      },
      ['network', 'agent'],
    );
  }
  for (const name of Object.keys(env ?? {})) {
    if (EXAMPLE_AGENT_ENV.test(name)) continue;
    complain(
      context,
      {
        message: `the example agent takes no variable "${name}"`,
        fix: 'It runs without isolation, so only HEADGATE_EXAMPLE_… is handed in.',
      },
      ['env', name],
    );
  }
});
