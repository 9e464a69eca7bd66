/** References to secrets: `${NAME}`, `${NAME:-default}`, `file:PATH`. A secret itself is never written. */
import type { Complaint } from '../problems/index.js';

export type Reference =
  | { readonly kind: 'environment'; readonly name: string; readonly fallback: string | null }
  | { readonly kind: 'file'; readonly path: string };

const ENVIRONMENT = /^\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}$/;

export function parseReference(text: string): Reference | null {
  const environment = ENVIRONMENT.exec(text);
  if (environment?.[1] !== undefined) {
    const fallback = environment[2];
    return {
      kind: 'environment',
      name: environment[1],
      fallback: fallback === undefined || fallback === '' ? null : fallback,
    };
  }
  const path = text.startsWith('file:') ? text.slice('file:'.length) : '';
  return path === '' ? null : { kind: 'file', path };
}

/** The text is not repeated in the complaint: it may be the secret. */
export function checkReference(text: string): Complaint | null {
  if (parseReference(text) !== null) return null;
  if (text.startsWith('$')) {
    return {
      message: 'the reference to a variable is not complete',
      fix: `Write "\${NAME}" with braces and quotes.`,
    };
  }
  return {
    message: 'a secret stands in the file itself',
    fix: `Write a reference: "\${GITHUB_WEBHOOK_SECRET}" or "file:secrets/webhook".`,
  };
}
