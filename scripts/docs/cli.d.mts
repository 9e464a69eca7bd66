import type { Command } from 'commander';
export function cliMarkdown(program: Command): string;
