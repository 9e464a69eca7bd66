/** The SDK's client with the browser's cookie for a token; and the two calls that only a browser makes. */
import { createClient, HeadgateUnreachable, problemOf } from '@headgate/sdk';

export const api = createClient({ url: '', token: null });

/** Signs in. Throws HeadgateProblem for a token that is not valid. */
export async function signIn(token: string): Promise<void> {
  await session({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
}

export async function signOut(): Promise<void> {
  await session({ method: 'DELETE' });
}

async function session(init: RequestInit): Promise<void> {
  let response: Response;
  try {
    response = await fetch('/session', init);
  } catch (cause) {
    throw new HeadgateUnreachable('no answer', { cause });
  }
  if (!response.ok) throw await problemOf(response);
}
