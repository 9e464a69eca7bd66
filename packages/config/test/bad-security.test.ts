// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to secrets are written so
import { describe, expect, it } from 'vitest';
import { problemsOf } from './say.js';

/** What a person writes, and every line of the answer: place, path, what is wrong, what to do. */
const FILES: readonly { readonly name: string; readonly text: string; readonly says: readonly string[] }[] = [
  {
    name: 'code by the environment of the example agent',
    text: 'version: 1\nagents:\n  d: { runtime: command, command: [headgate-example-agent], env: { NODE_OPTIONS: "--require=/x.js" } }\n',
    says: [
      '3:68 agents.d.env.NODE_OPTIONS: the example agent takes no variable "NODE_OPTIONS". It runs without isolation, so only HEADGATE_EXAMPLE_… is handed in.',
    ],
  },
  {
    name: 'secrets in the file and urls that lead elsewhere',
    text: 'version: 1\nsources:\n  gh:\n    kind: github\n    intake: poll\n    webhookSecrets: [hunter2, $FOO]\n    authority: hearsay\n    repositories:\n      api: { url: /a }\n      a/a: { url: "https://user:hunter2@example.com/a/b" }\n      a/b: { url: http://x/y }\n      a/c: { url: local:../x }\n      a/d: { url: "--upload-pack=x" }\n      a/e: { url: "ext::sh -c x" }\n',
    says: [
      '5:5 sources.gh.intake: "intake" is not supported in this version. Write poll: true, or webhookSecrets.',
      '6:22 sources.gh.webhookSecrets[0]: a secret stands in the file itself. Write a reference: "${GITHUB_WEBHOOK_SECRET}" or "file:secrets/webhook".',
      '6:31 sources.gh.webhookSecrets[1]: the reference to a variable is not complete. Write "${NAME}" with braces and quotes.',
      '7:5 sources.gh.authority: "hearsay" is not an authority. Use one of: payload, source.',
      '9:7 sources.gh.repositories.api: "api" is not a repository. Write it as owner/name.',
      '10:14 sources.gh.repositories["a/a"].url: the url holds credentials. Remove them: git uses the credential helper of the machine.',
      '11:14 sources.gh.repositories["a/b"].url: git over http is not allowed. Use https, ssh, file or a path.',
      '12:14 sources.gh.repositories["a/c"].url: "local:../x" leads out of the data folder. Write a path below it.',
      '13:14 sources.gh.repositories["a/d"].url: "--upload-pack=x" reads as an option of git. Write a path or a url.',
      '14:14 sources.gh.repositories["a/e"].url: git over ext is not allowed. Use https, ssh, file or a path.',
    ],
  },
  {
    name: 'a real forge without a day’s budget, with a written secret and act',
    text: 'version: 1\nsources:\n  gh: { kind: github, webhookSecrets: [ "${S:-abc}" ], repositories: { acme/api: { url: "https://github.com/acme/api.git" } } }\nagents: { tool: { runtime: command, command: [tool] } }\nroutes: { r: { on: [manual], mode: act } }\n',
    says: [
      '3:3 sources.gh: source "gh" is a real forge and no day has a limit. Write budgets: { perDayUsd: 25 } at the top.',
      '3:41 sources.gh.webhookSecrets[0]: a default in the file is a secret that everybody can read, and this source is on a real forge. Write "${S}" and set the variable.',
      '5:30 routes.r.mode: mode act pushes to "acme/api", whose CI is not declared safe for it. Write ciTrusted: true at sources.gh.repositories, or mode: propose.',
    ],
  },
  {
    name: 'sources that could hear nothing, or are to ask without credentials',
    text: 'version: 1\nsources:\n  a: { kind: github, repositories: { a/b: { url: /x } } }\n  b: { kind: github, poll: true, scan: { every: 1s }, redeliver: 2, webhookSecrets: [ "${S}" ], repositories: { a/b: { url: /x } } }\n  c: { kind: github, poll: true, redeliver: 2, authority: source, webhookSecrets: [ "${S}" ], repositories: { a/b: { url: /x } } }\n  d: { kind: github, app: "file:app.json", token: "${T}", baseUrl: "ftp://x", repositories: { a/b: { url: /x } } }\n  e: { kind: github, app: "file:app.json", token: "${T}", repositories: { a/b: { url: /x } } }\n  f: { kind: standard-webhooks, tolerance: 9h }\n  g: { kind: git, authority: payload, repositories: { b: { url: /x } } }\n  h: { kind: cloudevents, authority: source }\n',
    says: [
      '3:3 sources.a.webhookSecrets: nothing could come in: no secret for a hook, and no App or token to look with. Write app: "file:.headgate/github-app.json", or webhookSecrets.',
      '4:42 sources.b.scan.every: 1s is too short. Write between 5s and 1d.',
      '5:22 sources.c.poll: GitHub is not asked without credentials. Write app or token in the source.',
      '5:34 sources.c.redeliver: GitHub is not asked without credentials. Write app or token in the source.',
      '5:48 sources.c.authority: GitHub is not asked without credentials, so nothing could be decided. Write app or token in the source, or authority: payload.',
      '6:59 sources.d.baseUrl: not the address of an API. Write https://github.example.com/api/v3.',
      '7:44 sources.e.token: a source speaks as its App or with a token, not both. Remove one of the two.',
      '8:3 sources.f.webhookSecrets: is missing. Write a list.',
      '8:33 sources.f.tolerance: 9h is too long. Write between 10s and 1h.',
      '9:19 sources.g.authority: a git source tells nothing: it is always read. Write authority: source, or leave it out.',
      '10:27 sources.h.authority: nothing can be read at such a source, so what it tells is all that is known. Write authority: payload, or leave it out.',
    ],
  },
  {
    name: 'a source without a secret',
    text: 'version: 1\nsources: { gh: { kind: github, webhookSecrets: [], repositories: { a/b: { url: /x } } } }\n',
    says: [
      '2:32 sources.gh.webhookSecrets: no secret is named, so no delivery could be trusted. Write [ "${GITHUB_WEBHOOK_SECRET}" ].',
    ],
  },
  {
    name: 'network lists that say too much, or nothing',
    text: 'version: 1\nagents:\n  a: { runtime: command, command: [a], network: { agent: ["https://x.org/", "*", { host: "*.com" }], verify: [] } }\n  d: { runtime: command, command: [headgate-example-agent], network: { agent: [x.org] } }\n',
    says: [
      '3:59 agents.a.network.agent[0]: "https://x.org/" is no host to reach. Write a name, with a port unless it is 443: "packages.example.com", "*.example.com:8443".',
      '3:77 agents.a.network.agent[1]: "*" is no host to reach. Write a name, with a port unless it is 443: "packages.example.com", "*.example.com:8443".',
      '3:84 agents.a.network.agent[2].host: "*.com" is no host to reach. Write a name, with a port unless it is 443: "packages.example.com", "*.example.com:8443".',
      '3:102 agents.a.network.verify: "verify" is not known here. Use one of: setup, agent.',
      '4:72 agents.d.network.agent: the example agent takes no network list. It reaches nothing; use it for setup only.',
    ],
  },
];

describe('a file that would not be safe', () => {
  it.each(FILES)('is refused with its place and what to do: $name', async ({ text, says }) => {
    const problems = await problemsOf(text, { baseDir: '/config' });
    expect(problems.split('\n').map((line) => line.replace(/^headgate\.yaml:?/, '').trim())).toEqual(says);
  });
});
