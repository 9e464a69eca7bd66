import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { claimName, endLeftovers, identify, openDataFolder, type ProcessIdentity } from '../src/index.js';
import { closedFolder } from './folders.js';

async function sleeper(): Promise<{ child: ChildProcess; who: ProcessIdentity }> {
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  const who = identify(child.pid ?? 0);
  if (who === null) throw new Error('sleep did not start');
  return { child, who };
}

/** Somebody who has been dead for a while. */
async function dead(): Promise<ProcessIdentity> {
  const { child, who } = await sleeper();
  child.kill('SIGKILL');
  await once(child, 'exit');
  return who;
}

function leavePidFile(dataDir: string, name: string, owner: ProcessIdentity, process: object | null): void {
  writeFileSync(join(openDataFolder(dataDir).pids, `${name}.json`), JSON.stringify({ owner, process }));
}

const recorded = (who: ProcessIdentity, program = 'sleep') => ({ ...who, program, stopSignal: 'SIGTERM' });

describe('a claim', () => {
  test('is held by one at a time and can be had again after its release', async () => {
    const dataDir = closedFolder();
    const claim = await claimName(dataDir, 'server');
    await expect(claimName(dataDir, 'server')).rejects.toMatchObject({ code: 'IN_USE' });
    await claimName(dataDir, 'another');
    claim.release();
    await claimName(dataDir, 'server');
  });

  test('is won by exactly one of many rivals for a dead one', async () => {
    const dataDir = closedFolder();
    leavePidFile(dataDir, 'server', await dead(), null);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => claimName(dataDir, 'server')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(readdirSync(openDataFolder(dataDir).pids)).toEqual(['server.json']);
  });

  test('notes the server with its command line, for whoever must end it', async () => {
    const dataDir = closedFolder();
    const { who } = await sleeper();
    const claim = await claimName(dataDir, 'server');
    claim.note(who.pid, 'sleep', 'SIGTERM');
    const read = () => JSON.parse(readFileSync(join(openDataFolder(dataDir).pids, 'server.json'), 'utf8'));
    expect(read()).toMatchObject({ owner: { pid: process.pid }, process: recorded(who) });
    claim.clear();
    expect(read()).toMatchObject({ process: null });
  });

  test('takes over a file that is no pid file', async () => {
    const dataDir = closedFolder();
    writeFileSync(join(openDataFolder(dataDir).pids, 'server.json'), '{"half":');
    await claimName(dataDir, 'server');
  });
});

describe('leftovers', () => {
  test('Q4: a server whose owner is dead is ended, by the next claim as by the sweep', async () => {
    const dataDir = closedFolder();
    const [one, other] = [await sleeper(), await sleeper()];
    leavePidFile(dataDir, 'one', await dead(), recorded(one.who));
    leavePidFile(dataDir, 'other', await dead(), recorded(other.who));
    await claimName(dataDir, 'one');
    expect(identify(one.who.pid)).toBeNull();
    expect(await endLeftovers(dataDir)).toEqual([
      { name: 'one', pid: null, outcome: 'ownerLives' },
      { name: 'other', pid: other.who.pid, outcome: 'ended' },
    ]);
    expect(identify(other.who.pid)).toBeNull();
  });

  test('a pid that is another process by now is left alone, and so is another program', async () => {
    const dataDir = closedFolder();
    const [reused, stranger] = [await sleeper(), await sleeper()];
    leavePidFile(dataDir, 'reused', await dead(), recorded({ ...reused.who, startedAt: 'earlier' }));
    leavePidFile(dataDir, 'stranger', await dead(), recorded(stranger.who, 'postgres'));
    const outcomes = await endLeftovers(dataDir);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['wasGone', 'wasGone']);
    expect([identify(reused.who.pid), identify(stranger.who.pid)]).toEqual([reused.who, stranger.who]);
    expect(readdirSync(openDataFolder(dataDir).pids)).toEqual([]);
  });

  test('a server that ignores the request is killed', async () => {
    const dataDir = closedFolder();
    const stubborn = spawn('sh', ['-c', 'trap "" TERM; echo deaf; while :; do sleep 1; done']);
    onTestFinished(() => void stubborn.kill('SIGKILL'));
    await once(stubborn.stdout, 'data');
    const who = identify(stubborn.pid ?? 0);
    if (who === null) throw new Error('sh did not start');
    leavePidFile(dataDir, 'server', await dead(), recorded(who, 'deaf'));
    expect(await endLeftovers(dataDir, { graceMs: 200 })).toMatchObject([{ outcome: 'ended' }]);
    expect(identify(who.pid)).toBeNull();
  });
});
