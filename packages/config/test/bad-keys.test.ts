import { describe, expect, it } from 'vitest';
import { problemsOf, SOUND, withRoute } from './say.js';

/** What a person writes, and every line of the answer: place, path, what is wrong, what to do. */
const FILES: readonly { readonly name: string; readonly text: string; readonly says: readonly string[] }[] = [
  {
    name: 'a misspelt section',
    text: 'version: 1\nroute: {}\nagent: {}\n',
    says: [
      '2:1 route: "route" is not known here. Did you mean "routes"?',
      '3:1 agent: "agent" is not known here. Did you mean "agents"?',
    ],
  },
  {
    name: 'misspelt keys of a route',
    text: withRoute('onNewVerison: allow', 'moed: act', 'xyzzy: 1'),
    says: [
      '9:5 routes.tidy.onNewVerison: "onNewVerison" is not known here. Did you mean "onNewVersion"?',
      '10:5 routes.tidy.moed: "moed" is not known here. Did you mean "mode"?',
      '11:5 routes.tidy.xyzzy: "xyzzy" is not known here. Use one of: use, on, when, tenant, sources, repositories, branches, labels, authors, associations, forks, drafts, bots, mode, agent, prompt, work, onNewVersion, debounce, maxOpenPullRequests, repositoryFile, dedupe, timeToLive, requires, risk, priority, concurrency, paths, protectedPaths, setup, verify, limits, retry.',
    ],
  },
  {
    name: 'the key of another tool',
    text: `${SOUND}tenants: { a: { zone: Europe/Berlin } }\n`,
    says: ['6:17 tenants.a.zone: "zone" is not known here. Did you mean "timezone"?'],
  },
  {
    name: '__proto__ as a key',
    text: `${SOUND}__proto__: { a: 1 }\n`,
    says: [
      '6:1 __proto__: "__proto__" is not known here. Use one of: version, tenants, sources, agents, routes, queues, limits, budgets, loopGuard, lease, retention.',
    ],
  },
  {
    name: 'what a later version will have',
    text: `${withRoute('judge: {}', 'publish: { draft: true }')}notify: {}\ngoals: {}\n`,
    says: [
      '9:5 routes.tidy.judge: "judge" is not supported in this version. Use verify, paths and protectedPaths.',
      '10:5 routes.tidy.publish: "publish" is not supported in this version. Each run pushes a branch of its own.',
      '11:1 notify: "notify" is not supported in this version. Read `headgate status` or /metrics.',
      '12:1 goals: "goals" is not supported in this version. Write the goal in its route: on: [ { goal: … } ].',
    ],
  },
  {
    name: 'no version',
    text: 'routes: {}\n',
    says: ['1:1 version: the version of the file is missing. Write version: 1 as the first line.'],
  },
  {
    name: 'a later version of the file',
    text: 'version: 2\n',
    says: [
      '1:1 version: version 2 is of a newer Headgate; this one reads version 1. Upgrade this process, or write the file for version 1.',
    ],
  },
  {
    name: 'an empty section',
    text: 'version: 1\nroutes:\n',
    says: ['2:1 routes: is empty. Write a map of keys, or remove the line.'],
  },
  {
    name: 'values of the wrong type',
    text: withRoute(
      'setup: npm ci',
      'mode: 5',
      'prompt: { a: 1 }',
      'requires: { gpu: null }',
      'paths: [ 1 ]',
    ),
    says: [
      '9:5 routes.tidy.setup: is the text "npm ci". Write a list: [ "npm ci" ].',
      '10:5 routes.tidy.mode: "5" is not a mode. Use one of: observe, propose, act.',
      '11:5 routes.tidy.prompt: is a map of keys. Write a text.',
      '12:17 routes.tidy.requires.gpu: is empty. Write a text or a number or true or false or a list, or remove the line.',
      '13:14 routes.tidy.paths[0]: is the number 1. Write a text.',
    ],
  },
  {
    name: 'durations, sizes and numbers',
    text: withRoute(
      'timeToLive: 30',
      'dedupe: 5x',
      'limits: { wallClock: 0s, output: 5, costUsd: -1, changedFiles: 1.5, diffLines: many }',
    ),
    says: [
      '9:5 routes.tidy.timeToLive: 30 has no unit. Write a duration such as 30s or 30m.',
      '10:5 routes.tidy.dedupe: "5x" is not a duration. Write it as 30s, 10m, 1h30m or 7d.',
      '11:15 routes.tidy.limits.wallClock: 0s is too short. Write between 1s and 7d.',
      '11:30 routes.tidy.limits.output: 5 has no unit. Write a size such as 5KB or 5MB.',
      '11:41 routes.tidy.limits.costUsd: -1 USD would allow nothing. Write more than 0, or remove the line.',
      '11:54 routes.tidy.limits.changedFiles: 1.5 is not a whole number from 1 to 100000. Correct the number.',
      '11:73 routes.tidy.limits.diffLines: is the text "many". Write a number.',
    ],
  },
  {
    name: 'misspelt words',
    text: withRoute('mode: actt', 'risk: hgih', 'priority: urgnt', 'onNewVersion: cancel'),
    says: [
      '9:5 routes.tidy.mode: "actt" is not a mode. Did you mean "act"?',
      '10:5 routes.tidy.risk: "hgih" is not a risk. Did you mean "high"?',
      '11:5 routes.tidy.priority: "urgnt" is not a priority. Did you mean "urgent"?',
      '12:5 routes.tidy.onNewVersion: "cancel" is not a rule for new versions. Did you mean "cancelOther"?',
    ],
  },
  {
    name: 'a head start of more than a day',
    text: withRoute('priority: 1000000'),
    says: [
      '9:5 routes.tidy.priority: 1000000 is not a whole number from -86400 to 86400. Correct the number.',
    ],
  },
  {
    name: 'a preset that is not there',
    text: withRoute('use: fix-failing-checks@1'),
    says: [
      '9:5 routes.tidy.use: there is no preset "fix-failing-checks@1". Did you mean "fix-failing-check@1"?',
    ],
  },
  {
    name: 'a topic where names are expected, a bound below the quiet time, an association that GitHub has not',
    text: withRoute(
      'repositories: { topic: [node] }',
      'debounce: { quiet: 5m, max: 1m }',
      'associations: [ MEMBERS ]',
    ),
    says: [
      '9:21 routes.tidy.repositories.topic: "topic" is not known here. Did you mean "topics"?',
      '10:28 routes.tidy.debounce.max: the bound is shorter than the quiet time. Lengthen max, or leave it out.',
      '11:21 routes.tidy.associations[0]: "MEMBERS" is not an author association. Did you mean "MEMBER"?',
    ],
  },
  {
    name: 'a template in a prompt',
    text: withRoute('prompt: "do {{ event.title }}"'),
    says: [
      '9:5 routes.tidy.prompt: event.title may hold text that anybody can write, and a prompt is an instruction. A prompt may read version, repository.id, target.kind, target.id, and of the payload what ends in id, number, sha, before or after. The agent finds the rest in its input file.',
    ],
  },
  {
    name: 'a pattern that leaves the repository',
    text: withRoute('paths: [ ../x, /etc/passwd ]'),
    says: [
      '9:14 routes.tidy.paths[0]: "../x" leads out of the repository. Write a pattern such as "src/**".',
      '9:20 routes.tidy.paths[1]: "/etc/passwd" leads out of the repository. Write a pattern such as "src/**".',
    ],
  },
  {
    name: 'retention in hours',
    text: `${SOUND}retention: { receipts: 36h }\n`,
    says: ['6:14 retention.receipts: retention is counted in whole days. Write it as 90d.'],
  },
  {
    name: 'a day cheaper than a run',
    text: `${SOUND}budgets: { perRunUsd: 30, perDayUsd: 3, perMonthUsd: 5 }\n`,
    says: [
      '6:12 budgets.perRunUsd: a run may cost 30 USD, more than a day, 3 USD. Lower one or raise the other.',
      '6:41 budgets.perMonthUsd: "perMonthUsd" is not known here. Did you mean "perRunUsd"?',
    ],
  },
  {
    name: 'a heartbeat, deadline and margin too long for the ttl',
    text: `${SOUND}lease: { ttl: 12s, heartbeat: 4s, renewDeadline: 10s, stopMargin: 4s }\n`,
    says: [
      '6:20 lease.heartbeat: a heartbeat of 4s is more than a quarter of the ttl, 12s. Write at most 3s, or lengthen the ttl.',
      '6:35 lease.renewDeadline: the ttl, 12s, is only 1.20 times the renewDeadline, 10s. Write a renewDeadline of at most 8s.',
      '6:55 lease.stopMargin: renewDeadline 10s and stopMargin 4s are 14s together, more than the ttl, 12s. A worker must have stopped before its lease ends: shorten one of them.',
    ],
  },
  {
    name: 'a deadline shorter than the heartbeat',
    text: `${SOUND}lease: { ttl: 60s, heartbeat: 15s, renewDeadline: 10s, stopMargin: 55s }\n`,
    says: [
      '6:36 lease.renewDeadline: a renewDeadline of 10s leaves no time for a second heartbeat after 15s. Make it at least twice the heartbeat.',
      '6:56 lease.stopMargin: renewDeadline 10s and stopMargin 55s are 1m5s together, more than the ttl, 1m. A worker must have stopped before its lease ends: shorten one of them.',
    ],
  },
];

describe('a file with wrong keys and words', () => {
  it.each(FILES)('is refused with its place and what to do: $name', async ({ text, says }) => {
    const problems = await problemsOf(text, { baseDir: '/config' });
    expect(problems.split('\n').map((line) => line.replace(/^headgate\.yaml:?/, '').trim())).toEqual(says);
  });
});
