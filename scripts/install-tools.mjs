// HEADGATE_INSTALL=1: installs by apt, as root, the programs that some tests need. Without it those tests are
// skipped, which says so; a failed installation is no more than that.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './children.mjs';

export async function installTools() {
  // Built by now: the list is the tests' own, so that nothing they require can be forgotten here.
  const { TOOLS } = await import('@headgate/testkit/tool-list');
  const missing = Object.values(TOOLS)
    .filter(({ commands }) => !commands.some(isOnPath))
    .map((tool) => tool.package);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0 || !isOnPath('apt-get')) {
    console.error(`Headgate: cannot install ${missing.join(', ')}: that needs root and apt-get.`);
    return;
  }
  console.error(`Headgate: installing ${missing.join(', ')} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['-q', 'update'], { env });
  const result = await run('apt-get', ['-q', '-y', '--no-install-recommends', 'install', ...missing], {
    env,
  });
  if (result.code !== 0)
    console.error(`${result.output}\nHeadgate: ${missing.join(', ')} could not be installed.`);
}

function isOnPath(command) {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter(Boolean)
    .some((folder) => existsSync(join(folder, command)));
}
