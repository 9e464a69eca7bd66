/**
 * The secrets of a source, read when they are needed and remembered for a moment: a rotated secret counts within two
 * seconds, and a burst of deliveries does not read a file for each.
 */
import { dirname } from 'node:path';
import { EXAMPLE_SECRETS, resolveSecret, type SecretContext } from '@headgate/config';
import type { Clock, SourcePolicy } from '@headgate/domain';
import { readCredentials } from '@headgate/sources';
import { type Logger, registerSecret } from '@headgate/telemetry';

const REMEMBERED_MS = 2_000;
/** A secret that cannot be read is said once in this time. */
const COMPLAIN_EVERY_MS = 60_000;

export interface WebhookSecretsOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration file: `file:` references start in its folder. */
  readonly configPath: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Remembered {
  readonly references: string;
  readonly untilMs: number;
  readonly values: Promise<readonly string[]>;
}

export class WebhookSecrets {
  readonly #options: WebhookSecretsOptions;
  readonly #remembered = new Map<string, Remembered>();
  readonly #complainedAtMs = new Map<string, number>();

  constructor(options: WebhookSecretsOptions) {
    this.#options = options;
  }

  /** All that can be read now; none means that no delivery can be trusted. */
  of(source: SourcePolicy): Promise<readonly string[]> {
    const nowMs = this.#options.clock.monotonicMs();
    const references = JSON.stringify([source.webhookSecrets, source.app]);
    const known = this.#remembered.get(source.id);
    if (known !== undefined && known.references === references && known.untilMs > nowMs) return known.values;
    const values = this.#read(source);
    this.#remembered.set(source.id, { references, untilMs: nowMs + REMEMBERED_MS, values });
    return values;
  }

  async #read(source: SourcePolicy): Promise<readonly string[]> {
    const { env, configPath } = this.#options;
    const context = { env, baseDir: dirname(configPath) };
    const results = await Promise.all(
      source.webhookSecrets.map((reference) => resolveSecret(reference, context)),
    );
    const written = results.flatMap((result) => {
      if (result.ok) {
        // The example's are printed in every copy of its file: guarding them would only blank out those.
        if (!EXAMPLE_SECRETS.has(result.value)) registerSecret(result.value);
        return [result.value];
      }
      this.#complain(source.id, `${result.message}. ${result.fix}`);
      return [];
    });
    return source.app == null ? written : [...written, ...(await this.#secretOfApp(source, context))];
  }

  /** An App's file holds the secret of its hook, too. */
  async #secretOfApp(source: SourcePolicy, context: SecretContext): Promise<readonly string[]> {
    const reading = await readCredentials(source, context);
    if (reading.kind === 'unreadable') this.#complain(source.id, reading.detail);
    const credentials = reading.kind === 'credentials' ? reading.credentials : null;
    return credentials?.kind === 'app' && credentials.webhookSecret !== null
      ? [credentials.webhookSecret]
      : [];
  }

  #complain(sourceId: string, problem: string): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    const lastMs = this.#complainedAtMs.get(sourceId) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - lastMs < COMPLAIN_EVERY_MS) return;
    this.#complainedAtMs.set(sourceId, nowMs);
    logger.error({ source: sourceId, problem }, 'a webhook secret cannot be read');
  }
}
