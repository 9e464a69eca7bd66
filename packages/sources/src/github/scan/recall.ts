/**
 * What a look would have known at an earlier time: where branches and pull requests stood, by the dates of their
 * commits, and how issues were labelled, by their events. All else is told by its own dates, and needs no memory.
 */
import type { GithubAsker } from '../../authority/ask-once.js';
import { type FactMemory, type LookRequest, listensTo } from '../../scan/look.js';
import { type Recall, stoodAt } from '../../scan/recall.js';
import { commitAt, idAt, instantAt, textAt } from '../fields.js';
import { issueAsItWas, issuesQuery } from './issues.js';
import { pullAsItWas, pullsQuery } from './pull-requests.js';
import { type Item, PER_PAGE, Walk } from './walk.js';

type Question = Omit<LookRequest, 'memory' | 'validators' | 'since'> & { readonly since: Date };

/** Each costs one question or two. */
const MOST_BRANCHES = 200;
const MOST_PULLS = 100;
const MOST_ISSUES = 100;

export async function recallAtGithub(question: Question, client: GithubAsker): Promise<Recall> {
  const walk = new Walk({ ...question, memory: new Map(), validators: {} }, client);
  const recall = new GithubRecall(walk, question.since);
  const wants = (event: string): boolean => listensTo(question.listened, `github.${event}`);
  if (await walk.begin()) {
    if (wants('push') || wants('check_run')) await recall.branches();
    if (wants('pull_request')) await recall.pullRequests();
    if (wants('issues')) await recall.issues();
  }
  const [failure] = walk.failures;
  const isCut = walk.isCut || walk.hasMore;
  return {
    kind: 'recalled',
    memory: recall.memory,
    commitDates: recall.commitDates,
    detail: failure?.detail ?? (isCut ? 'There is more of it than one look reads.' : null),
    until: failure?.kind === 'limited' ? failure.until : null,
  };
}

class GithubRecall {
  readonly memory = new Map<string, FactMemory>();
  readonly commitDates = new Map<string, Date>();
  readonly #walk: Walk;
  readonly #since: Date;

  constructor(walk: Walk, since: Date) {
    this.#walk = walk;
    this.#since = since;
  }

  async branches(): Promise<void> {
    const walk = this.#walk;
    const { defaultBranch } = walk.request.repository;
    const found = await walk.list(walk.path('branches'), { per_page: PER_PAGE }, { isSorted: false });
    const heads = found.flatMap((branch) => {
      const [name, sha] = [textAt(branch, 'name'), commitAt(branch, 'commit', 'sha')];
      return name === null || sha === null ? [] : [{ name, sha }];
    });
    const main = defaultBranch ?? 'main';
    heads.sort((a, b) => Number(b.name === main) - Number(a.name === main));
    for (const [at, { name, sha }] of heads.entries()) {
      const stood = at < MOST_BRANCHES ? await this.#stoodAt(sha) : sha;
      if (stood !== null) this.memory.set(`branch/${name}`, stoodAt(stood));
    }
    if (heads.length > MOST_BRANCHES) walk.hasMore = true;
  }

  async pullRequests(): Promise<void> {
    const walk = this.#walk;
    const { query, options } = pullsQuery(walk);
    const found = await walk.list(walk.path('pulls'), query, options);
    const asked = found.filter((pull) => this.#isOlder(pull));
    for (const pull of asked.slice(0, MOST_PULLS)) {
      const [number, sha] = [idAt(pull, 'number'), commitAt(pull, 'head', 'sha')];
      if (number === null || sha === null) continue;
      const stood = (await this.#stoodAt(sha)) ?? sha;
      this.memory.set(`pr/${number}`, stoodAt(pullAsItWas(pull, stood, this.#since)));
    }
    for (const pull of asked.slice(MOST_PULLS)) this.#takeAsItIs(pull);
  }

  #takeAsItIs(pull: Item): void {
    const [number, sha] = [idAt(pull, 'number'), commitAt(pull, 'head', 'sha')];
    this.#walk.hasMore = true;
    if (number !== null && sha !== null) {
      this.memory.set(`pr/${number}`, stoodAt(pullAsItWas(pull, sha, this.#walk.request.now)));
    }
  }

  async issues(): Promise<void> {
    const walk = this.#walk;
    const found = await walk.list(walk.path('issues'), issuesQuery(walk), { isSorted: true });
    const older = found.filter((one) => this.#isOlder(one) && one['pull_request'] == null);
    for (const [at, issue] of older.entries()) {
      const number = idAt(issue, 'number');
      if (number === null) continue;
      const events = at < MOST_ISSUES ? await this.#eventsOf(number) : [];
      this.memory.set(`issue/${number}`, stoodAt(issueAsItWas(issue, events)));
    }
    if (older.length > MOST_ISSUES) walk.hasMore = true;
  }

  /** Since then; none when they cannot be read, so that nothing is taken for news. */
  async #eventsOf(number: string): Promise<readonly Item[]> {
    const walk = this.#walk;
    const failures = walk.failures.length;
    const path = walk.path('issues', number, 'events');
    const found = await walk.list(path, { per_page: PER_PAGE }, { isSorted: false });
    return walk.failures.length > failures ? [] : found.filter((event) => !this.#isOlder(event));
  }

  /** The commit that a branch stood at which is at `sha` now; `sha` where that is not known; null: it was not there. */
  async #stoodAt(sha: string): Promise<string | null> {
    const failures = this.#walk.failures.length;
    const since = this.#since.toISOString();
    const [news] = await this.#commits(sha, { since });
    if (news === undefined) return sha;
    const committedAt = instantAt(news, 'commit', 'committer', 'date');
    if (committedAt !== null) this.commitDates.set(sha, committedAt);
    const [stood] = await this.#commits(sha, { until: since });
    if (this.#walk.failures.length > failures) return sha;
    return stood === undefined ? null : commitAt(stood, 'sha');
  }

  #commits(sha: string, span: Readonly<Record<string, string>>): Promise<readonly Item[]> {
    const query = { sha, per_page: 1, ...span };
    return this.#walk.list(this.#walk.path('commits'), query, { isSorted: true, goesOn: () => false });
  }

  #isOlder(item: Item): boolean {
    const createdAt = instantAt(item, 'created_at');
    return createdAt === null || createdAt.getTime() < this.#since.getTime();
  }
}
