/** docs/requirements.md from docs/requirements.yaml and the names of the tests. */
import { readdir, readFile } from 'node:fs/promises';
import { parse } from 'yaml';

export const NUMBERS = [
  ...Array.from({ length: 6 }, (_, n) => `C${n + 1}`),
  ...Array.from({ length: 20 }, (_, n) => `I${n + 1}`),
  ...Array.from({ length: 39 }, (_, n) => `Q${n + 1}`),
];

const TITLES =
  /\b(?:test|it|describe|describeWithTool|propertyTest)(?:\.\w+)*\s*\(\s*(?:'[^'\n]*'\s*,\s*)?(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;
const NUMBER = /\b([CIQ]\d{1,2})\b/g;

/** @returns {Promise<Map<string, Set<string>>>} requirement number -> test files that name it in a title */
export async function testsByNumber(root) {
  const found = new Map(NUMBERS.map((number) => [number, new Set()]));
  for await (const file of globFiles(root)) {
    const text = await readFile(new URL(file, root), 'utf8');
    for (const [, , title] of text.matchAll(TITLES)) {
      for (const [, number] of title.matchAll(NUMBER)) found.get(number)?.add(file);
    }
  }
  return found;
}

/** Only where tests may lie: a walk through node_modules would take seconds. */
async function* globFiles(root) {
  for (const group of ['packages', 'services']) {
    for (const name of (await readdir(new URL(group, root))).sort())
      yield* below(root, `${group}/${name}/test`);
  }
  yield* below(root, 'test');
}

async function* below(root, folder) {
  const names = await readdir(new URL(folder, root), { recursive: true }).catch(() => []);
  for (const name of names.sort()) if (name.endsWith('.test.ts')) yield `${folder}/${name}`;
}

export const readRequirements = async (root) =>
  parse(await readFile(new URL('docs/requirements.yaml', root), 'utf8'));

export async function requirementsMarkdown(root) {
  const requirements = await readRequirements(root);
  const tests = await testsByNumber(root);
  const rows = NUMBERS.map((number) => {
    const { says, state, places = [], note = '' } = requirements[number] ?? { says: '', state: 'later' };
    const where = places.map((place) => `[${place}](../${place})`).join('<br>');
    const files = [...(tests.get(number) ?? [])]
      .map((file) => `[${file.split('/').at(-1)}](../${file})`)
      .join('<br>');
    return `| ${number} | ${says} | ${state} | ${where} | ${files} | ${note} |`;
  });
  const count = (state) => NUMBERS.filter((number) => requirements[number]?.state === state).length;
  return `# Requirements

Made from \`docs/requirements.yaml\` and the names of the tests by \`node scripts/generate-docs.mjs\`. A test fails when a
place does not exist, when something is called met without a test named after its number, or when this page is old.

${count('met')} met, ${count('partly')} partly, ${count('later')} later.

| # | says | state | where | tests named after it | what is missing |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
