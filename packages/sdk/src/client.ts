/** The HTTP API, typed. Every method throws HeadgateProblem for an answer that is not 2xx. */
import { type Listing, listing } from './pages.js';
import { type Call, Transport, type TransportOptions } from './transport.js';
import type {
  AgainRequest,
  ApprovalQuery,
  Artifact,
  Backfill,
  BackfillRequest,
  BulkAnswer,
  BulkRequest,
  Caller,
  CancelRequest,
  DeadLetter,
  DeadLetterQuery,
  Explanation,
  Facets,
  Goal,
  GoalDetail,
  ListedApproval,
  LogFile,
  LogMatches,
  LogQuery,
  LogRange,
  LogSearch,
  Overview,
  Page,
  PageQuery,
  PauseRequest,
  Queue,
  Receipt,
  ReceiptQuery,
  ReplayRequest,
  ResetGoalRequest,
  Run,
  RunDetail,
  RunQuery,
  RunResult,
  Schedule,
  ScheduleDetail,
  ScheduleRequest,
  SignalAnswer,
  SourceStanding,
  Task,
  TaskDetail,
  TaskQuery,
  TriggerScheduleRequest,
  WordRequest,
  Worker,
  WorkerQuery,
  WorkRequest,
} from './types/index.js';

export interface WorkOptions {
  /** The same key and body get the same answer, and one receipt. */
  readonly idempotencyKey?: string;
}

/** One client per instance and token. Ids are the API's own (`run_…`). */
export interface Client {
  readonly receipts: Listing<Receipt, ReceiptQuery> & {
    get(id: string): Promise<Receipt>;
    /** Its signal is decided again by today's rules. Throws PAYLOAD_GONE when what it carried is no longer kept. */
    replay(id: string, request?: ReplayRequest): Promise<SignalAnswer>;
  };
  readonly tasks: Listing<Task, TaskQuery> & {
    get(id: string): Promise<TaskDetail>;
    /** Ends its live runs and refuses its signals until it is reset. Repeating it changes nothing. */
    cancel(id: string, request?: CancelRequest): Promise<TaskDetail>;
    /** Lets a task work again: a new run, a new publication. */
    reset(id: string, request?: AgainRequest): Promise<SignalAnswer>;
  };
  readonly runs: Listing<Run, RunQuery> & {
    get(id: string): Promise<RunDetail>;
    cancel(id: string, request?: CancelRequest): Promise<RunDetail>;
    /** A new run of the same version. */
    retry(id: string, request?: AgainRequest): Promise<SignalAnswer>;
    /** One act on many runs: ask with `dryRun` first, then with the token of its answer. */
    bulk(request: BulkRequest): Promise<BulkAnswer>;
    /** Lets a sealed result be published; a worker does it. */
    publish(id: string, request?: WordRequest): Promise<RunDetail>;
    discard(id: string, request?: WordRequest): Promise<RunDetail>;
    /** Lets work start that waits for a person before its agent does anything. */
    approve(id: string, request?: WordRequest): Promise<RunDetail>;
    decline(id: string, request?: WordRequest): Promise<RunDetail>;
    artifacts(id: string): Promise<Page<Artifact>>;
    /** The content of the newest attempt's, or of the given one's. */
    artifact(id: string, name: string, attempt?: number): Promise<Response>;
    /** What it sealed; NOT_FOUND before it did. */
    result(id: string): Promise<RunResult>;
    logs(id: string): Promise<Page<LogFile>>;
    log(id: string, name: string, query: LogQuery): Promise<LogRange>;
    searchLog(id: string, name: string, query: LogSearch): Promise<LogMatches>;
  };
  readonly workers: Listing<Worker, WorkerQuery>;
  readonly schedules: Listing<Schedule, PageQuery> & {
    get(id: string): Promise<ScheduleDetail>;
    pause(id: string, request?: PauseRequest): Promise<ScheduleDetail>;
    resume(id: string): Promise<ScheduleDetail>;
    /** Runs it now, besides its times. */
    trigger(id: string, request?: TriggerScheduleRequest): Promise<ScheduleRequest>;
    backfill(id: string, request: BackfillRequest): Promise<Backfill>;
    /** How far a ticker is with what was asked. */
    request(id: string, requestId: string): Promise<ScheduleRequest>;
  };
  readonly goals: Listing<Goal, PageQuery> & {
    get(id: string): Promise<GoalDetail>;
    pause(id: string, request?: PauseRequest): Promise<GoalDetail>;
    resume(id: string): Promise<GoalDetail>;
    /** Begins anew, with all its bounds. */
    reset(id: string, request?: ResetGoalRequest): Promise<GoalDetail>;
  };
  readonly queues: Listing<Queue, PageQuery>;
  readonly sources: Listing<SourceStanding, PageQuery>;
  readonly deadLetters: Listing<DeadLetter, DeadLetterQuery>;
  /** What people are asked, and what they have said. */
  readonly approvals: Listing<ListedApproval, ApprovalQuery>;
  /** The causal chain behind a delivery, a key, a run, a URL, `owner/repo#7` or a commit. */
  explain(ref: string): Promise<Explanation>;
  /** A rejected request throws, with the receipt's id in the problem. */
  submitWork(request: WorkRequest, options?: WorkOptions): Promise<SignalAnswer>;
  /** Who this client is. */
  caller(): Promise<Caller>;
  overview(): Promise<Overview>;
  facets(): Promise<Facets>;
  openApi(): Promise<unknown>;
}

