/**
 * What an attempt leaves on disk: `{artifacts}/{run}/{attempt}/agent.log`, `changes.patch`, `verify.log` (Q9). The rows
 * are written before the attempt's end is, for failed attempts as well; a file without a row is an artifact of an
 * attempt whose worker died (Q4).
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { artifactPath } from '@headgate/runtimes';
import type { DataPaths } from '@headgate/service';
import { type ArtifactRow, artifacts, type Pool } from '@headgate/store';
import { holdsSecret, redactText } from '@headgate/telemetry';
import type { LeasedRun } from '../hints/claim-desk.js';

const MEDIA_TYPES: Readonly<Record<string, string>> = { log: 'text/plain', patch: 'text/x-diff' };

/** Byte for byte as it was unless it holds a secret; then as text, in which bytes that are none are replaced. */
function redactedBytes(content: Buffer): Buffer {
  const text = content.toString('utf8');
  return holdsSecret(text) ? Buffer.from(redactText(text)) : content;
}

export class ArtifactShelf {
  readonly #paths: DataPaths;
  readonly #run: LeasedRun;
  readonly #names = new Set<string>();

  constructor(paths: DataPaths, run: LeasedRun) {
    this.#paths = paths;
    this.#run = run;
  }

  /** Where the artifact goes; it counts once a file is there. */
  path(name: string): string {
    this.#names.add(name);
    const { runId, attemptNo: attempt } = this.#run;
    return artifactPath({ artifactsDir: this.#paths.artifacts, runId, attempt, name });
  }

  async write(name: string, content: Buffer): Promise<void> {
    const path = this.path(name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, redactedBytes(content), { mode: 0o600 });
  }

  /** Writes the rows of what lies there. */
  async store(pool: Pool): Promise<void> {
    const rows: ArtifactRow[] = [];
    for (const name of this.#names) {
      const row = await this.#rowOf(name);
      if (row !== null) rows.push(row);
    }
    if (rows.length === 0) return;
    const { runId, fencingToken, leaseId, tenantId, attemptNo } = this.#run;
    const fence = { runId, fencingToken, leaseId };
    await pool.use((c) => artifacts.insert(c, { fence, tenantId, attemptNo }, rows));
  }

  async #rowOf(name: string): Promise<ArtifactRow | null> {
    const file = this.path(name);
    const found = await stat(file).catch(() => null);
    if (found === null || !found.isFile()) return null;
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
    return {
      name,
      path: relative(this.#paths.artifacts, file),
      bytes: found.size,
      sha256: hash.digest(),
      mediaType: MEDIA_TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    };
  }
}
