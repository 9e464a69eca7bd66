/**
 * What a source speaks to GitHub with. Read again for each question, so that a changed file or variable counts at
 * once; nothing here is kept, logged or put into an error.
 */
import { resolveSecret, type SecretContext } from '@headgate/config';
import type { SourcePolicy } from '@headgate/domain';
import { z } from 'zod';
import { parseBoundedJson } from '../../json/bounded.js';

export type GithubCredentials =
  | {
      readonly kind: 'app';
      readonly appId: string;
      readonly privateKey: string;
      readonly webhookSecret: string | null;
      readonly baseUrl: string;
    }
  | { readonly kind: 'token'; readonly token: string; readonly baseUrl: string }
  /** Public repositories only, 60 requests an hour. */
  | { readonly kind: 'anonymous'; readonly baseUrl: string };

export type CredentialsReading =
  | { readonly kind: 'credentials'; readonly credentials: GithubCredentials }
  /** Said as it is to the operator; never holds the secret. */
  | { readonly kind: 'unreadable'; readonly detail: string };

const GITHUB_API = 'https://api.github.com';

/** As `headgate connect` and GitHub's own manifest flow write it; GitHub calls two of them otherwise. */
const appFile = z
  .object({
    id: z.union([z.int().positive(), z.string().regex(/^[A-Za-z0-9.]{1,64}$/)]),
    privateKey: z.string().optional(),
    pem: z.string().optional(),
    webhookSecret: z.string().nullish(),
    webhook_secret: z.string().nullish(),
    url: z.url({ protocol: /^https?$/ }).nullish(),
  })
  .transform(({ id, privateKey, pem, webhookSecret, webhook_secret, url }) => ({
    appId: String(id),
    privateKey: privateKey ?? pem ?? '',
    webhookSecret: webhookSecret ?? webhook_secret ?? null,
    url: url ?? null,
  }))
  .refine(({ privateKey }) => /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(privateKey));

export async function readCredentials(
  source: Pick<SourcePolicy, 'app' | 'token' | 'baseUrl'>,
  context: SecretContext,
): Promise<CredentialsReading> {
  const baseUrl = source.baseUrl ?? GITHUB_API;
  const reference = source.app ?? source.token;
  if (reference === null) return found({ kind: 'anonymous', baseUrl });
  const secret = await resolveSecret(reference, context);
  if (!secret.ok) return { kind: 'unreadable', detail: `${secret.message}. ${secret.fix}` };
  if (source.app === null) return found({ kind: 'token', token: secret.value.trim(), baseUrl });
  const json = parseBoundedJson(secret.value);
  const app = appFile.safeParse(json.kind === 'json' ? json.value : null);
  if (!app.success) {
    const detail = `${source.app} is not a GitHub App: it needs id, privateKey (PEM) and webhookSecret as JSON.`;
    return { kind: 'unreadable', detail };
  }
  const { url, ...fields } = app.data;
  return found({ kind: 'app', ...fields, baseUrl: source.baseUrl ?? url ?? GITHUB_API });
}

const found = (credentials: GithubCredentials): CredentialsReading => ({ kind: 'credentials', credentials });
