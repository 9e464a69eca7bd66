/**
 * An engine that runs containers here: what HEADGATE_TEST_CONTAINER says (JSON of `ContainerOptions`, "{}" for docker
 * or podman with the default image), else podman with an image made of this machine's own programs. Nothing is
 * fetched, and the image lies in a store of its own.
 */
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Container, type ContainerOptions } from '@headgate/runtimes';
import { findTool } from '@headgate/testkit';

export type ContainerEngine = (
  | { readonly kind: 'found'; readonly options: ContainerOptions }
  | { readonly kind: 'missing'; readonly why: string }
) & { remove(): Promise<void> };

const IMAGE = 'localhost/headgate-test:1';
/** What the tests' commands use. */
const PROGRAMS = [
  ...['sh', 'env', 'cat', 'pwd', 'ls', 'sleep', 'kill', 'setsid', 'nohup', 'perl', 'touch', 'head', 'grep'],
  ...['id', 'wc', 'dirname', 'sort', 'rm', 'mkdir', 'node'],
];
const run = promisify(execFile);

export async function containerEngine(): Promise<ContainerEngine> {
  const asked = process.env['HEADGATE_TEST_CONTAINER'];
  if (asked !== undefined) {
    return { kind: 'found', options: JSON.parse(asked) as ContainerOptions, remove: async () => {} };
  }
  const [podman, runc] = [findTool('podman'), findTool('runc')];
  if (podman === null || runc === null) {
    return { kind: 'missing', why: 'podman and runc are not installed', remove: async () => {} };
  }
  const folder = await mkdtemp(join(tmpdir(), 'headgate-containers-'));
  const store = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run'), '--runtime', runc];
  const remove = async (): Promise<void> => {
    // With its last image podman takes its mount away.
    await run(podman, [...store, 'rmi', '--all', '--force']).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  };
  const options = { engine: podman, engineArgs: store, image: IMAGE };
  try {
    const root = join(folder, 'root');
    await imageOfThisMachine(root);
    await run('tar', ['-C', root, '-cf', `${root}.tar`, '.']);
    await run(podman, [...store, 'import', `${root}.tar`, IMAGE]);
    const probe = await new Container(options).probe();
    if (probe.kind === 'available') {
      // Workers in processes of their own read it.
      process.env['HEADGATE_TEST_CONTAINER'] = JSON.stringify(options);
      return { kind: 'found', options, remove };
    }
    return { kind: 'missing', why: `podman runs nothing here: ${probe.detail}`, remove };
  } catch (error) {
    return { kind: 'missing', why: `podman runs nothing here: ${String(error)}`, remove };
  }
}

async function imageOfThisMachine(root: string): Promise<void> {
  for (const folder of ['usr/bin', 'usr/sbin', 'tmp', 'proc', 'dev', 'etc', 'sys', 'run']) {
    await mkdir(join(root, folder), { recursive: true });
  }
  await chmod(join(root, 'tmp'), 0o1777);
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) await symlink(`usr/${name}`, join(root, name));
  for (const name of PROGRAMS) {
    const { stdout } = await run('/bin/sh', ['-c', `command -v -- ${name} || true`], {
      env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    });
    // Words of the shell have no path here.
    const program = stdout.trim().startsWith('/') ? stdout.trim() : `/usr/bin/${name}`;
    const real = await realpath(program);
    await take(root, real, `/usr/bin/${name}`);
    for (const library of await librariesOf(real))
      await take(root, library, library.replace(/^\/lib/, '/usr/lib'));
  }
  for (const place of await perlModules()) await take(root, place, place);
}

async function take(root: string, file: string, as: string): Promise<void> {
  await mkdir(dirname(join(root, as)), { recursive: true });
  await copyFile(file, join(root, as));
}

async function librariesOf(program: string): Promise<readonly string[]> {
  const { stdout } = await run('ldd', [program]).catch(() => ({ stdout: '' }));
  return [...stdout.matchAll(/(\/\S+)/g)].map((match) => match[1] ?? '').filter((path) => path !== program);
}

/** Those that a daemon of the tests loads. */
async function perlModules(): Promise<readonly string[]> {
  const { stdout } = await run('perl', [
    '-MPOSIX',
    '-e',
    'print join "\n", values %INC, grep { -f } @DynaLoader::dl_shared_objects',
  ]);
  return stdout.split('\n').filter((path) => path.startsWith('/'));
}
