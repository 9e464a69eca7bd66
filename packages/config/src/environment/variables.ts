/** Every environment variable that Headgate reads: one list for the code, `headgate doctor` and the docs. */
export interface Variable {
  readonly name: string;
  /** Null = unset means "not used" or "made up at the start". */
  readonly defaultValue: string | null;
  readonly description: string;
  /** Never shown by value. */
  readonly isSecret: boolean;
}

/** Fixed and public, so that the example works without set-up. Refused beside a real source. */
export const EXAMPLE_WEBHOOK_SECRET = 'example-webhook-secret';
/** The same bytes, as Standard Webhooks write a secret: `whsec_` and base64. */
export const EXAMPLE_SIGNING_SECRET = 'whsec_ZXhhbXBsZS13ZWJob29rLXNlY3JldA==';
export const EXAMPLE_SECRETS: ReadonlySet<string> = new Set([EXAMPLE_WEBHOOK_SECRET, EXAMPLE_SIGNING_SECRET]);

const variable = (
  name: string,
  defaultValue: string | null,
  description: string,
  isSecret = false,
): Variable => ({
  name,
  defaultValue,
  description,
  isSecret,
});

export const ENVIRONMENT: readonly Variable[] = [
  variable('HEADGATE_PORT', '8080', 'Port of the HTTP server. Not set, and taken: the next free one.'),
  variable('HEADGATE_HOST', '127.0.0.1', 'Address the HTTP server listens on.'),
  variable('HEADGATE_ADMIN_TOKEN', null, 'Admin token, preset instead of generated.', true),
  variable('HEADGATE_CONFIG', 'headgate.yaml', 'The configuration file.'),
  variable('HEADGATE_DATA_DIR', '.headgate', 'Folder for state, logs and private servers.'),
  variable('DATABASE_URL', null, 'Postgres, as the owner of the schema. Not set: a private Postgres.', true),
  variable(
    'DATABASE_URL_SERVICE',
    null,
    'Postgres, as the role of the services. Not set: made by migrate.',
    true,
  ),
  variable('DATABASE_URL_API', null, 'Postgres, as the role of the console. Not set: made by migrate.', true),
  variable('HEADGATE_DB_POOL', 'session', 'session, or transaction behind an old transaction pooler.'),
  variable('REDIS_URL', null, 'Redis or Valkey. Not set: a private one, or polling without it.', true),
  variable('HEADGATE_WORKER_SLOTS', '4', 'How many runs a worker executes at once.'),
  variable(
    'HEADGATE_SANDBOX_PROVIDER',
    'auto',
    'What a worker runs agents in: bubblewrap, sandbox-runtime or container. auto: the first that works.',
  ),
  variable(
    'HEADGATE_SANDBOX_IMAGE',
    'node:22-bookworm',
    'The image of the container sandbox; never fetched.',
  ),
  variable('LOG_LEVEL', 'info', 'trace, debug, info, warn, error, fatal or silent.'),
  variable(
    'HEADGATE_EXAMPLE_WEBHOOK_SECRET',
    EXAMPLE_WEBHOOK_SECRET,
    'Webhook secret of the example source. Its default is refused beside a real source.',
    true,
  ),
  variable(
    'HEADGATE_EXAMPLE_SIGNING_SECRET',
    EXAMPLE_SIGNING_SECRET,
    'The same of the example source of Standard Webhooks.',
    true,
  ),
  variable(
    'HEADGATE_URL',
    null,
    'The instance that the command line talks to. Not set: the one of the data folder.',
  ),
  variable('HEADGATE_TOKEN', null, 'The token that the command line uses.', true),
  variable(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    null,
    'Where traces are sent. All OTEL_* variables work as OpenTelemetry says.',
  ),
];
