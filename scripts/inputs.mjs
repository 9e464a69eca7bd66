// What an install and a build depend on, as one word each that changes when they must be done again.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const GROUPS = ['packages', 'services'];
/** Made by tools, or without influence on what is built. */
const IGNORED = new Set(['node_modules', 'dist', 'test', '.turbo']);

/** @returns {string[]} the workspace's packages, as folders */
export function workspacePackages(root) {
  return GROUPS.map((group) => join(root, group))
    .filter(existsSync)
    .flatMap((group) => readdirSync(group).map((name) => join(group, name)))
    .filter((folder) => existsSync(join(folder, 'package.json')));
}

/** By content: these files are few, and an install is dear. */
export function installInputs(root) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${process.versions.modules}`);
  const shared = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc'].map((name) =>
    join(root, name),
  );
  const manifests = workspacePackages(root).map((folder) => join(folder, 'package.json'));
  for (const file of [...shared, ...manifests]) {
    if (existsSync(file)) hash.update(file).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** Whether what an install makes is still there. */
export function isInstalled(root) {
  return (
    existsSync(join(root, 'node_modules/.modules.yaml')) &&
    workspacePackages(root).every(
      (folder) => existsSync(join(folder, 'node_modules')) || !hasDependencies(folder),
    )
  );
}

/** By size and time: a build that was not needed is quick, as turbo compares contents. */
export function buildInputs(root) {
  const hash = createHash('sha256');
  const note = (file) => {
    const { size, mtimeMs } = statSync(file);
    hash.update(`${file} ${size} ${mtimeMs}\n`);
  };
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !IGNORED.has(entry.name)) walk(path);
      else if (entry.isFile() && !entry.name.endsWith('.tsbuildinfo')) note(path);
    }
  };
  for (const folder of workspacePackages(root)) walk(folder);
  for (const name of readdirSync(root)) {
    if (/^(tsconfig.*|turbo|package)\.json$|^pnpm-lock\.yaml$/.test(name)) note(join(root, name));
  }
  return hash.digest('hex');
}

/** Whether every package that has sources has been built. */
export function isBuilt(root) {
  return workspacePackages(root).every(
    (folder) =>
      (!existsSync(join(folder, 'src/index.ts')) || existsSync(join(folder, 'dist/index.js'))) &&
      (!existsSync(join(folder, 'index.html')) || existsSync(join(folder, 'dist/index.html'))),
  );
}

function hasDependencies(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }).length > 0;
}
