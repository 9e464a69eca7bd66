export interface Requirement {
  readonly says: string;
  readonly state: 'met' | 'partly' | 'later';
  readonly places?: readonly string[];
  readonly note?: string;
}
export const NUMBERS: readonly string[];
export function testsByNumber(root: URL): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
export function readRequirements(root: URL): Promise<Readonly<Record<string, Requirement>>>;
export function requirementsMarkdown(root: URL): Promise<string>;
