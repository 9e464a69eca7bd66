/**
 * The one-way arrows of the architecture, as rules (docs/architecture.md):
 *
 *   cli -> services -> (admission, dispatch) -> (sources, effects, runtimes, transport, store, config, telemetry) -> domain
 *
 * `service` is what services share; `git` and `embedded` are leaves without a word of our domain's decisions.
 */
const LAYERS = [
  ['domain'],
  ['telemetry', 'git', 'embedded', 'sdk'],
  ['config', 'store', 'transport'],
  ['sources', 'effects', 'runtimes'],
  ['admission', 'dispatch'],
  ['service'],
];

const inPackages = (names) => `^packages/(${names.join('|')})/`;

/** A package may use its own layer's lower neighbours and everything below; never what lies above. */
const upward = LAYERS.slice(0, -1).map((names, at) => ({
  name: `layer-${at}-looks-up`,
  comment: `${names.join(', ')} must not know what is built on them.`,
  severity: 'error',
  from: { path: `${inPackages(names)}src` },
  to: { path: [inPackages(LAYERS.slice(at + 1).flat()), '^services/'] },
}));

module.exports = {
  forbidden: [
    ...upward,
    {
      name: 'domain-is-pure',
      comment: 'Decisions are pure: no I/O, nothing of ours, only node:crypto for hashes.',
      severity: 'error',
      from: { path: '^packages/domain/src' },
      to: {
        path: [
          '^packages/(?!domain/)',
          '^services/',
          '^(node:)?(fs|net|http|https|child_process|worker_threads|dgram|tls|dns)(/|$)',
        ],
      },
    },
    {
      name: 'services-are-apart',
      comment: 'No service imports another: they meet in Postgres.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src' },
      to: { path: '^services/([^/]+)/', pathNot: '^services/$1/' },
    },
    {
      name: 'only-cli-imports-services',
      severity: 'error',
      from: { path: '^packages/(?!cli/)[^/]+/src' },
      to: { path: '^services/' },
    },
    {
      name: 'only-tests-import-testkit',
      severity: 'error',
      from: { path: '^(packages|services)/[^/]+/src', pathNot: '^packages/testkit/' },
      to: { path: '^packages/testkit/' },
    },
    {
      name: 'only-transport-knows-redis',
      severity: 'error',
      from: { path: '^(packages|services)/[^/]+/src', pathNot: '^packages/(transport|testkit)/' },
      to: { path: 'node_modules/(bullmq|ioredis|@bull-board)/' },
    },
    {
      name: 'only-store-knows-postgres',
      severity: 'error',
      from: { path: '^(packages|services)/[^/]+/src', pathNot: '^packages/(store|testkit)/' },
      to: { path: 'node_modules/pg/' },
    },
    {
      name: 'web-console-knows-the-sdk-only',
      comment:
        'What runs in a browser is built from the client and its types; the console serves the built files.',
      severity: 'error',
      from: { path: '^packages/console-web/src' },
      to: { path: ['^packages/(?!console-web/|sdk/)', '^services/'] },
    },
    {
      name: 'nobody-imports-the-web-console',
      severity: 'error',
      from: { path: '^(packages|services)/[^/]+/src', pathNot: '^packages/console-web/' },
      to: { path: '^packages/console-web/' },
    },
    {
      name: 'nothing-unresolved',
      comment: 'A package that is imported is a declared dependency.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'faces-only',
      comment: 'Packages are used by their face, never by a file inside.',
      severity: 'error',
      from: { path: '^(packages|services)/([^/]+)/' },
      to: {
        path: '^(packages|services)/[^/]+/src/(?!index\\.ts)',
        pathNot: ['^$1/$2/', '^packages/testkit/src/', '^packages/[^/]+/src/conformance/index\\.ts'],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // The peers of the benchmark are installed outside the workspace.
    exclude: { path: '(^|/)dist/|^test/bench/peers/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      conditionNames: ['headgate-source', 'import', 'node', 'default'],
      exportsFields: ['exports'],
    },
  },
};
