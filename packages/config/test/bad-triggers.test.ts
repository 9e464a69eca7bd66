import { describe, expect, it } from 'vitest';
import { problemsOf, withTriggers } from './say.js';

/** What a person writes, and every line of the answer: place, path, what is wrong, what to do. */
const FILES: readonly { readonly name: string; readonly text: string; readonly says: readonly string[] }[] = [
  {
    name: 'a field out of range',
    text: withTriggers('[ { cron: "61 * * * *" } ]'),
    says: [
      '8:13 routes.tidy.on[0].cron: "61 * * * *" is not a schedule: invalid value for minute: 61. Correct that field.',
    ],
  },
  {
    name: 'too few fields',
    text: withTriggers('[ { cron: "* * *" } ]'),
    says: [
      '8:13 routes.tidy.on[0].cron: "* * *" has 3 fields, a schedule has five. Write minute, hour, day of month, month, day of week: "0 3 * * 1".',
    ],
  },
  {
    name: 'seconds',
    text: withTriggers('[ { cron: "* * * * * *" } ]'),
    says: [
      '8:13 routes.tidy.on[0].cron: "* * * * * *" has 6 fields, a schedule has five. Write minute, hour, day of month, month, day of week: "0 3 * * 1".',
    ],
  },
  {
    name: 'a misspelt @-name',
    text: withTriggers('[ { cron: "@dayly" } ]'),
    says: ['8:13 routes.tidy.on[0].cron: "@dayly" is not a schedule. Did you mean "@daily"?'],
  },
  {
    name: '@every without a unit',
    text: withTriggers('[ { cron: "@every 20" } ]'),
    says: ['8:13 routes.tidy.on[0].cron: "@every 20" has no duration. Write @every 20s or @every 1h30m.'],
  },
  {
    name: '@every too often',
    text: withTriggers('[ { cron: "@every 500ms" } ]'),
    says: ['8:13 routes.tidy.on[0].cron: "@every 500ms" is too often. Write at least 1s.'],
  },
  {
    name: 'a day that does not exist',
    text: withTriggers('[ { cron: "0 0 31 2 *" } ]'),
    says: ['8:13 routes.tidy.on[0].cron: "0 0 31 2 *" never happens. Name a day that exists.'],
  },
  {
    name: '@reboot',
    text: withTriggers('[ { cron: "@reboot" } ]'),
    says: [
      '8:13 routes.tidy.on[0].cron: "@reboot" is not a schedule. Use one of: @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every 20s.',
    ],
  },
  {
    name: 'a misspelt time zone',
    text: withTriggers('[ { cron: "0 3 * * 1", timezone: Europe/Berln } ]'),
    says: [
      '8:32 routes.tidy.on[0].timezone: "Europe/Berln" is not a time zone. Did you mean "Europe/Berlin"?',
    ],
  },
  {
    name: 'an offset as a time zone',
    text: withTriggers('[ { cron: "0 3 * * 1", timezone: "+02:00" } ]'),
    says: [
      '8:32 routes.tidy.on[0].timezone: "+02:00" is not a time zone. Use an IANA name such as Europe/Berlin or UTC.',
    ],
  },
  {
    name: 'a jitter longer than the period',
    text: withTriggers('[ { cron: "@every 20s", jitter: 30s } ]'),
    says: ['8:33 routes.tidy.on[0].jitter: a jitter of 30s is not shorter than the period, 20s. Shorten it.'],
  },
  {
    name: 'wrong rules of a schedule',
    text: withTriggers('[ { cron: "@daily", overlap: skp, catchUp: { mode: everything, max: 0 } } ]'),
    says: [
      '8:29 routes.tidy.on[0].overlap: "skp" is not an overlap rule. Did you mean "skip"?',
      '8:54 routes.tidy.on[0].catchUp.mode: "everything" is not a catch-up mode. Use one of: none, latest, all.',
      '8:72 routes.tidy.on[0].catchUp.max: 0 is not a whole number from 1 to 1000. Correct the number.',
    ],
  },
  {
    name: 'a goal',
    text: withTriggers('[ { goal: { observe: x } }, goal ]'),
    says: [
      '8:13 routes.tidy.on[0].goal.until: is missing. Write a text.',
      '8:21 routes.tidy.on[0].goal.observe: is the text "x". Write a map of keys.',
      '8:13 routes.tidy.on[0].goal.stop: is missing. Write a map of keys.',
      '8:37 routes.tidy.on[1]: "goal" is not supported in this version. Write { goal: { observe: …, until: …, stop: … } }.',
    ],
  },
  {
    name: 'values that are no trigger',
    text: withTriggers('[ 5, null, [], {}, { cron: 5 } ]'),
    says: [
      '8:11 routes.tidy.on[0]: is the number 5. Write a text or a map of keys.',
      '8:14 routes.tidy.on[1]: is empty. Write a text or a map of keys, or remove the line.',
      '8:20 routes.tidy.on[2]: is a list. Write a text or a map of keys.',
      '8:24 routes.tidy.on[3].cron: is missing. Write a text.',
      '8:30 routes.tidy.on[4].cron: is the number 5. Write a text.',
    ],
  },
  {
    name: 'a schedule without its key',
    text: withTriggers('[ "@daily", "0 3 * * 1" ]'),
    says: [
      '8:11 routes.tidy.on[0]: "@daily" is a schedule without its key. Write { cron: "@daily" }.',
      '8:21 routes.tidy.on[1]: "0 3 * * 1" is a schedule without its key. Write { cron: "0 3 * * 1" }.',
    ],
  },
  {
    name: 'a word',
    text: withTriggers('[ nonsense ]'),
    says: [
      '8:11 routes.tidy.on[0]: "nonsense" is no trigger. Write an event (github.check_run.completed), manual, { cron: "0 3 * * 1" }, or { goal: … }.',
    ],
  },
  {
    name: 'a misspelt event',
    text: withTriggers('[ github.chek_run ]'),
    says: ['8:11 routes.tidy.on[0]: GitHub sends no event "chek_run". Did you mean "check_run"?'],
  },
  {
    name: 'a misspelt action',
    text: withTriggers('[ github.check_run.complete ]'),
    says: ['8:11 routes.tidy.on[0]: github.check_run has no action "complete". Did you mean "completed"?'],
  },
  {
    name: 'an event of another forge',
    text: withTriggers('[ gitlab.push ]'),
    says: [
      '8:11 routes.tidy.on[0]: "gitlab.push" is no event of any source. Events are called github.EVENT.ACTION, git.push, cloudevents.TYPE or webhook.TYPE.',
    ],
  },
  {
    name: 'a GitHub event without a GitHub source',
    text: withTriggers('[ github.push ]'),
    says: [
      '8:11 routes.tidy.on[0]: no github source can send "github.push" to this route. Add one under sources.',
    ],
  },
  {
    name: 'no list',
    text: withTriggers('manual'),
    says: ['8:5 routes.tidy.on: is the text "manual". Write a list: [ "manual" ].'],
  },
  {
    name: 'an empty list',
    text: withTriggers('[]'),
    says: [
      '8:5 routes.tidy.on: the list is empty, so nothing could start the route. Write [manual] at least.',
    ],
  },
];

describe('a route with wrong triggers', () => {
  it.each(FILES)('is refused with its place and what to do: $name', async ({ text, says }) => {
    const problems = await problemsOf(text, { baseDir: '/config' });
    expect(problems.split('\n').map((line) => line.replace(/^headgate\.yaml:?/, '').trim())).toEqual(says);
  });
});
