// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to secrets are written so
import { describe, expect, it } from 'vitest';
import { problemsOf, SOUND, withRoute } from './say.js';

/** What a person writes, and every line of the answer: place, path, what is wrong, what to do. */
const FILES: readonly { readonly name: string; readonly text: string; readonly says: readonly string[] }[] = [
  {
    name: 'names that are not there',
    text: withRoute('agent: tol', 'sources: [locl]', 'tenant: acme', 'repositories: [note, "web-*"]'),
    says: [
      '9:5 routes.tidy.agent: there is no agent "tol". Did you mean "tool"?',
      '10:15 routes.tidy.sources[0]: there is no source "locl". Did you mean "local"?',
      '11:5 routes.tidy.tenant: there is no tenant "acme". Use one of: default.',
      '12:20 routes.tidy.repositories[0]: no source has a repository "note". Name it under sources.ID.repositories.',
      '12:26 routes.tidy.repositories[1]: no source has a repository "web-*". Name it under sources.ID.repositories.',
    ],
  },
  {
    name: 'an agent that is not clear',
    text: withRoute().replace('agents:\n', 'agents:\n  other: { runtime: command, command: [x] }\n'),
    says: ['8:3 routes.tidy: the agent is missing. Write agent: other or agent: tool.'],
  },
  {
    name: 'problems in one route and in the next',
    text: `${withRoute('mode: actt', 'agent: nope')}  other: { on: [manual], agent: nope }\n`,
    says: [
      '9:5 routes.tidy.mode: "actt" is not a mode. Did you mean "act"?',
      '11:26 routes.other.agent: there is no agent "nope". Use one of: tool.',
    ],
  },
  {
    name: 'a reference into what is itself wrong',
    text: withRoute('agent: bad').replace('agents:\n', 'agents:\n  bad: { runtime: command, command: [] }\n'),
    says: ['5:28 agents.bad.command: the command is empty. Write the program first: ["my-agent"].'],
  },
  {
    name: 'sources of no known kind',
    text: 'version: 1\nsources:\n  a: { kind: gitlab }\n  b: { kind: githb }\n  c: {}\n  d: 5\n  api: { kind: git, repositories: { x: { url: /x } } }\n',
    says: [
      '3:8 sources.a.kind: "gitlab" is not supported in this version. Use kind: git.',
      '4:8 sources.b.kind: "githb" is not a kind of source. Did you mean "github"?',
      '5:3 sources.c.kind: the kind of the source is missing. Write kind: github or kind: git or kind: cloudevents or kind: standard-webhooks.',
      '6:3 sources.d: is the number 5. Write a map of keys.',
      '7:3 sources.api: "api" is the name of a trigger of Headgate itself. Call the source otherwise.',
    ],
  },
  {
    name: 'a source without repositories',
    text: 'version: 1\nsources: { a: { kind: git, repositories: {} } }\n',
    says: [
      '2:28 sources.a.repositories: no repository is named. Write one as name or group/name: { url: … }.',
    ],
  },
  {
    name: 'one repository in two spellings',
    text: 'version: 1\nsources: { a: { kind: git, repositories: { Notes: { url: /a }, notes: { url: /b } } } }\n',
    says: [
      '2:64 sources.a.repositories.notes: "notes" and "Notes" are the same repository. Keep one of the two.',
    ],
  },
  {
    name: 'a branch that git would refuse',
    text: 'version: 1\nsources: { a: { kind: git, repositories: { x: { url: /a, defaultBranch: "-x" }, y: { url: /a, defaultBranch: "a..b" } } } }\n',
    says: [
      '2:58 sources.a.repositories.x.defaultBranch: "-x" is not a branch. Write its name: main.',
      '2:95 sources.a.repositories.y.defaultBranch: "a..b" is not a branch. Write its name: main.',
    ],
  },
  {
    name: 'queues that do not fit',
    text:
      withRoute('requires: { gpu: true }', 'risk: high') +
      'queues: [ { id: a, risk: [low] }, { id: b, profile: { node: "22" } }, { id: b, risk: [low] }, { id: c, tenants: [acme] } ]\n',
    says: [
      '7:3 routes.tidy: no queue takes the route: a takes no HIGH risk; b lacks gpu (not offered); b takes no HIGH risk; c is not for tenant default. Add { id: default } as the last queue.',
      '11:73 queues[2].id: there are two queues "b". Rename or remove one.',
      '11:114 queues[3].tenants[0]: there is no tenant "acme". Use one of: default.',
    ],
  },
  {
    name: 'no queue for a route',
    text:
      withRoute('requires: { gpu: true }', 'risk: high') +
      'queues: [ { id: quick, risk: [low] }, { id: plain, profile: { node: "22" } } ]\n',
    says: [
      '7:3 routes.tidy: no queue takes the route: quick takes no HIGH risk; plain lacks gpu (not offered). Add { id: default } as the last queue.',
    ],
  },
  {
    name: 'a source of two tenants',
    text: `${SOUND}tenants: { a: {}, b: {} }\n`,
    says: ['3:3 sources.local.tenant: the tenant is missing. Write one of: a, b.'],
  },
  {
    name: 'a route for the source of another tenant',
    text: 'version: 1\ntenants: { a: {}, b: {} }\nsources: { s: { kind: git, tenant: a, repositories: { x: { url: /x } } } }\nagents: { tool: { runtime: command, command: [tool] } }\nroutes: { r: { on: [manual], tenant: b, sources: [s] } }\n',
    says: [
      '5:51 routes.r.sources[0]: source "s" belongs to tenant "a", the route to "b". A route takes signals of its own tenant only.',
    ],
  },
  {
    name: 'agents that are not',
    text: 'version: 1\nagents:\n  a: { runtime: claude, apiKey: x, command: [x] }\n  b: { runtime: command, command: "x y", env: { A: 1, B: "${SECRET}" } }\n  c: { command: [] }\n  E: { runtime: command, command: [x] }\n',
    says: [
      '3:8 agents.a.runtime: "claude" is not supported in this version. Use runtime: command with the CLI as the command.',
      '3:25 agents.a.apiKey: "apiKey" is not supported in this version. Agents hold no credentials.',
      '4:26 agents.b.command: the command is one text. Write it as a list: ["my-agent", "--fast"].',
      '4:49 agents.b.env.A: 1 is not text. Put it in quotes: "1".',
      '4:55 agents.b.env.B: the value is a reference to a secret. Write plain text: agents hold no credentials.',
      '5:3 agents.c.runtime: the runtime of the agent is missing. Write runtime: command.',
      '5:8 agents.c.command: the command is empty. Write the program first: ["my-agent"].',
      '6:3 agents.E: "E" is not a name. Use lower-case letters, digits, "-" and "_", at most 63.',
    ],
  },
];

describe('a file whose parts do not fit', () => {
  it.each(FILES)('is refused with its place and what to do: $name', async ({ text, says }) => {
    const problems = await problemsOf(text, { baseDir: '/config' });
    expect(problems.split('\n').map((line) => line.replace(/^headgate\.yaml:?/, '').trim())).toEqual(says);
  });
});
