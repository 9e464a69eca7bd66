import type { Complaint } from '../problems/index.js';

/** The parser's codes, in words that say what to do. A code that is not here keeps the parser's sentence. */
const BY_CODE: Readonly<Record<string, Complaint>> = {
  TAB_AS_INDENT: {
    message: 'the line is indented with a tab',
    fix: 'Use spaces: YAML allows no tabs there.',
  },
  MULTIPLE_DOCS: { message: 'a second document starts here (---)', fix: 'Keep one document in the file.' },
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'there is a second ": " in this line',
    fix: 'Put the value in quotes, or the nested key on a line of its own.',
  },
  BAD_INDENT: {
    message: 'a bracket is not closed, or a line is not indented enough',
    fix: 'Close it, or indent.',
  },
  TAG_RESOLVE_FAILED: { message: 'tags (words with !) have no meaning here', fix: 'Remove the tag.' },
};

export function explainYamlError(code: string, message: string): Complaint {
  return BY_CODE[code] ?? { message: `not readable as YAML: ${message}`, fix: 'Mend the line.' };
}
