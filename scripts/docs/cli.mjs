/** docs/cli.md from the commands themselves. */

const HEAD = `# The command line

In a clone \`npx headgate\` runs it. It finds the running instance by \`HEADGATE_URL\` and \`HEADGATE_TOKEN\`, else by
the data folder (\`HEADGATE_DATA_DIR\`, \`.headgate\`). This page is made from the commands themselves
(\`node scripts/generate-docs.mjs\`).

On a terminal there are tables and progress; with \`--json\` there is one document on stdout, in the
[API's shape](api.md), and progress and problems go to stderr.

| exit code | means                                                                                   |
| --------- | --------------------------------------------------------------------------------------- |
| 0         | done                                                                                    |
| 1         | negative: refused, a check failed, a run did not succeed under \`--wait\`                 |
| 2         | the command line, the environment or the configuration cannot work                      |
| 3         | not found (\`why\` that knows nothing)                                                    |
| 4         | no instance, or it does not answer                                                      |
| 5         | not allowed                                                                             |
| 6         | timed out                                                                               |
| 130       | interrupted                                                                             |
`;

/** @param {object} program commander's @returns {string} */
export function cliMarkdown(program) {
  return `${[HEAD, ...commandsOf(program).map((command) => section(command, 2))].join('\n')}`;
}

const commandsOf = (command) => command.commands.filter((one) => one.name() !== 'help');

function section(command, level) {
  const title = `${'#'.repeat(level)} ${pathOf(command)}\n`;
  const parts = [title, `${sentence(command.description())}\n`];
  const subcommands = commandsOf(command);
  if (subcommands.length === 0) parts.push(`\`\`\`\n${usage(command)}\n\`\`\`\n`, rows(command));
  const nested = subcommands.map((one) => section(one, level + 1));
  return [...parts.filter(Boolean), ...nested].join('\n');
}

function pathOf(command) {
  const names = [];
  for (let at = command; at !== null && at !== undefined; at = at.parent) names.unshift(at.name());
  return names.join(' ');
}

const usage = (command) => `${pathOf(command)} ${command.usage()}`.trim();
const sentence = (text) => (text === '' ? '' : `${text[0].toUpperCase()}${text.slice(1)}.`);
const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

function rows(command) {
  const help = command.createHelp();
  const words = [
    ...help.visibleArguments(command).map((one) => [help.argumentTerm(one), help.argumentDescription(one)]),
    ...help
      .visibleOptions(command)
      .filter((one) => one.long !== '--help')
      .map((one) => [help.optionTerm(one), help.optionDescription(one)]),
  ];
  if (words.length === 0) return '';
  return `| | |\n| --- | --- |\n${words.map(([term, text]) => `| \`${cell(term)}\` | ${cell(text)} |`).join('\n')}\n`;
}
