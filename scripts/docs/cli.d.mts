/** `program` is commander's. */
export function cliMarkdown(program: object): string;
