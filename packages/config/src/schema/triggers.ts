/** `on`: what wakes a route. Events by name, `manual`, schedules and goals. */
import { z } from 'zod';
import { notSupported } from '../not-supported.js';
import { complain, say } from './complaint.js';
import { checkGithubEvent } from './github-events.js';
import { goalTrigger } from './goals.js';
import { schedule } from './schedules.js';

const NAME = /^(manual|[a-z][a-z0-9_-]*(\.[A-Za-z0-9_-]+)+)$/;
/** Events whose names are their sender's. */
const FREE = /^(cloudevents|webhook)\./;

const named = z
  .string()
  .regex(NAME, { error: ({ input }) => explainName(String(input)) })
  .superRefine((name, context) => {
    if (name === 'manual') return;
    if (name.startsWith('github.')) {
      const wrong = checkGithubEvent(name);
      if (wrong !== null) complain(context, wrong);
      return;
    }
    if (name === 'git.push' || FREE.test(name)) return;
    complain(context, {
      message: `"${name}" is no event of any source`,
      fix: 'Events are called github.EVENT.ACTION, git.push, cloudevents.TYPE or webhook.TYPE.',
    });
  });

function explainName(name: string): string {
  const later = notSupported('triggerName', name);
  if (later !== null) return say(later.message, later.fix);
  if (name.startsWith('@') || /^[\d*]/.test(name)) {
    return say(`"${name}" is a schedule without its key`, `Write { cron: "${name}" }.`);
  }
  return say(
    `"${name}" is no trigger`,
    'Write an event (github.check_run.completed), manual, { cron: "0 3 * * 1" }, or { goal: … }.',
  );
}

export const triggers = z
  .array(z.union([named, schedule, goalTrigger]))
  .min(1, { error: say('the list is empty, so nothing could start the route', 'Write [manual] at least.') })
  .max(50, { error: say('more than 50 triggers', 'Split the route.') });

export type TriggerEntry = z.output<typeof triggers>[number];
