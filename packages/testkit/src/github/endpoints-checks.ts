import { invalid, notFound, page, textField } from './answers.js';
import type { Call, Endpoint } from './endpoint.js';
import type { CheckRunRecord } from './forge-state.js';

const checkRunJson = (check: CheckRunRecord) => ({ ...check.fields, id: check.id, head_sha: check.headSha });

const effectOf = (call: Call, check: CheckRunRecord, verb: 'created' | 'updated') => ({
  kind: `check_run.${verb}`,
  objectId: `${call.repository.fullName}/check-runs/${check.id}`,
});

export const checkRunEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/check-runs',
    handle: (call) => {
      const headSha = textField(call, 'head_sha');
      if (headSha === null || textField(call, 'name') === null) {
        return invalid('CheckRun', 'missing_field', 'name or head_sha is missing');
      }
      const check: CheckRunRecord = { id: call.state.nextId(), headSha, fields: call.body };
      call.repository.checkRuns.push(check);
      return { status: 201, body: checkRunJson(check), effect: effectOf(call, check, 'created') };
    },
  },
  {
    method: 'patch',
    path: '/check-runs/:id',
    handle: (call) => {
      const check = call.repository.checkRuns.find((it) => String(it.id) === call.params['id']);
      if (check === undefined) return notFound;
      check.fields = { ...check.fields, ...call.body };
      return { status: 200, body: checkRunJson(check), effect: effectOf(call, check, 'updated') };
    },
  },
  {
    method: 'get',
    path: '/check-runs/:id',
    handle: (call) => {
      const check = call.repository.checkRuns.find((it) => String(it.id) === call.params['id']);
      return check === undefined ? notFound : { status: 200, body: checkRunJson(check) };
    },
  },
  {
    method: 'get',
    path: '/commits/:sha/check-runs',
    handle: (call) => {
      const name = call.query['check_name'];
      const found = call.repository.checkRuns
        .filter((it) => it.headSha === call.params['sha'])
        .filter((it) => name === undefined || it.fields['name'] === name);
      const { body, ...rest } = page(call, found.map(checkRunJson));
      return { ...rest, body: { total_count: found.length, check_runs: body } };
    },
  },
];
