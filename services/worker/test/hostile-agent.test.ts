/** An agent of somebody who means harm, through the real worker: every attempt fails, and its log shows it. */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { formatId } from '@headgate/domain';
import { Bubblewrap, chooseSandbox } from '@headgate/runtimes';
import { registerSecret } from '@headgate/telemetry';
import { atEnd, describeWithTool, eventually, testRedis } from '@headgate/testkit';
import { expect, it } from 'vitest';
import { artifactFile, exampleAgent, rowsOf, type Workshop, workshop } from './workshop.js';

const CANARY = 'canary-4e81c7-of-this-machine';
/** Known to the agent from the repository: what it prints of it is redacted all the same. */
const FORGED = 'tok_0c77a1-of-the-forge';

/** Every file below the folder, as text. */
async function textsIn(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map((file) => readFile(file, 'latin1')))).join('\n');
}

/** How many rows of any table hold the text. */
async function rowsWith(shop: Workshop, text: string): Promise<readonly string[]> {
  const tables = await rowsOf<{ name: string }>(
    shop,
    `select quote_ident(tablename) as name from pg_tables
      where schemaname = 'headgate' and has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'select')`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await rowsOf(shop, `select 1 from headgate.${name} t where t::text like $1 limit 1`, [
      `%${text}%`,
    ]);
    if (rows.length > 0) found.push(name);
  }
  return found;
}

const portOf = (url: string): number => Number(new URL(url).port || '5432');

describeWithTool('redis', 'a hostile agent', () => {
  describeWithTool('bwrap', 'in bubblewrap', () => {
    it('INV-TE2: gets at no file, environment, port or process of the machine, and leaves nothing behind', async () => {
      const redis = await testRedis();
      const shop = await workshop();
      const home = await mkdtemp(join(homedir(), '.headgate-test-'));
      atEnd(() => rm(home, { recursive: true, force: true }));
      mkdirSync(join(shop.dataDir, 'mirrors'), { recursive: true });
      const secrets = [
        join(shop.dataDir, 'admin-token'),
        join(shop.dataDir, 'database.json'),
        join(home, '.netrc'),
      ];
      // Open to all, so that it is the sandbox that keeps them.
      for (const path of secrets) writeFileSync(path, CANARY, { mode: 0o644 });
      process.env['HEADGATE_TEST_CANARY'] = CANARY;
      const forget = registerSecret(FORGED);
      atEnd(async () => {
        delete process.env['HEADGATE_TEST_CANARY'];
        forget();
      });

      const sleep = `600.${process.pid}99`;
      const files = [...secrets, '/etc/shadow', `/proc/${process.pid}/environ`, '/proc/1/root/etc/shadow'];
      const folders = [
        shop.dataDir,
        join(shop.dataDir, 'mirrors'),
        shop.repository.path,
        homedir(),
        home,
        '/root',
        '/home',
      ];
      const wanted = {
        files,
        folders,
        ports: [
          ['Postgres', '127.0.0.1', portOf(shop.db.urls.serviceUrl)],
          ['Redis', '127.0.0.1', portOf(redis.url)],
          ['the internet', '1.1.1.1', 443],
          ['metadata', '169.254.169.254', 80],
        ],
        leave: sleep,
        // In two pieces: what the agent is started with stands in the run's row.
        forged: [FORGED.slice(0, 9), FORGED.slice(9)],
      };
      const script = await readFile(fileURLToPath(new URL('./hostile-agent.mjs', import.meta.url)), 'utf8');
      const head = await shop.repository.commit({ files: { 'hostile-agent.mjs': script } });
      await shop.worker({ sandbox: await chooseSandbox([new Bubblewrap()]) });
      const run = await shop.offer(
        {
          agent: {
            ...exampleAgent(),
            trustedExample: false,
            command: ['node', 'hostile-agent.mjs', JSON.stringify(wanted)],
          },
        },
        { inputVersion: head },
      );
      await shop.reaches(run.runId, 'SUCCEEDED');

      const log = await readFile(artifactFile(shop, `${formatId('run', run.runId)}/1/agent.log`), 'utf8');
      // The data folder of a test lies below /tmp, and so the sandbox's own /tmp has an empty one of that name, with the
      // workspace in it. What is written there is gone with the sandbox: the host's is looked at below.
      const ownCopy = (line: string): boolean =>
        line === `GOT IN: list ${shop.dataDir}: workspaces` ||
        line.startsWith(`GOT IN: write ${shop.dataDir}/`);
      const lines = log.split('\n');
      expect(lines.filter((line) => line.startsWith('GOT IN') && !ownCopy(line))).toEqual([]);
      const kept = lines.filter((line) => line.startsWith('kept out: '));
      const elsewhere = (path: string): boolean => !path.startsWith(shop.dataDir);
      expect(kept).toEqual(
        expect.arrayContaining([
          ...files.map((path) => `kept out: read ${path}`),
          ...folders.filter((path) => path !== shop.dataDir).map((path) => `kept out: list ${path}`),
          ...files.filter(elsewhere).map((path) => `kept out: write ${path}`),
          'kept out: environments of other processes',
          'kept out: other processes',
          'kept out: connect to Postgres',
          'kept out: connect to Redis',
          'kept out: connect to the internet',
          'kept out: connect to metadata',
        ]),
      );
      expect(log).toContain('left a daemon behind');
      await eventually(
        async () => {
          const { stdout } = await promisify(execFile)('ps', ['-eo', 'args=', '-ww']);
          return stdout.split('\n').includes(`sleep ${sleep}`) ? null : true;
        },
        { what: 'its daemon is gone' },
      );

      // Canaries are nowhere: not in logs, artifacts or rows. The files that hold them stand as they were.
      expect(log).toContain('printed: [redacted] and');
      const left = await textsIn(join(shop.dataDir, 'artifacts'));
      for (const secret of [CANARY, FORGED, Buffer.from(FORGED).toString('base64').slice(4, -4)]) {
        expect(left).not.toContain(secret);
        expect(await rowsWith(shop, secret)).toEqual([]);
      }
      for (const path of secrets) expect(await readFile(path, 'utf8')).toBe(CANARY);
      for (const folder of folders) expect(existsSync(join(folder, 'x'))).toBe(false);
      expect(await shop.repository.pushes()).toEqual([]);
    }, 60_000);
  });
});
