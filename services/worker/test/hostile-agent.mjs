// An agent that tries to get at what is not its own. Prints a line for each attempt; argument: JSON of what to try.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';

const { files, folders, ports, leave, forged: pieces } = JSON.parse(process.argv[2]);
const forged = pieces.join('');

const tell = (what, loot) => console.log(loot === null ? `kept out: ${what}` : `GOT IN: ${what}: ${loot}`);
const attempt = (act) => {
  try {
    return act() || null;
  } catch {
    return null;
  }
};

for (const path of files)
  tell(
    `read ${path}`,
    attempt(() => readFileSync(path, 'utf8').slice(0, 60)),
  );
for (const path of folders)
  tell(
    `list ${path}`,
    attempt(() => readdirSync(path).join(' ')),
  );
for (const path of [...files, ...folders.map((folder) => `${folder}/x`)]) {
  tell(
    `write ${path}`,
    attempt(() => {
      writeFileSync(path, 'x');
      return 'written';
    }),
  );
}

// Its own environment, and that of every process it sees: nothing of the worker's.
const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
const environments = pids
  .map((pid) => attempt(() => readFileSync(`/proc/${pid}/environ`, 'utf8')) ?? '')
  .join('\0');
const foreign = environments
  .split('\0')
  .filter((line) => /^(VITEST|HEADGATE_TEST_|DATABASE_URL|REDIS_URL)/.test(line));
tell('environments of other processes', foreign.length === 0 ? null : foreign.join(' '));
tell('other processes', pids.length > 2 ? pids.join(' ') : null);

for (const [name, host, port] of ports) {
  const reached = await new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2_000 }, () => resolve('connected'));
    for (const event of ['error', 'timeout']) socket.on(event, () => resolve(null));
  });
  tell(`connect to ${name}`, reached);
}

// Left behind: a daemon of another session, without an environment. The worker's test looks for it.
spawn('/usr/bin/env', ['-i', 'setsid', 'sh', '-c', `sleep ${leave} & sleep ${leave}`], {
  detached: true,
  stdio: 'ignore',
}).unref();
console.log('left a daemon behind');

writeFileSync(process.env.HEADGATE_RESULT, JSON.stringify({ summary: `the secret is ${forged}` }));
console.log(`printed: ${forged} and ${Buffer.from(`x${forged}`).toString('base64')}`);
console.log('done');
