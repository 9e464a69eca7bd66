/**
 * Programs that some tests need and some machines lack: any of `commands` will do. With HEADGATE_INSTALL=1
 * `npm test` installs the packages by apt, so that what is required where all tools are required is also there.
 */
export const TOOLS = {
  bwrap: { commands: ['bwrap'], package: 'bubblewrap' },
  chromium: { commands: ['chromium', 'chromium-browser', 'google-chrome'], package: 'chromium' },
  git: { commands: ['git'], package: 'git' },
  // Debian's package has both.
  prometheus: { commands: ['prometheus'], package: 'prometheus' },
  promtool: { commands: ['promtool'], package: 'prometheus' },
  podman: { commands: ['podman'], package: 'podman' },
  pgbouncer: { commands: ['pgbouncer'], package: 'pgbouncer' },
  // podman's own choice, crun, runs nothing where both versions of control groups are mounted.
  runc: { commands: ['runc'], package: 'runc' },
} as const;
export type ToolName = keyof typeof TOOLS;
