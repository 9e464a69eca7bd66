/**
 * What steers CI and agents is never changed by an agent (security 5, 7): the next run, or a push, would execute it.
 * Globs over the whole path; a route may add to them, and nothing takes one away.
 */
export const PROTECTED_PATHS: readonly string[] = [
  // Forges and CI.
  '.github/**',
  '.gitea/**',
  '.forgejo/**',
  '.gitlab-ci.yml',
  '.circleci/**',
  '.buildkite/**',
  '.woodpecker/**',
  '.woodpecker.yml',
  '.drone.yml',
  '.travis.yml',
  'azure-pipelines.yml',
  'bitbucket-pipelines.yml',
  'cloudbuild.yaml',
  '**/Jenkinsfile',
  // Where a submodule's commits come from.
  '.gitmodules',
  // Ours.
  '.headgate.yaml',
  // Agents and editors that run what a repository tells them.
  '**/CLAUDE.md',
  '**/CLAUDE.local.md',
  '**/AGENTS.md',
  '**/AGENTS.override.md',
  '**/GEMINI.md',
  '**/.claude/**',
  '**/.codex/**',
  '**/.cursor/**',
  '**/.cursorrules',
  '**/.windsurfrules',
  '**/.clinerules/**',
  '**/.mcp.json',
  '.vscode/tasks.json',
  '.devcontainer/**',
];
