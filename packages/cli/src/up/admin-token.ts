/** The token of the person who started the instance. */
import type { Settings } from '@headgate/config';
import { apiTokens, generateToken, type Pool } from '@headgate/store';
import { registerSecret } from '@headgate/telemetry';
import { writeAdminToken } from '../instance/files.js';

const NAME = 'headgate up';

/** A fresh token, or the preset one: stored as a hash, written for the commands beside us, earlier ones revoked. */
export async function issueAdminToken(settings: Settings, pool: Pool): Promise<string> {
  const token = settings.adminToken ?? generateToken();
  registerSecret(token);
  await pool.use((c) =>
    apiTokens.put(c, { token, name: NAME, role: 'admin', tenantId: null, replace: true }),
  );
  writeAdminToken(settings.dataDir, token);
  return token;
}