export type ClientOptions = TransportOptions;

export function createClient(options: ClientOptions): Client {
  const transport = new Transport(options);
  const get = <Answer>(path: string, query?: object): Promise<Answer> =>
    transport.json<Answer>({ method: 'GET', path, ...(query === undefined ? {} : { query }) });
  const post = <Answer>(path: string, body: unknown, headers: Call['headers'] = {}): Promise<Answer> =>
    transport.json<Answer>({ method: 'POST', path, body, headers });
  const list = <Item, Query extends PageQuery>(path: string): Listing<Item, Query> =>
    listing<Item, Query>((query) => get<Page<Item>>(path, query));
  const at = (collection: string, id: string, rest = ''): string =>
    `/v1/${collection}/${encodeURIComponent(id)}${rest}`;

  return {
    receipts: {
      ...list<Receipt, ReceiptQuery>('/v1/receipts'),
      get: (id) => get(at('receipts', id)),
      replay: (id, request = {}) => post(at('receipts', id, '/replay'), request),
    },
    tasks: {
      ...list<Task, TaskQuery>('/v1/tasks'),
      get: (id) => get(at('tasks', id)),
      cancel: (id, request = {}) => post(at('tasks', id, '/cancel'), request),
      reset: (id, request = {}) => post(at('tasks', id, '/reset'), request),
    },
    runs: {
      ...list<Run, RunQuery>('/v1/runs'),
      get: (id) => get(at('runs', id)),
      cancel: (id, request = {}) => post(at('runs', id, '/cancel'), request),
      retry: (id, request = {}) => post(at('runs', id, '/retry'), request),
      bulk: (request) => post('/v1/runs:bulk', request),
      publish: (id, request = {}) => post(at('runs', id, '/publish'), request),
      discard: (id, request = {}) => post(at('runs', id, '/discard'), request),
      approve: (id, request = {}) => post(at('runs', id, '/approve'), request),
      decline: (id, request = {}) => post(at('runs', id, '/decline'), request),
      artifacts: (id) => get(at('runs', id, '/artifacts')),
      artifact: (id, name, attempt) =>
        transport.send({
          method: 'GET',
          path: at('runs', id, `/artifacts/${encodeURIComponent(name)}`),
          query: { attempt },
          headers: { accept: '*/*' },
        }),
      result: (id) => get(at('runs', id, '/result')),
      logs: (id) => get(at('runs', id, '/logs')),
      log: (id, name, query) => get(at('runs', id, `/logs/${encodeURIComponent(name)}`), query),
      searchLog: (id, name, query) => get(at('runs', id, `/logs/${encodeURIComponent(name)}/matches`), query),
    },
    workers: list('/v1/workers'),
    schedules: {
      ...list<Schedule, PageQuery>('/v1/schedules'),
      get: (id) => get(at('schedules', id)),
      pause: (id, request = {}) => post(at('schedules', id, '/pause'), request),
      resume: (id) => post(at('schedules', id, '/resume'), {}),
      trigger: (id, request = {}) => post(at('schedules', id, '/trigger'), request),
      backfill: (id, request) => post(at('schedules', id, '/backfill'), request),
      request: (id, requestId) => get(at('schedules', id, `/requests/${encodeURIComponent(requestId)}`)),
    },
    goals: {
      ...list<Goal, PageQuery>('/v1/goals'),
      get: (id) => get(at('goals', id)),
      pause: (id, request = {}) => post(at('goals', id, '/pause'), request),
      resume: (id) => post(at('goals', id, '/resume'), {}),
      reset: (id, request = {}) => post(at('goals', id, '/reset'), request),
    },
    queues: list('/v1/queues'),
    sources: list('/v1/sources'),
    deadLetters: list('/v1/dead-letters'),
    approvals: list('/v1/approvals'),
    explain: (ref) => get('/v1/explain', { ref }),
    submitWork: (request, { idempotencyKey } = {}) =>
      post('/v1/work', request, idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    caller: () => get('/v1/caller'),
    overview: () => get('/v1/overview'),
    facets: () => get('/v1/facets'),
    openApi: () => get('/openapi.json'),
  };
}
