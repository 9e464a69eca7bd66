/** What a GitHub App asks: where it is installed, and tokens for it. */
import { createVerify } from 'node:crypto';
import { invalid, notFound } from './answers.js';
import { logPage } from './delivery-log.js';
import type { AppCall, AppEndpoint } from './endpoint.js';

const unauthorised = { status: 401, body: { message: 'A JSON web token could not be decoded' } };

/** Checks the App's JWT as GitHub does: RS256 under the App's public key, issued by the App. */
function isApp({ state, authorization }: AppCall): boolean {
  const [, header = '', payload = '', signature = ''] =
    /^bearer ([^.]+)\.([^.]+)\.([^.]+)$/i.exec(authorization ?? '') ?? [];
  if (state.app === null || signature === '') return false;
  const { iss }: { iss?: unknown } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
  const isSigned = createVerify('RSA-SHA256')
    .update(`${header}.${payload}`)
    .verify(state.app.publicKey, Buffer.from(signature, 'base64url'));
  return isSigned && String(iss) === String(state.app.id);
}

/** Of the App's own hook: what no plain hook delivered. */
const logOf = ({ state, deliveries }: AppCall) =>
  deliveries.log.filter(({ hookId }) => !state.hooks.some(({ id }) => String(id) === hookId));

const RANK: Readonly<Record<string, number>> = { read: 1, write: 2, admin: 3 };
const isGranted = (asked: string, granted: string | undefined): boolean =>
  (RANK[granted ?? ''] ?? 0) >= (RANK[asked] ?? 0);

const TOKEN_MS = 3_600_000;

export const appEndpoints: readonly AppEndpoint[] = [
  {
    method: 'get',
    path: '/repos/:owner/:repo/installation',
    handleApp: (call) => {
      const { state, params } = call;
      if (!isApp(call)) return unauthorised;
      const repository = state.find(`${params['owner']}/${params['repo']}`);
      if (repository === null || state.app === null) return notFound;
      return { status: 200, body: { id: state.app.installationId, permissions: state.app.permissions } };
    },
  },
  {
    method: 'post',
    path: '/app/installations/:id/access_tokens',
    handleApp: (call) => {
      const { state, params, body, now } = call;
      if (!isApp(call)) return unauthorised;
      if (state.app === null || params['id'] !== String(state.app.installationId)) return notFound;
      const asked = Object.entries((body['permissions'] as Record<string, string> | undefined) ?? {});
      const granted = state.app.permissions;
      if (asked.some(([name, level]) => !isGranted(level, granted[name]))) {
        return invalid(
          'Installation',
          'invalid',
          'The permissions requested are not granted to this installation.',
        );
      }
      const token = state.mint(body, new Date(now.getTime() + TOKEN_MS));
      return { status: 201, body: token };
    },
  },
  {
    method: 'get',
    path: '/app/hook/deliveries',
    handleApp: (call) => (isApp(call) ? logPage(call.query, logOf(call)) : unauthorised),
  },
  {
    method: 'post',
    path: '/app/hook/deliveries/:id/attempts',
    handleApp: async (call) => {
      if (!isApp(call)) return unauthorised;
      const found = logOf(call).find((one) => String(one.id) === call.params['id']);
      if (found === undefined) return notFound;
      await call.deliveries.redeliver(found.guid, found.hookId);
      return { status: 202, body: {}, effect: { kind: 'delivery.asked', objectId: found.guid } };
    },
  },
];
